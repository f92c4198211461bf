package workload

import (
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// Design is one row of the catalogue: a lock, a way of selling, what they
// need, and what they claim together.
type Design struct {
	Name    string
	Summary string // one line
	Origin  string // where it comes from
	Doc     string // the doc comments of its lock and its sale

	Topology env.Topology       // what it needs; Spec.Topology has what a run needs
	Defaults Spec               // its source's settings, where they are not the standard ones
	Lock     histories.LockSpec // what the lock promises; ttl and grace come from the Spec
	Claims   map[string]Claim   // by nemesis, see Design.Claim
	KnownBad bool               // wrong on purpose
	CaughtBy string             // the nemesis that shows a known-bad design
	Control  bool               // must hold under every fault that it claims to bear

	lock lock.Maker // nil: none
	sale stock.Sale
	docs []string // names of the Go declarations that Doc is made of
}

// stockOn are the places where the design can have its stock, its default
// first.
func (d Design) stockOn() []string {
	switch {
	case d.Topology.SQL:
		return []string{OnSQL}
	case d.Topology.Lock == env.Independent5, d.Topology.Lock == env.NoLock:
		return []string{OnOwn}
	}
	return []string{OnOwn, OnLock}
}

// onSentinel is a master with two replicas and three sentinels: where lease
// locks live in production, and what a failover needs.
var onSentinel = env.Topology{Lock: env.Sentinel}

// The catalogue, in the order in which it is listed.
var catalogue = []Design{
	{
		Name: "none", Origin: "article 1, §1",
		Summary:  "no lock: read, check, work, DECRBY",
		Topology: onSentinel, Defaults: Spec{StockOn: OnLock},
		Lock: histories.LockSpec{None: true}, Claims: everywhere(Claim{Holds, Holds, Breaks}),
		KnownBad: true, CaughtBy: "none",
		sale: stock.Unlocked, docs: []string{"Unlocked"},
	},
	{
		Name: "redis-lock", Origin: "article 1, §3",
		Summary:  "SET NX with a ttl of 5 s, 3 retries, compare-and-delete in Lua",
		Topology: onSentinel, Defaults: stockService, Claims: blindLease,
		lock: lock.NewRedisLock, sale: stock.Locked, docs: []string{"RedisLock", "Locked"},
	},
	{
		Name: "stock-lock", Origin: "article 2",
		Summary:  "SET NX PX 3000, a retry every 5 ms for 100 ms, compare-and-delete in Lua",
		Topology: onSentinel, Claims: blindLease,
		Defaults: Spec{TTL: 3 * time.Second, RetryDelay: 5 * time.Millisecond, Wait: 100 * time.Millisecond, Jitter: -1},
		lock:     lock.NewStockLock, sale: stock.Locked, docs: []string{"StockLock", "Locked"},
	},
	{
		Name: "del-any", Origin: "bug reports: laravel/framework#26213 and others",
		Summary:  "constant value, plain DEL: the late finisher frees the next one's lock",
		Topology: onSentinel, Defaults: stockService, Claims: blindLease,
		KnownBad: true, CaughtBy: "pause",
		lock: lock.NewDelAny, sale: stock.Locked, docs: []string{"DelAny", "Locked"},
	},
	{
		Name: "decr-rollback", Origin: "article 1, §7",
		Summary:  "no lock: DECRBY, and INCRBY back when below zero",
		Topology: onSentinel, Defaults: Spec{StockOn: OnLock, Work: "1ms-20ms", Qty: "1"},
		Lock: histories.LockSpec{None: true},
		Claims: but(noLockOnMaster, map[string]Claim{
			"loss":  {Holds, Holds, MayBreak}, // a roll-back whose answer is lost
			"crash": {Holds, Holds, MayBreak}, // between decrement and order, or before the roll-back
		}),
		sale: stock.Reserve, docs: []string{"Reserve"},
	},
	{
		Name: "lua-stock", Origin: "article 2",
		Summary:  "no lock: check, decrement and order in one Lua script",
		Topology: onSentinel, Defaults: Spec{StockOn: OnLock, Work: "1ms-20ms"},
		Lock: histories.LockSpec{None: true}, Claims: noLockOnMaster, Control: true,
		sale: stock.Script, docs: []string{"Script"},
	},
}

// stockService are the settings that the first article's stock service gives
// its lock.
var stockService = Spec{
	TTL: 5 * time.Second, Retries: 3, RetryDelay: 50 * time.Millisecond, Jitter: 50 * time.Millisecond,
}

// Designs are all designs, in the order in which they are listed.
func Designs() []Design {
	all := make([]Design, len(catalogue))
	for i := range catalogue {
		all[i], _ = Find(catalogue[i].Name)
	}
	return all
}

// Find finds a design by its name.
func Find(name string) (Design, bool) {
	for _, d := range catalogue {
		if d.Name == name {
			d.Doc = document(d.docs)
			return d, true
		}
	}
	return Design{}, false
}
