package vtime

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Task is a coroutine: a worker's program, a tick of its watchdog, the
// director. It runs until it parks.
type Task struct {
	s    *Scheduler
	proc *Process
	Name string

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	parked bool
	Dead   bool // killed: the world no longer listens
	Done   bool
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
	Program *Program // whose task it is; nil: none of a worker's program
	OnEnd   func()   // called when it ended by itself
	err     error
}

// wakeup says why a parked task goes on.
type wakeup uint8

const (
	woken wakeup = iota
	TimedOut
	Cancelled
)

// Spawn makes a task in a process.
func (s *Scheduler) Spawn(p *Process, name string, f func()) *Task {
	t := &Task{s: s, proc: p, Name: name, parked: true, until: s.Now}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer t.catch()
		f()
	})
	s.tasks = append(s.tasks, t)
	p.Tasks = append(p.Tasks, t)
	return t
}

// Begin plans the first step of a task.
func (t *Task) Begin() {
	t.s.push(event{at: t.s.Now, proc: t.proc, task: t, ticket: t.ticket})
}

// catch turns a panic of the task's function into an error that ends the run.
func (t *Task) catch() {
	if p := recover(); p != nil {
		t.err = &StuckError{Task: t.Name, Doing: t.doing(), Err: fmt.Errorf("panic: %v", p), Stack: string(debug.Stack())}
	}
}

// park gives way until the task is woken.
func (t *Task) park(ctx context.Context, until time.Duration) wakeup {
	t.ticket++
	t.parked, t.why, t.calls = true, woken, 0
	t.until = min(until, t.s.Now+2*Forever)
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
func (t *Task) arm() {
	if t.until-t.s.Now >= Forever || t.timerAt != 0 && t.timerAt <= t.until {
		return
	}
	t.timer++
	t.timerAt = max(t.until, 1)
	t.s.push(event{at: t.until, proc: t.proc, task: t, timer: t.timer})
}

func (t *Task) fire(timer uint64) {
	if timer != t.timer {
		return
	}
	t.timerAt = 0
	switch {
	case t.Done || t.Dead || !t.parked || t.held:
	case t.until <= t.s.Now:
		t.why = TimedOut
		t.s.idle = false
		t.s.Step(t)
	default:
		t.arm()
	}
}

// Waiter is a task's next parking, to be woken once.
type Waiter struct {
	Task   *Task
	ticket uint64
}

// Waiter answers the handle of the parking that the current task is about to
// begin.
func (s *Scheduler) Waiter() Waiter {
	t := s.MustRun()
	return Waiter{t, t.ticket + 1}
}

// Wake plans that the task goes on now.
func (w Waiter) Wake() {
	w.Task.s.push(event{at: w.Task.s.Now, proc: w.Task.proc, task: w.Task, ticket: w.ticket})
}

// Resume lets the task go on at once. Only an event's function of the same
// process may call it, as its last act.
func (w Waiter) Resume() {
	if t := w.Task; t.parked && !t.Dead && t.ticket == w.ticket {
		t.s.idle = false
		t.s.Step(t)
	}
}

// unwind ends the coroutine. A parked one returns from yield and exits by
// runtime.Goexit, which a design cannot recover from; iter passes that on to
// whoever calls stop, so that must be a goroutine of its own.
func (t *Task) unwind() {
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
func (t *Task) exitIfDead() {
	if !t.Dead {
		return
	}
	if !t.unwinding {
		t.yield(struct{}{}) // it comes back when the task is unwound
	}
	runtime.Goexit()
}

// Count takes note of a call that lets no time pass. A loop of them would
// hang the run: the task is stopped for good, and the run with it.
func (s *Scheduler) Count() {
	t := s.Current
	if t == nil || t.Dead {
		return
	}
	if t.calls++; t.calls > callLimit {
		s.Fail(s.spinning(t, fmt.Sprintf("%d calls at %v", t.calls, s.Now)))
		t.park(context.Background(), s.Now+2*Forever)
	}
}

// WaitingFor notes what the task is about to wait for.
func (t *Task) WaitingFor(server string, args []string) { t.server, t.request = server, args }

// doing says what the task is at, for messages.
func (t *Task) doing() string {
	var parts []string
	if t.Program != nil {
		parts = append(parts, t.Program.Doing())
	}
	switch {
	case t.server == "":
	case t.request == nil:
		parts = append(parts, "connecting to "+t.server)
	default:
		words := strings.Join(t.request, " ")
		if len(words) > 80 {
			words = words[:80] + "…"
		}
		parts = append(parts, words+" at "+t.server)
	}
	if parts == nil {
		return "no operation"
	}
	return strings.Join(parts, ", ")
}
