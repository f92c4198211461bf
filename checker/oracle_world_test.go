package checker_test

import (
	"container/heap"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"

	"github.com/lockcheck/lockcheck/histories"
)

// This file is a small physical world: a lock service that knows who has
// which key and how each grant ended, a shop that knows its units and orders,
// and workers that may be frozen, killed and born again. It writes its history
// as JSON Lines and keeps what really happened beside it (physical). It shares
// no code with the checker and uses none of its unexported names: what the
// checker claims about a history is compared with what the world knows.

// flaw is what is wrong with a world on purpose.
type flaw string

const (
	honest          flaw = ""
	grantsTwiceFlaw flaw = "grants a key that is taken"
	deletesAnyFlaw  flaw = "a release deletes any owner's lock"
	revivesFlaw     flaw = "a renewal takes a lapsed lock anew"
	refusesFlaw     flaw = "a release is refused although its lease is in force"
	losesWrites     flaw = "a failover loses the last writes"
	startsEmpty     flaw = "a server comes back empty"
	outlivesLease   flaw = "workers look at no deadline"
	releasesEarly   flaw = "workers release before they write"
	skipsLock       flaw = "some sells never ask for the lock"
	repeatsNumber   flaw = "a grant repeats a fencing token"
	keepsForever    flaw = "a release says ok and frees nothing"
	blindStore      flaw = "the store does not look at its stock"
	halfSale        flaw = "stock and order are two requests"
	losesOrder      flaw = "the store forgets an order"
	sellsDouble     flaw = "the store writes an order twice"
)

var flaws = []flaw{
	grantsTwiceFlaw, deletesAnyFlaw, revivesFlaw, refusesFlaw, losesWrites, startsEmpty, outlivesLease, releasesEarly,
	skipsLock, repeatsNumber, keepsForever, blindStore, halfSale, losesOrder, sellsDouble,
}

const (
	ms     = int64(1_000_000)
	second = 1000 * ms
)

// ending is how a grant left the lock service.
type ending string

const (
	inForce    ending = ""
	released   ending = "released by its owner"
	expired    ending = "expired"
	deleted    ending = "deleted by another's release"
	overwrit   ending = "overwritten"
	lostAtFail ending = "lost at a failover"
	lostAtBoot ending = "lost at a restart"
)

// granted is one grant as the service knows it.
type granted struct {
	op      int64 // the acquire
	key     string
	token   string
	owner   string
	process int
	at      int64
	expires int64    // 0: no lease
	inside  []string // further tokens of a reentrant lock
	end     ending
	endAt   int64
}

// belief is what one worker believed of one sell's lock.
type belief struct {
	process  int
	sell     int64
	from, to int64   // to is 0 while it goes on
	until    int64   // 0: no deadline is shown
	lapsed   []int64 // ends of leases that were renewed too late
}

// executed is what a request really did at its server.
type executed struct {
	at   int64
	took bool // it had an effect
	of   *granted
}

type settings struct {
	seed          uint64
	flaw          flaw
	workers, skus int
	sells         int
	ttl, grace    int64
	maxZombie     int64
	maxDelay      int64
	deadline      bool // shown, and looked at before each write
	renew         bool
	reentrant     bool
	fenced        bool
	lost, late    int // of 100 requests
	paused, dies  int // of 100 steps
	long          int // of 100 sells work beyond the TTL
	failovers     int
	stock         int64
	listsOrders   bool
	restocks      int // of 100 steps between sells
	retries       bool
}

// draw chooses the settings of a world.
func draw(seed uint64, f flaw) settings {
	r := rand.New(rand.NewPCG(seed, 41))
	pick := func(n ...int) int { return n[r.IntN(len(n))] }
	s := settings{
		seed: seed, flaw: f, workers: 2 + r.IntN(4), skus: 1 + r.IntN(2), sells: 2 + r.IntN(4),
		ttl: int64(pick(200, 500, 1000)) * ms, grace: 200 * ms, maxDelay: int64(pick(0, 100, 300)) * ms,
		deadline: r.IntN(3) > 0, renew: r.IntN(2) == 0, reentrant: r.IntN(4) == 0, fenced: r.IntN(3) == 0,
		lost: pick(0, 3, 10), late: pick(0, 50), paused: pick(0, 2, 8), dies: pick(0, 0, 1, 3), long: pick(0, 10),
		failovers: pick(0, 0, 1), stock: int64(pick(2, 5, 30)), listsOrders: r.IntN(4) > 0,
		restocks: pick(0, 10), retries: r.IntN(3) == 0,
	}
	if s.maxDelay == 0 {
		s.late = 0
	}
	if !s.deadline {
		s.renew = false
		if f == honest {
			// Workers that see no deadline need a lock that cannot lapse; and
			// what a lock without a lease loses track of stays locked.
			s.ttl, s.lost, s.dies, s.failovers = 0, 0, 0, 0
		}
	}
	if s.reentrant {
		s.fenced = false
	}
	if f != honest { // the dead may leave leases behind in an honest world
		s.maxZombie = int64(pick(0, 50, 200)) * ms
	}
	return s.with(r)
}

// with bends the settings so that the flaw can strike.
func (s settings) with(r *rand.Rand) settings {
	switch s.flaw {
	case revivesFlaw:
		s.deadline, s.renew, s.paused, s.ttl, s.long, s.skus, s.workers, s.sells = true, true, 15, 200*ms, 60, 1, 3, 5
	case deletesAnyFlaw:
		s.ttl, s.long, s.paused, s.failovers = 200*ms, 40, 8, 0
	case grantsTwiceFlaw:
		s.failovers = 0 // nothing in the history would tell the one from the other
	case refusesFlaw:
		if r.IntN(2) == 0 { // a world in which nothing else can have ended a lease
			s.lost, s.paused, s.dies, s.long, s.failovers = 0, 0, 0, 0, 0
		}
	case losesWrites, startsEmpty:
		s.failovers, s.ttl = 1+r.IntN(2), second
	case outlivesLease:
		s.deadline, s.long, s.ttl = true, 40, 200*ms
	case repeatsNumber:
		s.fenced, s.reentrant = true, false
	case blindStore:
		s.stock = 2
	case halfSale:
		s.dies = 6
	}
	return s
}

type world struct {
	settings
	rand  *rand.Rand
	now   int64
	seq   int
	queue wakeups
	out   []byte
	ops   int64

	table   map[string]*granted // what the lock server holds, by key
	copied  map[string]*granted // what its replica has heard
	all     []*granted
	number  map[string]int64
	down    bool
	masters int

	left      map[string]int64
	orders    map[string][]histories.Order
	restocked map[string]int64
	accepted  map[string]map[string]bool // orders whose customer was told yes, not cancelled

	frozen []int64 // by worker: until when
	lives  []*life
	holds  map[int64]*belief // by sell
	did    map[int64]executed
	struck map[string]bool // stock key: a flaw had an effect there
	sellOf map[int64]int64
	keys   map[int64]string // lock key, by sell
	asked  map[int64]bool   // sells that ever asked for the lock
	faults bool

	refused map[int64]bool     // releases and renewals that the flaw refused
	turned  map[int64]turned   // what the service knew when it was asked
	busy    map[string][]int64 // when a key was refused
	away    []int64            // when the lock's master was killed
}

type wakeup struct {
	at  int64
	seq int
	who int // a worker, or -1
	do  func()
}

type wakeups []wakeup

func (a wakeups) Len() int { return len(a) }
func (a wakeups) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].seq < a[j].seq
}
func (a wakeups) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *wakeups) Push(x any)   { *a = append(*a, x.(wakeup)) }
func (a *wakeups) Pop() any {
	x := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return x
}

func (w *world) at(t int64, who int, do func()) {
	w.seq++
	heap.Push(&w.queue, wakeup{max(t, w.now), w.seq, who, do})
}

func (w *world) chance(percent int) bool { return w.rand.IntN(100) < percent }

// strikes reports whether the world's flaw shows now.
func (w *world) strikes(f flaw) bool { return w.flaw == f && w.chance(25) }

// short is the time that something quick takes, in whole milliseconds, so that
// instants meet.
func (w *world) short() int64 { return w.rand.Int64N(4) * ms }

// build plays a world to its end.
func build(s settings) *world {
	w := &world{
		settings: s, rand: rand.New(rand.NewPCG(s.seed, 43)), table: map[string]*granted{}, copied: map[string]*granted{},
		number: map[string]int64{}, left: map[string]int64{}, orders: map[string][]histories.Order{}, restocked: map[string]int64{},
		accepted: map[string]map[string]bool{}, frozen: make([]int64, s.workers), lives: make([]*life, s.workers),
		holds: map[int64]*belief{}, did: map[int64]executed{}, struck: map[string]bool{}, sellOf: map[int64]int64{}, keys: map[int64]string{},
		asked: map[int64]bool{}, refused: map[int64]bool{}, turned: map[int64]turned{}, busy: map[string][]int64{}, masters: 1,
	}
	w.header()
	for i := range s.skus {
		w.left[sku(i)] = s.stock
		w.accepted[sku(i)] = map[string]bool{}
	}
	for p := range s.workers {
		w.born(p, 0, w.short())
	}
	for i := range s.failovers {
		w.at(50*ms+int64(i)*900*ms+w.rand.Int64N(600)*ms, -1, w.failover)
	}
	for w.queue.Len() > 0 {
		next := heap.Pop(&w.queue).(wakeup)
		w.now = next.at
		if next.who >= 0 && w.frozen[next.who] > w.now {
			w.at(w.frozen[next.who], next.who, next.do)
			continue
		}
		next.do()
	}
	w.now += s.ttl + s.grace + 2*s.maxDelay + second
	w.audit()
	return w
}

func sku(i int) string { return "sku-" + strconv.Itoa(i) }

func (w *world) header() {
	lock := fmt.Sprintf(`"ttl":%d,"grace":%d,"max-zombie":%d`, w.ttl, w.grace, w.maxZombie)
	for name, on := range map[string]bool{"reentrant": w.reentrant, "deadline": w.deadline, "fenced": w.fenced} {
		if on {
			lock += `,"` + name + `":true`
		}
	}
	w.out = fmt.Appendf(w.out, `{"format":"lockcheck/1","initial":%d,"max-delay":%d,"lock":{%s}}`+"\n", w.stock, w.maxDelay, lock)
}

func (w *world) audit() {
	for i := range w.skus {
		rows := ""
		if w.listsOrders {
			for j, o := range w.orders[sku(i)] {
				if j > 0 {
					rows += ","
				}
				rows += fmt.Sprintf(`{"order":%q,"qty":%d}`, o.ID, o.Qty)
			}
			rows = `,"orders":[` + rows + `]`
		}
		w.out = fmt.Appendf(w.out, `{"time":%d,"process":"audit","type":"ok","f":"audit","key":%q,"value":%d%s}`+"\n", w.now, sku(i), w.left[sku(i)], rows)
	}
}

func (w *world) mark(f, target string) {
	w.out = fmt.Appendf(w.out, `{"time":%d,"process":"nemesis","type":"info","f":%q,"targets":[%q]}`+"\n", w.now, f, target)
}

// event writes one line of a worker. rest is further fields, each with its comma before it.
func (w *world) event(p int, kind histories.Type, f string, op int64, rest string) {
	w.out = fmt.Appendf(w.out, `{"time":%d,"process":%d,"type":%q,"f":%q,"op":%d%s}`+"\n", w.now, p, kind, f, op, rest)
}

// life is one life of a worker: a coroutine that yields when it waits.
type life struct {
	*world
	p, n  int
	yield func(int64) bool
	next  func() (int64, bool)
	stop  func()
	dead  bool
	hold  *belief
}

type death struct{}

// born starts a life of worker p.
func (w *world) born(p, n int, at int64) {
	l := &life{world: w, p: p, n: n}
	l.next, l.stop = iter.Pull(func(yield func(int64) bool) {
		l.yield = yield
		defer func() {
			if r := recover(); r != nil {
				if _, died := r.(death); !died {
					panic(r)
				}
			}
		}()
		l.live()
	})
	w.lives[p] = l
	w.at(at, p, l.resume)
}

// resume lets the worker go on until it waits again.
func (l *life) resume() {
	if l.dead {
		return
	}
	if t, alive := l.next(); alive && t >= 0 {
		l.at(t, l.p, l.resume)
	}
}

// wait passes d; a fault may come in it.
func (l *life) wait(d int64) {
	switch {
	case l.chance(l.dies):
		l.at(l.now+d/2, l.p, l.die)
	case l.chance(l.paused):
		l.at(l.now+d/2, l.p, l.freeze)
	}
	l.sleep(d)
}

func (l *life) sleep(d int64) {
	if !l.yield(l.now + d) {
		panic(death{})
	}
}

// park waits until somebody resumes the worker.
func (l *life) park() {
	if !l.yield(-1) {
		panic(death{})
	}
}

func (l *life) die() {
	if l.dead || l.lives[l.p] != l {
		return
	}
	l.mark(histories.Kill, "worker-"+strconv.Itoa(l.p))
	l.dead = true
	l.endBelief(l.now)
	l.stop()
	if l.n < 2 {
		l.at(l.now+l.short()+200*ms, -1, func() {
			l.mark(histories.Start, "worker-"+strconv.Itoa(l.p))
			l.born(l.p, l.n+1, l.now+ms)
		})
	}
}

func (l *life) freeze() {
	if l.dead {
		return
	}
	until := l.now + 20*ms + l.rand.Int64N(2*max(l.ttl/ms, 100))*ms
	l.mark(histories.Pause, "worker-"+strconv.Itoa(l.p))
	l.frozen[l.p] = max(l.frozen[l.p], until)
	l.at(l.frozen[l.p], -1, func() {
		if !l.dead && l.frozen[l.p] <= l.now {
			l.mark(histories.Resume, "worker-"+strconv.Itoa(l.p))
		}
	})
}

func (l *life) endBelief(t int64) {
	if b := l.hold; b != nil && b.to == 0 {
		b.to = max(t, b.from)
	}
	l.hold = nil
}
