package checker

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// A tiny testWorld for tests: a correct lease lock, a conditional stock, workers
// that get unknown answers, are paused and killed, and requests that arrive
// late. Whatever happens in it, no property is broken: a checker that finds
// a violation is wrong.

// defect is what is wrong with a world on purpose, in a tenth of the cases.
type defect string

const (
	grantsTwice  defect = "the lock is granted although it is held"
	deletesAny   defect = "a release deletes whosever lock it is"
	takesAnew    defect = "a renewal takes a lock that is free"
	neverFrees   defect = "a release says ok and leaves the lock forever"
	repeatsFence defect = "a grant carries an old number"
	looksAtNone  defect = "workers do not look at their deadline"
	sellsTooMuch defect = "the stock is not checked"
	takesTwice   defect = "a sale takes stock twice"
	writesTwice  defect = "a sale takes stock and writes its order twice"
	forgets      defect = "a sale that said ok is forgotten"
)

// simulation says what happens in such a world. Shares are of 100.
type simulation struct {
	seed                 uint64
	workers, skus, sells int
	stock                int64
	lost, late           int // requests without an answer, and those of them that act late
	paused, killed       int // steps before which a worker is frozen, or dies
	longWork             int // sells that work beyond the ttl
	renew, shown, aware  bool
	ttl, grace, maxDelay time.Duration
	silent               bool // the audit lists no orders
	defect               defect
}

func usual(seed uint64) simulation {
	return simulation{
		seed: seed, workers: 5, skus: 2, sells: 12, stock: 30, lost: 6, late: 50, paused: 3, killed: 1, longWork: 10,
		renew: seed%2 == 0, shown: true, aware: true, ttl: time.Second, grace: 500 * time.Millisecond, maxDelay: 300 * time.Millisecond,
	}
}

type testWorld struct {
	simulation
	rand   *rand.Rand
	now    int64
	seq    int
	queue  agenda
	events []histories.Event
	ops    int64
	holder map[string]leaseState
	left   map[string]int64
	orders map[string][]histories.Order
	fence  map[string]int64

	// truth is what went wrong, by the operation at fault.
	truth map[int64]defect
}

// strikes reports whether d befalls op, and remembers that.
func (w *testWorld) strikes(d defect, op int64) bool {
	if w.defect != d || !w.chance(10) {
		return false
	}
	w.truth[op] = d
	return true
}

type leaseState struct {
	token   string
	expires int64
	owners  []string // tokens, in the order of their grants
}

type appointment struct {
	at  int64
	seq int
	do  func()
}

type agenda []appointment

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].seq < a[j].seq
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(appointment)) }
func (a *agenda) Pop() any {
	x := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return x
}

func (w *testWorld) in(d int64, do func()) {
	w.seq++
	heap.Push(&w.queue, appointment{w.now + d, w.seq, do})
}

func (w *testWorld) chance(percent int) bool { return w.rand.IntN(100) < percent }

// short is the time that something quick takes: some milliseconds, in whole
// ones, so that instants meet.
func (w *testWorld) short() int64 { return w.rand.Int64N(5) * int64(time.Millisecond) }

func (w *testWorld) emit(e histories.Event) { e.Time = w.now; w.events = append(w.events, e) }

// history lets the world run and reads its events.
func (s simulation) history() *histories.History {
	h, _ := s.run()
	return h
}

// run answers the history of a world and what really happened in it.
func (s simulation) run() (*histories.History, *testWorld) {
	w := &testWorld{simulation: s, rand: rand.New(rand.NewPCG(s.seed, 7)), holder: map[string]leaseState{}, left: map[string]int64{}, orders: map[string][]histories.Order{}, fence: map[string]int64{}, truth: map[int64]defect{}}
	for i := range s.skus {
		w.left[fmt.Sprintf("sku-%d", i)] = s.stock
	}
	for p := range s.workers {
		c := &customer{testWorld: w, p: histories.Process(p)}
		w.in(w.short(), func() { c.next(0) })
	}
	for len(w.queue) > 0 {
		a := heap.Pop(&w.queue).(appointment)
		w.now = a.at
		a.do()
	}
	w.now += int64(s.ttl + s.grace + 2*s.maxDelay)
	for i := range s.skus {
		key := fmt.Sprintf("sku-%d", i)
		e := histories.Event{Process: histories.Auditor, Type: histories.OK, F: histories.Audit, Key: key, Value: histories.N(w.left[key])}
		if !w.silent {
			e.Orders = w.orders[key]
		}
		w.emit(e)
	}
	return w.read(), w
}

// read makes a history of the events, as ReadJSON would.
func (w *testWorld) read() *histories.History {
	h := &histories.History{Header: histories.Header{
		Format: histories.Format, Initial: w.stock, MaxDelay: w.maxDelay,
		Lock: histories.LockSpec{TTL: w.ttl, Grace: w.grace, Deadline: w.shown, Fenced: true},
	}}
	at := map[int64]int{}
	for line, e := range w.events {
		h.End = max(h.End, e.Time)
		switch {
		case e.F == histories.Audit:
			h.Audits = append(h.Audits, e)
		case e.Op == 0:
			h.Marks = append(h.Marks, e)
		case e.Type == histories.Invoke:
			at[e.Op] = len(h.Ops)
			h.Ops = append(h.Ops, histories.Op{
				ID: e.Op, Parent: e.Parent, Process: e.Process, F: e.F, Key: e.Key, Call: e.Time, Return: histories.Never,
				CallLine: line, Outcome: histories.Info, Qty: max(e.Qty, 1), Order: e.Order, Token: e.Token,
			})
		default:
			op := &h.Ops[at[e.Op]]
			op.Return, op.ReturnLine, op.Outcome, op.Error = e.Time, line, e.Type, e.Error
			op.Until, op.Left, op.Seen, op.Value, op.Fence = e.Until, e.Left, e.Seen, e.Value, e.Fence
			if e.Token != "" {
				op.Token = e.Token
			}
		}
	}
	return h
}

// customer is one worker. Its steps follow each other by continuation.
type customer struct {
	*testWorld
	p    histories.Process
	dead bool

	sku      string
	sell     int64
	token    string
	until    int64
	renewing bool
}

// step lets a fault come between two steps of the worker.
func (c *customer) step(d int64, do func()) {
	switch {
	case c.chance(c.killed):
		c.in(d, func() {
			c.emit(histories.Event{Process: histories.Nemesis, Type: histories.Info, F: histories.Kill, Targets: []string{fmt.Sprintf("worker-%d", c.p)}})
			c.dead = true
		})
	case c.chance(c.paused):
		c.in(d, func() {
			c.emit(histories.Event{Process: histories.Nemesis, Type: histories.Info, F: histories.Pause, Targets: []string{fmt.Sprintf("worker-%d", c.p)}})
			c.in(int64(c.ttl)*c.rand.Int64N(20)/10, func() {
				c.emit(histories.Event{Process: histories.Nemesis, Type: histories.Info, F: histories.Resume, Targets: []string{fmt.Sprintf("worker-%d", c.p)}})
				do()
			})
		})
	default:
		c.in(d, do)
	}
}

// call makes one request: act happens at the server, then done with what it
// answered. Without an answer, done is told so; act may happen late, or never.
func (c *customer) call(e histories.Event, act func(op int64) histories.Event, done func(histories.Event)) {
	c.ops++
	e.Op, e.Type, e.Process = c.ops, histories.Invoke, c.p
	c.emit(e)
	answer := func(out histories.Event) {
		if c.dead {
			return
		}
		out.Op, out.F, out.Process = e.Op, e.F, c.p
		c.emit(out)
		done(out)
	}
	if c.chance(c.lost) {
		timeout := int64(50 * time.Millisecond)
		switch {
		case c.chance(c.late):
			c.in(timeout+c.rand.Int64N(int64(c.maxDelay)), func() { act(e.Op) })
		case c.chance(50):
			c.in(c.short(), func() { act(e.Op) })
		}
		c.in(timeout, func() { answer(histories.Event{Type: histories.Info, Error: "timeout"}) })
		return
	}
	c.in(c.short(), func() {
		out := act(e.Op)
		c.in(c.short(), func() { answer(out) })
	})
}

func (c *customer) next(n int) {
	if n == c.sells || c.dead {
		return
	}
	c.sku = fmt.Sprintf("sku-%d", c.rand.IntN(c.skus))
	c.ops++
	c.sell, c.token = c.ops, fmt.Sprintf("%d.%d", c.p, n)
	c.emit(histories.Event{Op: c.sell, Type: histories.Invoke, F: histories.Sell, Process: c.p, Key: c.sku, Order: "o" + c.token})
	over := func(e histories.Event) {
		e.Op, e.F, e.Process = c.sell, histories.Sell, c.p
		c.emit(e)
		c.step(c.short(), func() { c.next(n + 1) })
	}
	c.step(c.short(), func() { c.acquire(over) })
}

func (c *customer) acquire(over func(histories.Event)) {
	lock, token := "stock:"+c.sku, c.token
	until := c.now + int64(c.ttl)
	c.call(histories.Event{F: histories.Acquire, Parent: c.sell, Key: lock}, func(op int64) histories.Event {
		s := c.holder[lock]
		if s.expires > c.now && !c.strikes(grantsTwice, op) {
			return histories.Event{Type: histories.Fail, Error: histories.Busy}
		}
		c.holder[lock] = leaseState{token, c.now + int64(c.ttl), append(s.owners, token)}
		if !c.strikes(repeatsFence, op) || c.fence[lock] == 0 {
			c.fence[lock]++
		}
		return histories.Event{Type: histories.OK, Token: token, Until: c.show(until), Fence: histories.N(c.fence[lock])}
	}, func(e histories.Event) {
		switch e.Type {
		case histories.OK:
			c.until = until
			c.renewing = c.renew
			if c.renew {
				c.step(int64(c.ttl)/3, func() { c.extend(token, lock) })
			}
			c.work(over)
		case histories.Fail:
			over(histories.Event{Type: histories.Fail, Error: histories.Busy})
		default:
			c.release(func() { over(histories.Event{Type: histories.Fail, Error: "no lock"}) })
		}
	})
}

func (c *customer) show(until int64) histories.Num {
	if !c.shown {
		return histories.Num{}
	}
	return histories.N(until)
}

func (c *customer) extend(token, lock string) {
	if !c.renewing || c.token != token || c.dead {
		return
	}
	until := c.now + int64(c.ttl)
	c.call(histories.Event{F: histories.Extend, Key: lock, Token: token}, func(op int64) histories.Event {
		s := c.holder[lock]
		free := s.expires <= c.now
		if s.token != token || free {
			if !free || s.owners[len(s.owners)-1] == token || !c.strikes(takesAnew, op) {
				return histories.Event{Type: histories.Fail, Error: histories.NotOwner}
			}
		}
		s.token, s.expires = token, c.now+int64(c.ttl)
		c.holder[lock] = s
		return histories.Event{Type: histories.OK, Until: c.show(until)}
	}, func(e histories.Event) {
		if e.Type == histories.OK && c.token == token {
			c.until = until
		}
		c.step(int64(c.ttl)/3, func() { c.extend(token, lock) })
	})
}

func (c *customer) work(over func(histories.Event)) {
	d := c.short()
	if c.chance(c.longWork) {
		d = int64(c.ttl) * c.rand.Int64N(20) / 10
	}
	c.step(d, func() {
		c.call(histories.Event{F: histories.Read, Parent: c.sell, Key: c.sku}, func(op int64) histories.Event {
			return histories.Event{Type: histories.OK, Value: histories.N(c.left[c.sku])}
		}, func(histories.Event) { c.step(c.short(), func() { c.write(over) }) })
	})
}

// write looks at its own deadline, then sells in one conditional step.
func (c *customer) write(over func(histories.Event)) {
	finish := func(e histories.Event) {
		c.step(c.short(), func() { c.release(func() { over(e) }) })
	}
	if c.aware && c.now > c.until && c.defect != looksAtNone {
		finish(histories.Event{Type: histories.Fail, Error: "lease over"})
		return
	}
	sku, order := c.sku, "o"+c.token
	c.call(histories.Event{F: histories.Write, Parent: c.sell, Key: sku}, func(op int64) histories.Event {
		if c.left[sku] < 1 && c.defect != sellsTooMuch {
			return histories.Event{Type: histories.Fail, Error: histories.SoldOut, Seen: histories.N(c.left[sku])}
		}
		row := histories.Order{ID: order, Qty: 1}
		switch {
		case c.strikes(forgets, op):
			return histories.Event{Type: histories.OK, Left: histories.N(c.left[sku] - 1)}
		case c.strikes(takesTwice, op):
			c.left[sku]--
		case c.strikes(writesTwice, op):
			c.left[sku]--
			c.orders[sku] = append(c.orders[sku], row)
		}
		c.left[sku]--
		c.orders[sku] = append(c.orders[sku], row)
		return histories.Event{Type: histories.OK, Left: histories.N(c.left[sku])}
	}, finish)
}

func (c *customer) release(then func()) {
	c.renewing = false
	lock, token := "stock:"+c.sku, c.token
	c.call(histories.Event{F: histories.Release, Parent: c.sell, Key: lock, Token: token}, func(op int64) histories.Event {
		s := c.holder[lock]
		switch {
		case s.expires <= c.now:
			return histories.Event{Type: histories.Fail, Error: histories.NotOwner}
		case s.token != token && !c.strikes(deletesAny, op):
			return histories.Event{Type: histories.Fail, Error: histories.NotOwner}
		case c.strikes(neverFrees, op):
			s.token, s.expires = "", histories.Never
			c.holder[lock] = s
			return histories.Event{Type: histories.OK}
		}
		s.token, s.expires = "", 0
		c.holder[lock] = s
		return histories.Event{Type: histories.OK}
	}, func(histories.Event) { then() })
}
