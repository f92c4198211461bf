package sim

import (
	"context"
	"sync/atomic"
	"time"
)

// scheduler keeps the virtual time and does one thing after the other.
//
// All that happens is an event, ordered by time and, at equal times, by the
// order in which it was planned. An event calls a function or lets a task
// (a coroutine) go on until it parks again. So at any moment at most one
// piece of code runs, and the order of everything is decided by the seed.
type scheduler struct {
	now     time.Duration
	seq     uint64
	queue   queue
	busy    int   // events in queue that are no housekeeping
	idle    bool  // the event being handled is housekeeping
	current *task // the task that runs; nil: an event's function

	tasks    []*task // all that have not ended, oldest first
	reap     []*task // killed, to be unwound when the current event is over
	watching []*task // parked with a context that another task may cancel

	instant int // events since time last passed
	err     error

	// For the guard, which looks from another goroutine.
	progress atomic.Uint64
	running  atomic.Pointer[task]
}

// Limits that end a run rather than let it hang.
const (
	// instantLimit is how many events may happen without time passing. A
	// flash sale of 1,000 customers makes some thousands.
	instantLimit = 200_000
	// callLimit is how many calls a task may make without letting time pass.
	callLimit = 2_000_000
	// forever is further away than any run lasts.
	forever = 1000 * time.Hour
)

// at plans fn for the moment t. proc, if not nil, is the process whose doing
// it is: it happens only while the process lives, and not while it is paused.
func (s *scheduler) at(t time.Duration, proc *process, fn func()) {
	s.push(event{at: t, proc: proc, fn: fn, idle: s.idle})
}

// after plans fn for d from now.
func (s *scheduler) after(d time.Duration, proc *process, fn func()) {
	s.at(s.now+d, proc, fn)
}

// every calls fn again and again while proc lives, first after phase. It is
// housekeeping: it keeps no run alive.
func (s *scheduler) every(d, phase time.Duration, proc *process, fn func()) {
	var tick func()
	tick = func() {
		fn()
		s.push(event{at: s.now + d, proc: proc, fn: tick, idle: true})
	}
	s.push(event{at: s.now + phase, proc: proc, fn: tick, idle: true})
}

func (s *scheduler) push(e event) {
	s.seq++
	e.seq = s.seq
	e.at = min(max(e.at, s.now), s.now+forever)
	if !e.idle {
		s.busy++
	}
	s.queue.push(e)
}

// run handles events until done reports true or the run must end.
func (s *scheduler) run(done func() bool) error {
	for s.err == nil && !done() {
		if s.queue.empty() || s.busy == 0 {
			s.fail(s.deadlock())
			break
		}
		s.next()
	}
	return s.err
}

// warmUpTime is how long a cluster runs before the run's time begins, at 0:
// its links come up, its replicas and Sentinels find each other.
const warmUpTime = 3 * time.Second

func (s *scheduler) warmUp() {
	for s.err == nil && !s.queue.empty() && s.queue.first() < 0 {
		s.next()
	}
	s.now, s.instant = 0, 0
}

// next handles one event and what follows from it at once.
func (s *scheduler) next() {
	e := s.queue.pop()
	if !e.idle {
		s.busy--
	}
	s.progress.Add(1)
	if e.at > s.now {
		s.now, s.instant = e.at, 0
	} else if s.instant++; s.instant > instantLimit {
		s.fail(s.noTimePasses(&e))
		return
	}
	s.idle = e.idle
	if e.proc == nil || e.proc.takes(e) {
		s.handle(&e)
	}
	s.idle = false
	s.unwindKilled()
}

func (s *scheduler) handle(e *event) {
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
	if t := e.task; t.parked && !t.dead && t.ticket == e.ticket {
		s.idle = false
		s.step(t)
	}
}

// step lets a parked task go on until it parks again or ends.
func (s *scheduler) step(t *task) {
	if t.proc.stays(t) {
		return
	}
	t.parked = false
	s.current = t
	s.running.Store(t)
	_, alive := t.next()
	s.current = nil
	s.running.Store(nil)
	if !alive {
		s.ended(t)
	}
	if len(s.watching) > 0 {
		s.wakeCancelled()
	}
}

// wakeCancelled looks after the contexts of parked tasks. Only a task that
// has just run can have cancelled one.
func (s *scheduler) wakeCancelled() {
	kept := s.watching[:0]
	for _, t := range s.watching {
		switch {
		case !t.parked || t.ctx == nil:
			t.watched = false
		case t.ctx.Err() != nil:
			t.watched, t.why = false, cancelled
			s.push(event{at: s.now, proc: t.proc, task: t, ticket: t.ticket})
		default:
			kept = append(kept, t)
		}
	}
	clear(s.watching[len(kept):])
	s.watching = kept
}

// unwindKilled ends the coroutines of killed tasks: their deferred functions
// run, but the world no longer listens to them.
func (s *scheduler) unwindKilled() {
	for len(s.reap) > 0 {
		t := s.reap[0]
		s.reap = s.reap[1:]
		if t.done {
			continue
		}
		s.current = t
		s.running.Store(t)
		t.unwind()
		s.current = nil
		s.running.Store(nil)
		s.ended(t)
	}
}

func (s *scheduler) ended(t *task) {
	t.done, t.parked = true, false
	for i, o := range s.tasks {
		if o == t {
			s.tasks = append(s.tasks[:i], s.tasks[i+1:]...)
			break
		}
	}
	t.proc.forget(t)
	if t.err != nil && !t.dead {
		s.fail(t.err)
	}
	if t.onEnd != nil && !t.dead {
		t.onEnd()
	}
}

// close ends every task.
func (s *scheduler) close() {
	for _, t := range s.tasks {
		t.dead = true
	}
	s.reap = append(s.reap, s.tasks...)
	s.unwindKilled()
	s.queue = queue{}
}

// fail ends the run with err. The first one counts.
func (s *scheduler) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// wait parks the current task until something wakes it, until the moment
// until, or until ctx ends.
func (s *scheduler) wait(ctx context.Context, until time.Duration) wakeup {
	t := s.mustRun()
	if ctx.Err() != nil {
		return cancelled
	}
	return t.park(ctx, until)
}

// giveWay lets everybody else go on who is to go on now.
func (s *scheduler) giveWay() {
	s.waiter().wake()
	s.current.park(context.Background(), s.now+2*forever)
}

// mustRun is the task that calls. There is one unless the cluster is used
// outside of Run.
func (s *scheduler) mustRun() *task {
	if s.current == nil {
		panic("sim: called outside of Run, or from a goroutine of its own")
	}
	s.current.exitIfDead()
	return s.current
}
