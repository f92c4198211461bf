package workload

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// Workloads.
const (
	Stock     = "stock"      // customers keep coming; a sold-out batch is followed by the next
	FlashSale = "flash-sale" // every worker is one customer; all want the same article at once
)

// Grains of a lock: what one key guards (--lock-key).
const (
	GrainSKU      = "sku"      // one article
	GrainCategory = "category" // a third of all articles
	GrainUserSKU  = "user-sku" // one customer's dealings with one article
	GrainSegment  = "segment"  // one of the batches of an article that are on sale side by side
)

// Places of the stock (--stock-on).
const (
	OnOwn  = "own"  // a separate Redis that no fault of the lock service touches
	OnLock = "lock" // the lock's own master
	OnSQL  = "sql"  // a MariaDB
)

// Spec is what a run tells its workers, as JSON. A zero field is the
// design's default, or else the one documented here.
type Spec struct {
	Design   string `json:"design"`
	Workload string `json:"workload,omitempty"` // Stock (default) or FlashSale
	Scene    string `json:"scene,omitempty"`    // Standard (default) or Contended
	Seed     uint64 `json:"seed,omitempty"`

	Workers   int           `json:"workers,omitempty"`    // default 10; flash-sale 1000
	PerHost   int           `json:"per-host,omitempty"`   // workers that share a process; default 1; flash-sale 100
	TimeLimit time.Duration `json:"time-limit,omitempty"` // of the running phase: sizes Batches; default 30 s
	MaxOps    int           `json:"max-ops,omitempty"`    // sells per worker; default no limit

	SKUs      int   `json:"skus,omitempty"`      // articles; default 12, more than workers
	Stock     int64 `json:"stock,omitempty"`     // units per batch; default 5; flash-sale 100
	Batches   int   `json:"batches,omitempty"`   // per SKU; default: enough for TimeLimit
	Segments  int   `json:"segments,omitempty"`  // batches on sale side by side with GrainSegment; default 3
	Customers int   `json:"customers,omitempty"` // a customer buys a batch once, so orders collide; default: every order is its own

	Work  string `json:"work,omitempty"`  // Distribution of the business step; default "1ms-20ms,3%:65%ttl-85%ttl"
	Think string `json:"think,omitempty"` // Distribution between two purchases; default "10ms-50ms"
	Qty   string `json:"qty,omitempty"`   // Distribution of units; default "1,10%:2"

	TTL        time.Duration `json:"TTL,omitempty"`         // of the lock; default 5 s
	Leases     string        `json:"leases,omitempty"`      // a mixed fleet: "3s,500ms": worker i has the i-th in turn, TTL is the longest; default: all have TTL
	Grace      time.Duration `json:"grace,omitempty"`       // how long after the TTL an expired lock may still be refused; default 1 s
	MaxHold    time.Duration `json:"max-hold,omitempty"`    // nobody needs the lock for longer; default: nothing is promised
	MaxZombie  time.Duration `json:"max-zombie,omitempty"`  // the lock may be refused so long though nobody holds it; default: for any time
	MaxDelay   time.Duration `json:"max-delay,omitempty"`   // a request may act this long after its time-out; default 5 s
	Retries    int           `json:"retries,omitempty"`     // of a busy lock; -1: none; default 3
	RetryDelay time.Duration `json:"retry-delay,omitempty"` // between them; default 50 ms
	Jitter     time.Duration `json:"jitter,omitempty"`      // at most this much more; -1: none; default 50 ms
	Wait       time.Duration `json:"wait,omitempty"`        // for a busy lock, of designs that do not count; default 2 s
	Renew      time.Duration `json:"renew,omitempty"`       // between renewals; default TTL/3
	Drift      float64       `json:"drift,omitempty"`       // share of the TTL for clock drift; default 0.01
	Nodes      int           `json:"nodes,omitempty"`       // of Redlock: 3 or 5; default 5
	Acks       int           `json:"acks,omitempty"`        // that WAIT asks for; default 1
	AckWait    time.Duration `json:"ack-wait,omitempty"`    // how long WAIT waits; default 100 ms

	LockKey     string `json:"lock-key,omitempty"`    // a grain; default GrainSKU
	StockOn     string `json:"stock-on,omitempty"`    // OnOwn, OnLock or OnSQL; default: the design's
	Persistence string `json:"persistence,omitempty"` // of the lock's nodes: "none" (default), "everysec", "always"
}

// standard are the defaults of every design that has no other.
var standard = Spec{
	Workload: Stock, Scene: Standard, Workers: 10, PerHost: 1, TimeLimit: 30 * time.Second,
	SKUs: 12, Stock: 5, Segments: 3,
	Work: "1ms-20ms,3%:65%ttl-85%ttl", Think: "10ms-50ms", Qty: "1,10%:2",
	TTL: 5 * time.Second, Grace: time.Second, MaxDelay: 5 * time.Second,
	Retries: 3, RetryDelay: 50 * time.Millisecond, Jitter: 50 * time.Millisecond,
	Wait: 2 * time.Second, Drift: 0.01, Nodes: 5, Acks: 1, AckWait: 100 * time.Millisecond,
	LockKey: GrainSKU, StockOn: OnOwn, Persistence: "none",
}

// Defaults are the settings of a design that has none of its own.
func Defaults() Spec { return standard }

// flashSale are the defaults of the articles' scene: 1,000 customers at
// once, 100 units of one article.
var flashSale = Spec{
	Workers: 1000, PerHost: 100, SKUs: 1, Stock: 100, Batches: 1,
	Work: "1ms", Think: "0s", Qty: "1",
}

// maxBatches bounds what Setup puts into a store.
const maxBatches = 10_000

// Resolved is a Spec whose defaults are filled in and which was checked, with
// its design. Only Design.Resolve makes one. What a run asks of its settings it
// asks of a Resolved, so nobody has to wonder whether a 0 is a default.
type Resolved struct {
	Spec
	Of Design `json:"-"` // Spec.Design is its name
}

// Resolved resolves the Spec of a design of this module.
func (s Spec) Resolved() (Resolved, error) {
	d, ok := Find(s.Design)
	if !ok {
		return Resolved{Spec: s}, fmt.Errorf("--design is %q: no such design", s.Design)
	}
	return d.Resolve(s)
}

// Resolve fills in the defaults of a run with the design and checks the rest.
// Its errors name the flag to change.
func (d Design) Resolve(s Spec) (Resolved, error) {
	d = d.complete()
	s.Design = d.Name
	if d.Name == "" || d.Sale == nil {
		return Resolved{Spec: s, Of: d}, fmt.Errorf("design %q: want a name, and a lock or a sale", d.Name)
	}
	defaults := d.Defaults
	if s.Workload == FlashSale {
		s = s.Or(flashSale)
		defaults.Customers = 0 // every worker is a customer of its own
	}
	if s.Scene == Contended {
		s = s.Or(contended)
	}
	if c := int64(defaults.Customers); c > 0 && s.Stock > c { // a larger batch wants more customers
		defaults.Customers = int(min(2*s.Stock, mostOf["customers"]))
	}
	s = s.Or(defaults).Or(standard)
	if s.Renew == 0 {
		s.Renew = s.TTL / 3
	}
	if err := s.check(d); err != nil {
		return Resolved{Spec: s, Of: d}, err
	}
	if s.Batches == 0 {
		s.Batches = s.enoughBatches()
	}
	for s.Batches%s.segments() != 0 {
		s.Batches++
	}
	return Resolved{Spec: s, Of: d}, nil
}

// Or is s with its zero fields taken from d.
func (s Spec) Or(d Spec) Spec {
	fill(&s.Workload, d.Workload)
	fill(&s.Scene, d.Scene)
	fill(&s.Workers, d.Workers)
	fill(&s.PerHost, d.PerHost)
	fill(&s.TimeLimit, d.TimeLimit)
	fill(&s.SKUs, d.SKUs)
	fill(&s.Stock, d.Stock)
	fill(&s.Batches, d.Batches)
	fill(&s.Segments, d.Segments)
	fill(&s.Customers, d.Customers)
	fill(&s.Work, d.Work)
	fill(&s.Think, d.Think)
	fill(&s.Qty, d.Qty)
	if s.TTL == 0 { // one setting, --ttl
		s.TTL, s.Leases = d.TTL, d.Leases
	}
	fill(&s.Grace, d.Grace)
	fill(&s.MaxDelay, d.MaxDelay)
	fill(&s.Retries, d.Retries)
	fill(&s.RetryDelay, d.RetryDelay)
	fill(&s.Jitter, d.Jitter)
	fill(&s.Wait, d.Wait)
	fill(&s.Renew, d.Renew)
	fill(&s.Drift, d.Drift)
	fill(&s.Nodes, d.Nodes)
	fill(&s.Acks, d.Acks)
	fill(&s.AckWait, d.AckWait)
	fill(&s.LockKey, d.LockKey)
	fill(&s.StockOn, d.StockOn)
	fill(&s.Persistence, d.Persistence)
	return s
}

func fill[T comparable](field *T, from T) {
	var zero T
	if *field == zero {
		*field = from
	}
}

// enoughBatches is how many batches of each SKU the workers can sell in the
// time limit at the very most, by think and work alone, and some more.
func (s Spec) enoughBatches() int {
	think, _ := Durations(s.Think, s.TTL)
	work, _ := Durations(s.Work, s.TTL)
	qty, _ := Quantities(s.Qty)
	each := time.Duration(think.Mean() + work.Mean()).Seconds()
	const leastRoundTrips = 0.0005
	sells := float64(s.Workers) * s.TimeLimit.Seconds() / (each + leastRoundTrips)
	batches := sells * qty.Mean() / float64(s.Stock) / float64(s.SKUs)
	return int(min(maxBatches, math.Ceil(batches)+5))
}

// segments is how many batches of a SKU are on sale side by side.
func (s Spec) segments() int {
	if s.LockKey == GrainSegment {
		return s.Segments
	}
	return 1
}

// options are the settings for the lock design of one worker. In a Spec 0 is
// the default and -1 none.
func (s Spec) options(worker int) lock.Options {
	if own := s.lease(worker); own != s.TTL {
		if s.Renew == s.TTL/3 { // nobody asked for another
			s.Renew = own / 3
		}
		s.TTL = own
	}
	return lock.Options{
		TTL: s.TTL, Retries: max(0, s.Retries), RetryDelay: s.RetryDelay, Jitter: max(0, s.Jitter),
		Wait: s.Wait, Renew: s.Renew, Drift: s.Drift, Acks: s.Acks, AckWait: s.AckWait,
	}
}

// NewLock makes the design's lock for one worker; nil if it has none.
func (r Resolved) NewLock(e *env.Env) env.Lock {
	if r.Of.Lock == nil {
		return nil
	}
	return r.Of.Lock(e, r.options(e.Worker))
}

// Topology is what the cluster must have for the run.
func (r Resolved) Topology() env.Topology {
	t := r.Of.Topology
	if t.Lock == env.Independent5 && r.Nodes == 3 {
		t.Lock = env.Independent3
	}
	t.Stock, t.SQL = r.StockOn == OnOwn, t.SQL || r.StockOn == OnSQL
	t.Persistence = r.Persistence
	return t
}

// Header is what a checker must know of the run. The fields that only the run
// knows (nemesis, cluster, source, version) are left empty.
func (r Resolved) Header() histories.Header {
	spec := r.Of.LockSpec
	if !spec.None {
		spec.TTL, spec.Grace = r.TTL, r.Grace
		spec.MaxHold, spec.MaxZombie = r.MaxHold, r.MaxZombie
	}
	if r.Of.NoLease {
		spec.TTL = 0
	}
	return histories.Header{
		Format: histories.Format, Design: r.Design, Workload: r.Workload, Seed: r.Seed,
		Settings: r.settings(), Lock: spec, Initial: r.Stock, MaxDelay: r.MaxDelay,
	}
}

// settings are the resolved flags by name.
func (s Spec) settings() map[string]string {
	return map[string]string{
		"scene": s.Scene, "concurrency": strconv.Itoa(s.Workers), "per-host": strconv.Itoa(s.PerHost),
		"time-limit": s.TimeLimit.String(), "max-ops": strconv.Itoa(s.MaxOps),
		"skus": strconv.Itoa(s.SKUs), "stock": strconv.FormatInt(s.Stock, 10),
		"batches": strconv.Itoa(s.Batches), "segments": strconv.Itoa(s.Segments),
		"customers": strconv.Itoa(s.Customers),
		"work":      s.Work, "think": s.Think, "qty": s.Qty,
		"ttl": s.ttl(), "grace": s.Grace.String(), "max-hold": s.MaxHold.String(), "max-zombie": s.MaxZombie.String(), "max-delay": s.MaxDelay.String(),
		"retries": strconv.Itoa(s.Retries), "retry-delay": s.RetryDelay.String(), "jitter": s.Jitter.String(),
		"wait": s.Wait.String(), "renew": s.Renew.String(),
		"drift": strconv.FormatFloat(s.Drift, 'g', -1, 64), "nodes": strconv.Itoa(s.Nodes),
		"acks": strconv.Itoa(s.Acks), "ack-wait": s.AckWait.String(),
		"lock-key": s.LockKey, "stock-on": s.StockOn, "persistence": s.Persistence,
	}
}
