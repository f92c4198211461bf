package sim

import (
	"slices"
	"time"
)

// process is one operating-system process: a server, or the host of some
// workers. It can be paused and killed; a restarted server is a new process.
type process struct {
	s        *scheduler
	host     *host
	name     string
	tasks    []*task
	programs []*program // of its workers
	conns    []*conn    // open at this end, oldest first
	serve    service    // nil: it only calls others

	dead   bool
	paused bool
	held   []event // what came due meanwhile
	due    []*task // those of its tasks that would go on, were it not that their program's work is paused

	own      []*own // users' programs, that live and die with it
	pausedAt time.Duration
}

// program is what one worker runs in a process, from its start to its end: a task
// of its own, and what it runs periodically. The two can be paused apart.
type program struct {
	main  *task
	doing func() string // the operation that it is at, for messages
	// loses reports whether a reply that a task has got gets lost on its way.
	loses   func(t *task, args []string, reply any) bool
	ticking int // functions of Clock.Every that may run again

	renewalsPaused bool // its periodic tasks stand still
	workPaused     bool // its other tasks stand still
}

// ended reports whether it does nothing any more.
func (p *program) ended() bool { return p.main == nil || p.main.done || p.main.dead }

// stopped reports whether an event is one of a program's periodic ones, which
// stand still.
func (e *event) stopped() bool {
	of := e.program
	if e.task != nil && e.task.periodic {
		of = e.task.program
	}
	return of != nil && of.renewalsPaused
}

// takes reports whether the process does e now. What a paused process should
// do waits until it is resumed.
func (p *process) takes(e event) bool {
	if p.dead {
		return false
	}
	if p.paused || e.stopped() {
		p.held = append(p.held, e)
		return false
	}
	return true
}

// stays reports whether a task that would go on stands still. Why it was
// woken, it learns when the process is resumed.
func (p *process) stays(t *task) bool {
	if t.program == nil || !t.program.workPaused || t.periodic {
		return false
	}
	if !t.held {
		t.held = true
		p.due = append(p.due, t)
	}
	return true
}

// do calls f as the process's own doing: now, when it is resumed, or never.
func (p *process) do(f func()) {
	if p.takes(event{proc: p, fn: f}) {
		f()
	}
}

// frozen reports whether the process, or a part of it, is paused.
func (p *process) frozen() bool {
	return p.paused || slices.ContainsFunc(p.programs, func(g *program) bool { return g.renewalsPaused || g.workPaused })
}

// pause freezes the process: its queue stays, its time does not.
func (p *process) pause() { p.paused, p.pausedAt = true, p.s.now }

// resume lets the process and all its parts go on where they stopped.
func (p *process) resume() {
	if p.paused {
		for _, o := range p.own {
			o.session.Postpone(p.s.now - p.pausedAt)
		}
	}
	p.paused = false
	for _, g := range p.programs {
		g.renewalsPaused, g.workPaused = false, false
	}
	p.release()
}

// release lets happen what came due and is no longer paused: now, in the order
// in which it came due. What is still paused will be held again.
func (p *process) release() {
	if p.paused {
		return
	}
	held, due := p.held, p.due
	p.held, p.due = nil, nil
	for _, t := range due {
		t.held = false
		p.s.push(event{at: p.s.now, proc: p, task: t, ticket: t.ticket})
	}
	for _, e := range held {
		e.at = p.s.now
		p.s.push(e)
	}
}

// kill ends the process at once: its tasks do nothing more.
func (p *process) kill() {
	if p.dead {
		return
	}
	p.dead, p.held, p.due = true, nil, nil
	for _, t := range p.tasks {
		t.dead = true
	}
	p.s.reap = append(p.s.reap, p.tasks...)
	for _, o := range p.own {
		o.kill()
	}
}

func (p *process) forget(t *task) {
	if i := slices.Index(p.tasks, t); i >= 0 {
		p.tasks = slices.Delete(p.tasks, i, i+1)
	}
}
