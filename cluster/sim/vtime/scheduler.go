// Package vtime is virtual time and what runs in it: one thing after the other,
// in an order that a seed decides. A minute of it passes in milliseconds.
//
// It knows nothing of Redis, of locks or of faults by name. A Scheduler keeps the
// time; a Task is a coroutine, a Process what pauses and dies together, a Program
// what one worker runs in it. A Network carries packets over links that can be cut
// or lose them; a Conn is a TCP connection with its time-outs and resets; a Host
// has a Wall clock that can be wrong. A Clock is what a program sees of all this.
//
// Start with Scheduler, then Task. Package sim builds servers and workers on it.
package vtime

import (
	"context"
	"sync/atomic"
	"time"
)

// Scheduler keeps the virtual time and does one thing after the other.
//
// All that happens is an event, ordered by time and, at equal times, by the
// order in which it was planned. An event calls a function or lets a task
// (a coroutine) go on until it parks again. So at any moment at most one
// piece of code runs, and the order of everything is decided by the seed.
type Scheduler struct {
	Now     time.Duration
	seq     uint64
	queue   queue
	busy    int   // events in queue that are no housekeeping
	idle    bool  // the event being handled is housekeeping
	Current *Task // the task that runs; nil: an event's function

	tasks    []*Task // all that have not ended, oldest first
	Reap     []*Task // killed, to be unwound when the current event is over
	watching []*Task // parked with a context that another task may cancel

	instant int // events since time last passed
	err     error

	Watcher Watcher // of a scene; nil: none
	Pacer   *Pacer  // nil: time passes as fast as it can

	// For the guard, which looks from another goroutine.
	Progress atomic.Uint64
	Running  atomic.Pointer[Task]
}

// Limits that end a run rather than let it hang.
const (
	// instantLimit is how many events may happen without time passing. A
	// flash sale of 1,000 customers makes some thousands.
	instantLimit = 200_000
	// callLimit is how many calls a task may make without letting time pass.
	callLimit = 2_000_000
	// Forever is further away than any run lasts.
	Forever = 1000 * time.Hour
	// Never is a moment before every other.
	Never = -Forever
)

// At plans fn for the moment t. proc, if not nil, is the process whose doing
// it is: it happens only while the process lives, and not while it is paused.
func (s *Scheduler) At(t time.Duration, proc *Process, fn func()) {
	s.push(event{at: t, proc: proc, fn: fn, idle: s.idle})
}

// After plans fn for d from now.
func (s *Scheduler) After(d time.Duration, proc *Process, fn func()) {
	s.At(s.Now+d, proc, fn)
}

// Every calls fn again and again while proc lives, first after phase. It is
// housekeeping: it keeps no run alive.
func (s *Scheduler) Every(d, phase time.Duration, proc *Process, fn func()) {
	var tick func()
	tick = func() {
		fn()
		s.push(event{at: s.Now + d, proc: proc, fn: tick, idle: true})
	}
	s.push(event{at: s.Now + phase, proc: proc, fn: tick, idle: true})
}

func (s *Scheduler) push(e event) {
	s.seq++
	e.seq = s.seq
	e.at = min(max(e.at, s.Now), s.Now+Forever)
	if !e.idle {
		s.busy++
	}
	s.queue.push(e)
}

// Run handles events until done reports true or the run must end.
func (s *Scheduler) Run(done func() bool) error {
	if s.Pacer != nil {
		s.Pacer.begin()
	}
	for s.err == nil && !done() {
		switch {
		case s.Pacer != nil && s.keepPace():
		case s.Pacer == nil && (s.queue.empty() || s.busy == 0):
			s.Fail(s.deadlock())
		default:
			s.next()
		}
	}
	return s.err
}

// WarmUpTime is how long a cluster runs before the run's time begins, at 0:
// its links come up, its replicas and Sentinels find each other.
const WarmUpTime = 3 * time.Second

func (s *Scheduler) WarmUp() {
	for s.err == nil && !s.queue.empty() && s.queue.first() < 0 {
		s.next()
	}
	s.Now, s.instant = 0, 0
}

// next handles one event and what follows from it at once.
func (s *Scheduler) next() {
	e := s.queue.pop()
	if !e.idle {
		s.busy--
	}
	s.Progress.Add(1)
	if e.at > s.Now {
		s.Now, s.instant = e.at, 0
	} else if s.instant++; s.instant > instantLimit {
		s.Fail(s.noTimePasses(&e))
		return
	}
	s.idle = e.idle
	if e.proc == nil || e.proc.takes(e) {
		s.handle(&e)
	}
	s.idle = false
	s.unwindKilled()
}

func (s *Scheduler) handle(e *event) {
	switch {
	case e.packet != nil:
		e.packet.c.net.arrive(e.packet)
		return
	case e.task == nil:
		e.fn()
		return
	case e.timer != 0:
		e.task.fire(e.timer)
		return
	}
	if t := e.task; t.parked && !t.Dead && t.ticket == e.ticket {
		s.idle = false
		s.Step(t)
	}
}

// Step lets a parked task go on until it parks again or ends.
func (s *Scheduler) Step(t *Task) {
	if t.proc.stays(t) {
		return
	}
	t.parked = false
	s.Current = t
	s.Running.Store(t)
	_, alive := t.next()
	s.Current = nil
	s.Running.Store(nil)
	if !alive {
		s.ended(t)
	}
	if len(s.watching) > 0 {
		s.wakeCancelled()
	}
}

// wakeCancelled looks after the contexts of parked tasks. Only a task that
// has just run can have cancelled one.
func (s *Scheduler) wakeCancelled() {
	kept := s.watching[:0]
	for _, t := range s.watching {
		switch {
		case !t.parked || t.ctx == nil:
			t.watched = false
		case t.ctx.Err() != nil:
			t.watched, t.why = false, Cancelled
			s.push(event{at: s.Now, proc: t.proc, task: t, ticket: t.ticket})
		default:
			kept = append(kept, t)
		}
	}
	clear(s.watching[len(kept):])
	s.watching = kept
}

// unwindKilled ends the coroutines of killed tasks: their deferred functions
// run, but the world no longer listens to them.
func (s *Scheduler) unwindKilled() {
	for len(s.Reap) > 0 {
		t := s.Reap[0]
		s.Reap = s.Reap[1:]
		if t.Done {
			continue
		}
		s.Current = t
		s.Running.Store(t)
		t.unwind()
		s.Current = nil
		s.Running.Store(nil)
		s.ended(t)
	}
}

func (s *Scheduler) ended(t *Task) {
	t.Done, t.parked = true, false
	for i, o := range s.tasks {
		if o == t {
			s.tasks = append(s.tasks[:i], s.tasks[i+1:]...)
			break
		}
	}
	t.proc.forget(t)
	if t.err != nil && !t.Dead {
		s.Fail(t.err)
	}
	if t.OnEnd != nil && !t.Dead {
		t.OnEnd()
	}
}

// Close ends every task.
func (s *Scheduler) Close() {
	for _, t := range s.tasks {
		t.Dead = true
	}
	s.Reap = append(s.Reap, s.tasks...)
	s.unwindKilled()
	s.queue = queue{}
}

// Fail ends the run with err. The first one counts.
func (s *Scheduler) Fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Wait parks the current task until something wakes it, until the moment
// until, or until ctx ends.
func (s *Scheduler) Wait(ctx context.Context, until time.Duration) wakeup {
	t := s.MustRun()
	if ctx.Err() != nil {
		return Cancelled
	}
	why := t.park(ctx, until)
	if s.Watcher != nil && t.Program != nil {
		s.Watcher.GoesOn(t)
	}
	return why
}

// Hold parks the current task until something wakes it, or until the moment
// until. It is no step of the task, as far as a Watcher is concerned.
func (s *Scheduler) Hold(until time.Duration) {
	s.MustRun().park(context.Background(), until)
}

// GiveWay lets everybody else go on who is to go on now.
func (s *Scheduler) GiveWay() {
	s.Waiter().Wake()
	s.Current.park(context.Background(), s.Now+2*Forever)
}

// MustRun is the task that calls. There is one unless the cluster is used
// outside of Run.
func (s *Scheduler) MustRun() *Task {
	if s.Current == nil {
		panic("sim: called outside of Run, or from a goroutine of its own")
	}
	s.Current.exitIfDead()
	return s.Current
}
