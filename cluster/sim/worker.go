package sim

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload/env"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// worker is one worker: a program in a process that it may share with others.
type worker struct {
	c       *system
	number  int
	name    string
	host    *host
	program *vtime.Program // of its present life, or the last one
	err     error          // that its program ended with
	own     ownProgram     // the user's; nil: none
	part                   // in a scene

	mu   sync.Mutex // the guard looks from outside
	open []opened   // invocations without completion, oldest first
}

// opened is an invocation and the task that made it.
type opened struct {
	histories.Event
	by *vtime.Task
}

var _ env.Patient = (*worker)(nil)

// part is what a scene keeps of a worker.
type part struct {
	resting *vtime.Waiter // it waits for the next phase; nil: it is at work
	moves   int           // steps that it has made
	sales   int           // and sales that it has ended
	asked   time.Duration // when it last asked for a lease
	lease   lease
}

// host is the host of some workers, and their process.
type host struct {
	box     *vtime.Machine
	proc    *vtime.Process
	starts  int
	workers []*worker
	gates   map[string]net.Listener // in real time: by server
}

// ownProgram is the user's own program in one life of a worker.
type ownProgram interface {
	protocol.Child
	end() // its worker has ended
}

// startProgram starts the user's program of a worker: in virtual time, or in the
// machine's.
func (c *system) startProgram(w *worker) (ownProgram, error) {
	if c.s.Pacer != nil {
		return c.startOutside(w)
	}
	return c.startOwn(w)
}

// numbers are those of its workers.
func (h *host) numbers() (numbers []int) {
	for _, w := range h.workers {
		numbers = append(numbers, w.number)
	}
	return numbers
}

// launch starts a host's process and the programs of its workers in it.
func (c *system) launch(h *host) {
	h.starts++
	h.proc = &vtime.Process{Scheduler: c.s, Host: h.box, Name: h.box.Name}
	h.box.Process = h.proc
	shared := &memory{s: c.s}
	database := c.world(h.proc).SQL // one pool of connections per process
	for _, w := range h.workers {
		w.launch(shared, database)
	}
}

func (w *worker) launch(shared *memory, database env.SQL) {
	c, h := w.c, w.host
	e := c.world(h.proc)
	e.Clock = &vtime.Clock{Scheduler: c.s, Host: h.box}
	e.Rand = c.stream(streamWorker, uint64(w.number)<<32|uint64(h.starts))
	e.Local, e.SQL = shared, database
	e.Worker, e.Hostname, e.PID, e.Life = w.number, h.box.Name, 1, h.starts-1
	env.Unrecorded(e).Step = w.step
	w.open, w.err, w.own = nil, nil, nil
	w.resting, w.lease = nil, lease{}
	if c.o.Own != nil {
		var err error
		if w.own, err = c.startProgram(w); err != nil {
			c.s.Fail(fmt.Errorf("the program of %s: %w", w.name, err))
			return
		}
		e.Own = w.own
	}
	p := &vtime.Program{Doing: w.operation, Loses: w.loses}
	p.Main = c.s.Spawn(h.proc, w.name, func() {
		w.err = c.o.Program(context.Background(), c.o.Spec, e, w)
	})
	h.proc.Programs = append(h.proc.Programs, p)
	w.program, p.Main.Program = p, p
	p.Main.OnEnd = w.endTicks
	p.Main.Begin()
}

// endTicks ends what the worker still runs in the background.
func (w *worker) endTicks() {
	if w.own != nil {
		w.own.end()
	}
	for _, t := range slices.Clone(w.host.proc.Tasks) {
		if t.Program == w.program {
			t.Dead = true
			w.c.s.Reap = append(w.c.s.Reap, t)
		}
	}
}

// ended reports whether the worker does nothing any more.
func (w *worker) ended() bool { return w.program.Ended() }

// Emit records an event of this worker.
func (w *worker) Emit(e histories.Event) {
	s := w.c.s
	if t := s.Current; t == nil || t.Dead {
		return
	}
	s.Count()
	w.follow(e)
	if w.c.scene != nil {
		w.c.scene.follows(w, e)
	}
	w.c.emit(e)
}

// Phase is what the workers are to do at the moment.
func (w *worker) Phase() env.Phase {
	w.c.s.Count()
	return w.c.phase
}

// follow keeps account of the operations that the worker is at.
func (w *worker) follow(e histories.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case e.Op == 0:
	case e.Type == histories.Invoke:
		w.open = append(w.open, opened{e, w.c.s.Current})
	default:
		w.open = slices.DeleteFunc(w.open, func(o opened) bool { return o.Op == e.Op })
	}
}

// operation names what the worker is at, for messages.
func (w *worker) operation() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 {
		return "no operation"
	}
	e := w.open[len(w.open)-1]
	return fmt.Sprintf("%s of %s (op %d)", e.F, e.Key, e.Op)
}

// does reports whether the task, or with nil any of the worker's, is at an
// operation f.
func (w *worker) does(t *vtime.Task, f string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.open, func(o opened) bool { return (t == nil || o.by == t) && o.F == f })
}
