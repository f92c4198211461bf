package sim

import (
	"context"

	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
)

// Pause implements inject.Freezer.
func (b backend) Pause(ctx context.Context, ts inject.Targets) (string, error) {
	targets := b.find(ts)
	b.act(func() {
		for _, t := range targets {
			t.process().Pause()
		}
	})
	return each(targets, func(_ int, t target) string { return b.paused(ctx, t) }), nil
}

// paused looks whether a target stands still.
func (c *system) paused(ctx context.Context, t target) string {
	if p := t.process(); !p.Paused || p.Dead {
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
		frozen = append(frozen, t.process().Frozen())
	}
	b.act(func() {
		for _, t := range targets {
			t.process().Resume()
		}
	})
	return each(targets, func(i int, t target) string {
		if !frozen[i] || t.process().Frozen() {
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
	return b.eachProgram(workers, func(p *vtime.Program) string {
		switch {
		case part == histories.StepRenewal && p.RenewalsPaused:
			return "does nothing periodically"
		case part == histories.StepWork && p.WorkPaused:
			return "does nothing but periodically"
		}
		return ""
	}), nil
}

// ResumePart implements inject.PartFreezer.
func (b backend) ResumePart(_ context.Context, workers []int, part string) (string, error) {
	was := map[*vtime.Program]bool{}
	for _, n := range workers {
		p := b.workers[n].program
		was[p] = p.Stands(part)
	}
	b.act(func() { b.setParts(workers, part, false) })
	return b.eachProgram(workers, func(p *vtime.Program) string {
		if !was[p] || p.Stands(part) {
			return ""
		}
		return "goes on"
	}), nil
}

func (c *system) setParts(workers []int, part string, still bool) {
	for _, n := range workers {
		w := c.workers[n]
		if part == histories.StepRenewal {
			w.program.RenewalsPaused = still
		} else {
			w.program.WorkPaused = still
		}
		w.host.proc.Release()
	}
}

func (c *system) eachProgram(workers []int, say func(*vtime.Program) string) string {
	var targets []target
	for _, n := range workers {
		targets = append(targets, worksAt{c.workers[n].host, c.workers[n].name})
	}
	return each(targets, func(i int, _ target) string { return say(c.workers[workers[i]].program) })
}

// worksAt is one worker of a host.
type worksAt struct {
	*host
	name string
}

func (w worksAt) label() string { return w.name }
