package sim

import (
	"context"

	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/histories"
)

// Pause implements inject.Freezer.
func (b backend) Pause(ctx context.Context, ts inject.Targets) (string, error) {
	targets := b.find(ts)
	b.act(func() {
		for _, t := range targets {
			t.process().pause()
		}
	})
	return each(targets, func(_ int, t target) string { return b.paused(ctx, t) }), nil
}

// paused looks whether a target stands still.
func (c *simulation) paused(ctx context.Context, t target) string {
	if p := t.process(); !p.paused || p.dead {
		return ""
	}
	if _, isServer := t.(server); !isServer {
		return "is stopped"
	}
	if err := c.ping(ctx, t.machine()); err != nil {
		return "does not answer PING (" + why(err) + ")"
	}
	return ""
}

// Resume implements inject.Freezer.
func (b backend) Resume(ctx context.Context, ts inject.Targets) (string, error) {
	targets := b.find(ts)
	var frozen []bool
	for _, t := range targets {
		frozen = append(frozen, t.process().frozen())
	}
	b.act(func() {
		for _, t := range targets {
			t.process().resume()
		}
	})
	return each(targets, func(i int, t target) string {
		if !frozen[i] || t.process().frozen() {
			return ""
		}
		if _, isServer := t.(server); isServer && b.ping(ctx, t.machine()) != nil {
			return ""
		}
		return "goes on"
	}), nil
}

// PausePart implements inject.PartFreezer.
func (b backend) PausePart(_ context.Context, workers []int, part string) (string, error) {
	b.act(func() { b.setParts(workers, part, true) })
	return b.eachProgram(workers, func(p *program) string {
		switch {
		case part == histories.StepRenewal && p.renewalsPaused:
			return "does nothing periodically"
		case part == histories.StepWork && p.workPaused:
			return "does nothing but periodically"
		}
		return ""
	}), nil
}

// ResumePart implements inject.PartFreezer.
func (b backend) ResumePart(_ context.Context, workers []int, part string) (string, error) {
	was := map[*program]bool{}
	for _, n := range workers {
		p := b.workers[n].program
		was[p] = p.stands(part)
	}
	b.act(func() { b.setParts(workers, part, false) })
	return b.eachProgram(workers, func(p *program) string {
		if !was[p] || p.stands(part) {
			return ""
		}
		return "goes on"
	}), nil
}

func (c *simulation) setParts(workers []int, part string, still bool) {
	for _, n := range workers {
		w := c.workers[n]
		if part == histories.StepRenewal {
			w.program.renewalsPaused = still
		} else {
			w.program.workPaused = still
		}
		w.home.proc.release()
	}
}

// stands reports whether a part of the program stands still.
func (p *program) stands(part string) bool {
	return part == histories.StepRenewal && p.renewalsPaused || part == histories.StepWork && p.workPaused
}

func (c *simulation) eachProgram(workers []int, say func(*program) string) string {
	var targets []target
	for _, n := range workers {
		targets = append(targets, worksAt{c.workers[n].home, c.workers[n].name})
	}
	return each(targets, func(i int, _ target) string { return say(c.workers[workers[i]].program) })
}

// worksAt is one worker of a home.
type worksAt struct {
	*home
	name string
}

func (w worksAt) label() string { return w.name }
