package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// A point of a scene is a moment at which something can be done to it. Points are
// numbered in the order in which they come, from 1. What is done at one changes
// which come after it, and none before: so the placements of deviations are a
// tree, and a scene that is played again comes to the same points.

// Placed is a deviation at a point.
type Placed struct {
	Point int
	Deviation
}

// Deviation is one interference: a kind, and which of its variants.
type Deviation struct {
	Kind    Kind
	Variant uint8
}

// Done is a deviation that was done, for people.
type Done struct {
	Placed
	Worker int             // whom it stopped, or whom the server had just served
	Step   string          // with a name at which it was stopped; "": another
	Events int             // that had been recorded by then
	At     time.Duration   // when it began
	Until  time.Duration   // when it was over; At if it did not last
	Text   string          // "worker 0 is frozen before its DECRBY until just after its lease ends"
	Fault  histories.Fault // that the history has for it
}

// Options are what could have been done at the points after the last one of the
// plan, if List asked for it.
func (s *Scene) Options() []Placed { return s.options }

// Done are the deviations of the plan that were done.
func (s *Scene) Done() []Done { return s.done }

// LookedAtWall reports whether a worker has looked at its wall clock.
func (s *Scene) LookedAtWall() bool {
	return slices.ContainsFunc(s.hosts, func(h *host) bool { return h.box.Looked })
}

// Points is how many points there were.
func (s *Scene) Points() int { return s.points }

// ErrNoSuchDeviation: a plan has something at a point that cannot be done there.
var ErrNoSuchDeviation = errors.New("the scene has no such point, or this cannot be done there")

// point counts a point, at which offers lists what can be done. It answers the
// deviation that the plan has for it; nil: none.
func (s *Scene) point(offers func()) *Deviation {
	s.points++
	if s.next >= len(s.Plan) {
		if s.List {
			offers()
		}
		return nil
	}
	if s.Plan[s.next].Point != s.points {
		return nil
	}
	p := s.Plan[s.next]
	s.next++
	offers()
	possible := slices.Contains(s.options, p)
	if s.options = s.options[:0]; !possible {
		s.s.Fail(fmt.Errorf("%v: %w", p, ErrNoSuchDeviation))
		return nil
	}
	return &p.Deviation
}

// Unreached are the deviations of the plan whose points the scene did not come to.
func (s *Scene) Unreached() []Placed { return s.Plan[s.next:] }

// offer notes that something could be done at the present point.
func (s *Scene) offer(k Kind, variant int) {
	if s.Kinds.Has(k) {
		s.options = append(s.options, Placed{s.points, Deviation{k, uint8(variant)}})
	}
}

// active: there are points only while customers are served.
func (s *Scene) active() bool { return s.phase == env.Running }

// ofTask is the worker whose program a task belongs to.
func (s *Scene) ofTask(t *vtime.Task) *worker {
	if t == nil || t.Program == nil || !s.active() {
		return nil
	}
	i := slices.IndexFunc(s.workers, func(w *worker) bool { return w.program == t.Program })
	if i < 0 {
		return nil
	}
	return s.workers[i]
}

var _ vtime.Watcher = (*Scene)(nil)

// GoesOn is a point: a worker got a reply, or has slept.
func (s *Scene) GoesOn(t *vtime.Task) {
	if w := s.ofTask(t); w != nil {
		s.step(w, move{what: goesOn})
	}
}

// reaches is a point: a worker is at a named step.
func (s *Scene) reaches(w *worker, name string) {
	if s.active() {
		s.step(w, move{what: name})
	}
}

// Sends is two points: a worker is about to send a request, and the request is on
// its way.
func (s *Scene) Sends(x *vtime.Exchange, to *vtime.Machine) {
	w := s.ofTask(s.s.Current)
	if w == nil {
		return
	}
	s.step(w, move{what: "sends", args: x.Args, to: to})
	if !s.active() {
		return
	}
	d := s.point(func() {
		s.offer(LateRequest, 0)
		s.offer(Lost, lostRequest)
	})
	if d != nil {
		s.delay(w, x, to, *d)
	}
}

// Answers is a point: a reply is on its way.
func (s *Scene) Answers(x *vtime.Exchange) {
	w := s.ofTask(x.Task.Task)
	if w == nil {
		return
	}
	if s.point(func() { s.offer(Lost, lostReply) }) != nil {
		s.loseReply(w, x)
	}
}

// Served is a point: a server has done something.
func (s *Scene) Served(x *vtime.Exchange, server *vtime.Process) {
	w := s.ofTask(x.Task.Task)
	if w == nil {
		return
	}
	switch server := server.Serve.(type) {
	case *node:
		if !s.hurtable(server) {
			return
		}
		if d := s.point(func() { s.offerServer(server) }); d != nil {
			s.hurt(server, x, *d)
		}
	case *sqlServer:
		if s.point(func() { s.offer(Connection, 0) }) != nil {
			s.breakConnection(w, server, x)
		}
	}
}

// hurtable are the servers of the lock service that take writes. The stock's own
// Redis and the SQL server are left alone: a stock that forgets is wrong whatever
// the lock does.
func (s *Scene) hurtable(n *node) bool {
	return slices.Contains(s.site.redis, n) && n.alive() && (s.master == nil || s.master == n)
}

func (s *Scene) offerServer(n *node) {
	if n.keys.Len() == 0 {
		return
	}
	s.offer(Forget, 0)
	for lacks := 1; lacks <= mostLacking && s.master == n && s.canLack(int64(lacks)); lacks++ {
		s.offer(Failover, lacks)
	}
	if n.keys.Expiring() {
		s.offer(Clock, forward)
		s.offer(Clock, back)
	}
	for i := range n.keys.Names() {
		s.offer(Evict, i)
	}
}

// goesOn is the step of a worker that got a reply, or has slept.
const goesOn = "goes on"

// move is a step of a worker.
type move struct {
	what string         // goesOn, "sends", or the name of a step
	args []string       // of a request
	to   *vtime.Machine // where it goes
}

// step is a point of a worker, at which it can be stopped.
func (s *Scene) step(w *worker, m move) {
	s.moved(w)
	if d := s.point(func() { s.offerStep(w, m) }); d != nil {
		s.interfere(w, m, *d)
	}
}

func (s *Scene) offerStep(w *worker, m move) {
	for _, o := range s.workers {
		if o != w && o.resting == nil && !o.ended() {
			s.offer(Preempt, o.number*2)
			s.offer(Preempt, o.number*2+1)
		}
	}
	for until := range freezes {
		if s.freezeEnd(w, until) > s.s.Now {
			s.offer(Freeze, until)
		}
	}
	s.offer(Crash, 0)
	if s.LooksAtWall {
		s.offer(Clock, forward)
		s.offer(Clock, back)
	}
	if m.to == nil {
		return
	}
	for i, n := range s.site.redis {
		if n.box == m.to {
			s.offer(CutOff, i)
			if len(s.site.redis) > 1 && s.master == nil {
				s.offer(CutOff, fromAll)
			}
		}
	}
}

// moved counts a step of a worker, and lets those go on who wait for it.
func (s *Scene) moved(w *worker) {
	w.moves++
	s.letGo()
}

// letGo wakes those whose turn it is again.
func (s *Scene) letGo() {
	s.waits = slices.DeleteFunc(s.waits, func(t *turn) bool {
		if over := t.of.moves >= t.moves || t.of.sales >= t.sales; over {
			t.w.Wake()
			return true
		}
		return false
	})
}

// follows keeps account of a worker's lease and its sales.
func (s *Scene) follows(w *worker, e histories.Event) {
	switch {
	case e.F == histories.Sell && e.Type != histories.Invoke:
		w.sales++
		s.letGo()
	case e.F == histories.Acquire && e.Type == histories.Invoke, e.F == histories.Extend && e.Type == histories.Invoke:
		w.asked = s.s.Now
	case (e.F == histories.Acquire || e.F == histories.Extend) && e.Type == histories.OK:
		w.lease = lease{w.asked, s.s.Now}
	case e.F == histories.Release:
		w.lease = lease{}
	}
}

// lease is when the newest lease of a worker was asked for and given.
type lease struct{ asked, given time.Duration }

// leaseEnds is between which two moments the worker's lease ends; without one, when it
// would if it had been given now.
func (s *Scene) leaseEnds(w *worker) (first, last time.Duration) {
	l := w.lease
	if l.given == 0 || l.given+s.Lease < s.s.Now {
		l = lease{s.s.Now, s.s.Now}
	}
	return l.asked + s.Lease, l.given + s.Lease
}
