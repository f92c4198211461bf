package vtime

import (
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// Process is one operating-system process: a server, or the host of some
// workers. It can be paused and killed; a restarted server is a new process.
type Process struct {
	Scheduler *Scheduler
	Host      *Machine
	Name      string
	Tasks     []*Task
	Programs  []*Program // of its workers
	Conns     []*Conn    // open at this end, oldest first
	Serve     Service    // nil: it only calls others

	Dead   bool
	Paused bool
	held   []event // what came due meanwhile
	due    []*Task // those of its tasks that would go on, were it not that their program's work is paused

	Guests   []guest // users' programs, that live and die with it
	pausedAt time.Duration
}

// guest is something outside of the simulation that lives and dies with a process.
type guest interface {
	// Pause says that the process is paused, Resume that it goes on and did nothing
	// for so long.
	Pause()
	Resume(d time.Duration)
	Die()
}

// Program is what one worker runs in a process, from its start to its end: a task
// of its own, and what it runs periodically. The two can be paused apart.
type Program struct {
	Main  *Task
	Doing func() string // the operation that it is at, for messages
	// Loses reports whether a reply that a task has got gets lost on its way.
	Loses   func(t *Task, args []string, reply any) bool
	Ticking int // functions of Clock.Every that may run again

	RenewalsPaused bool // its periodic tasks stand still
	WorkPaused     bool // its other tasks stand still
}

// Ended reports whether it does nothing any more.
func (p *Program) Ended() bool { return p.Main == nil || p.Main.Done || p.Main.Dead }

// Stands reports whether a part of the program stands still.
func (p *Program) Stands(part string) bool {
	return part == histories.StepRenewal && p.RenewalsPaused || part == histories.StepWork && p.WorkPaused
}

// stopped reports whether an event is one of a program's periodic ones, which
// stand still.
func (e *event) stopped() bool {
	of := e.program
	if e.task != nil && e.task.periodic {
		of = e.task.Program
	}
	return of != nil && of.RenewalsPaused
}

// takes reports whether the process does e now. What a paused process should
// do waits until it is resumed.
func (p *Process) takes(e event) bool {
	if p.Dead {
		return false
	}
	if p.Paused || e.stopped() {
		p.held = append(p.held, e)
		return false
	}
	return true
}

// stays reports whether a task that would go on stands still. Why it was
// woken, it learns when the process is resumed.
func (p *Process) stays(t *Task) bool {
	if t.Program == nil || !t.Program.WorkPaused || t.periodic {
		return false
	}
	if !t.held {
		t.held = true
		p.due = append(p.due, t)
	}
	return true
}

// do calls f as the process's own doing: now, when it is resumed, or never.
func (p *Process) do(f func()) {
	if p.takes(event{proc: p, fn: f}) {
		f()
	}
}

// Frozen reports whether the process, or a part of it, is paused.
func (p *Process) Frozen() bool {
	return p.Paused || slices.ContainsFunc(p.Programs, func(g *Program) bool { return g.RenewalsPaused || g.WorkPaused })
}

// Pause freezes the process: its queue stays, its time does not.
func (p *Process) Pause() {
	p.Paused, p.pausedAt = true, p.Scheduler.Now
	for _, g := range p.Guests {
		g.Pause()
	}
}

// Resume lets the process and all its parts go on where they stopped.
func (p *Process) Resume() {
	if p.Paused {
		for _, g := range p.Guests {
			g.Resume(p.Scheduler.Now - p.pausedAt)
		}
	}
	p.Paused = false
	for _, g := range p.Programs {
		g.RenewalsPaused, g.WorkPaused = false, false
	}
	p.Release()
}

// Release lets happen what came due and is no longer paused: now, in the order
// in which it came due. What is still paused will be held again.
func (p *Process) Release() {
	if p.Paused {
		return
	}
	held, due := p.held, p.due
	p.held, p.due = nil, nil
	for _, t := range due {
		t.held = false
		p.Scheduler.push(event{at: p.Scheduler.Now, proc: p, task: t, ticket: t.ticket})
	}
	for _, e := range held {
		e.at = p.Scheduler.Now
		p.Scheduler.push(e)
	}
}

// kill ends the process at once: its tasks do nothing more.
func (p *Process) kill() {
	if p.Dead {
		return
	}
	p.Dead, p.held, p.due = true, nil, nil
	for _, t := range p.Tasks {
		t.Dead = true
	}
	p.Scheduler.Reap = append(p.Scheduler.Reap, p.Tasks...)
	for _, g := range p.Guests {
		g.Die()
	}
}

func (p *Process) forget(t *Task) {
	if i := slices.Index(p.Tasks, t); i >= 0 {
		p.Tasks = slices.Delete(p.Tasks, i, i+1)
	}
}
