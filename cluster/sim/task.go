package sim

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"time"
)

// task is a coroutine: a worker's program, a tick of its watchdog, the
// director. It runs until it parks.
type task struct {
	s    *scheduler
	proc *process
	name string

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	parked bool
	dead   bool // killed: the world no longer listens
	done   bool
	// unwinding: its deferred functions run, the last thing that it does.
	unwinding bool
	ticket    uint64 // grows with each parking: a wake-up for an earlier one is void
	why       wakeup
	until     time.Duration
	ctx       context.Context // that may end the parking; nil: cannot

	timerAt  time.Duration // when the armed timer fires; 0: none
	timer    uint64        // number of the armed timer
	watched  bool
	periodic bool // runs a function of Clock.Every
	held     bool // it would go on, but its process's work is paused
	calls    int  // since it last parked

	server  string   // that it waits for, for messages …
	request []string // … and for the reply to what; nil: it connects
	program *program // whose task it is; nil: none of a worker's program
	onEnd   func()   // called when it ended by itself
	err     error
}

// wakeup says why a parked task goes on.
type wakeup uint8

const (
	woken wakeup = iota
	timedOut
	cancelled
)

// spawn makes a task in a process.
func (s *scheduler) spawn(p *process, name string, f func()) *task {
	t := &task{s: s, proc: p, name: name, parked: true, until: s.now}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer t.catch()
		f()
	})
	s.tasks = append(s.tasks, t)
	p.tasks = append(p.tasks, t)
	return t
}

// begin plans the first step of a task.
func (t *task) begin() {
	t.s.push(event{at: t.s.now, proc: t.proc, task: t, ticket: t.ticket})
}

// catch turns a panic of the task's function into an error that ends the run.
func (t *task) catch() {
	if p := recover(); p != nil {
		t.err = &StuckError{Task: t.name, Doing: t.doing(), Err: fmt.Errorf("panic: %v", p), Stack: string(debug.Stack())}
	}
}

// park gives way until the task is woken.
func (t *task) park(ctx context.Context, until time.Duration) wakeup {
	t.ticket++
	t.parked, t.why, t.calls = true, woken, 0
	t.until = min(until, t.s.now+2*forever)
	t.ctx = nil
	if ctx.Done() != nil {
		t.ctx = ctx
		if !t.watched {
			t.watched = true
			t.s.watching = append(t.s.watching, t)
		}
	}
	t.arm()
	if !t.yield(struct{}{}) {
		runtime.Goexit()
	}
	t.server, t.request = "", nil
	return t.why
}

// arm makes sure that a timer fires no later than until. One timer serves
// many short waits: a request that is answered in time leaves it armed, and
// when it fires it looks how long the task waits by then.
func (t *task) arm() {
	if t.until-t.s.now >= forever || t.timerAt != 0 && t.timerAt <= t.until {
		return
	}
	t.timer++
	t.timerAt = max(t.until, 1)
	t.s.push(event{at: t.until, proc: t.proc, task: t, timer: t.timer})
}

func (t *task) fire(timer uint64) {
	if timer != t.timer {
		return
	}
	t.timerAt = 0
	switch {
	case t.done || t.dead || !t.parked || t.held:
	case t.until <= t.s.now:
		t.why = timedOut
		t.s.idle = false
		t.s.step(t)
	default:
		t.arm()
	}
}

// waiter is a task's next parking, to be woken once.
type waiter struct {
	t      *task
	ticket uint64
}

// waiter answers the handle of the parking that the current task is about to
// begin.
func (s *scheduler) waiter() waiter {
	t := s.mustRun()
	return waiter{t, t.ticket + 1}
}

// wake plans that the task goes on now.
func (w waiter) wake() {
	w.t.s.push(event{at: w.t.s.now, proc: w.t.proc, task: w.t, ticket: w.ticket})
}

// resume lets the task go on at once. Only an event's function of the same
// process may call it, as its last act.
func (w waiter) resume() {
	if t := w.t; t.parked && !t.dead && t.ticket == w.ticket {
		t.s.idle = false
		t.s.step(t)
	}
}

// unwind ends the coroutine. A parked one returns from yield and exits by
// runtime.Goexit, which a design cannot recover from; iter passes that on to
// whoever calls stop, so that must be a goroutine of its own.
func (t *task) unwind() {
	t.unwinding = true
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		t.stop()
	}()
	<-finished
}

// exitIfDead stops a task that has killed its own process, and ends a
// deferred function of a killed task that tries to act.
func (t *task) exitIfDead() {
	if !t.dead {
		return
	}
	if !t.unwinding {
		t.yield(struct{}{}) // it comes back when the task is unwound
	}
	runtime.Goexit()
}

// count takes note of a call that lets no time pass. A loop of them would
// hang the run: the task is stopped for good, and the run with it.
func (s *scheduler) count() {
	t := s.current
	if t == nil || t.dead {
		return
	}
	if t.calls++; t.calls > callLimit {
		s.fail(s.spinning(t, fmt.Sprintf("%d calls at %v", t.calls, s.now)))
		t.park(context.Background(), s.now+2*forever)
	}
}
