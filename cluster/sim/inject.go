package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
)

// backend is the system as package inject sees it: what can be asked and what
// can be done to it. Its methods are in the files fault_*.go and roles.go, each
// with how one sees that it was done. The look only looks: it would find nothing
// had nothing been done.
type backend struct{ *system }

var _ interface {
	inject.View
	inject.Killer
	inject.Freezer
	inject.PartFreezer
	inject.Links
	inject.Connections
	inject.Clocks
	inject.Memory
	inject.Masters
	inject.Ambusher
	inject.Healer
} = backend{}

// Inject does a fault and looks whether it took effect.
func (c *system) Inject(ctx context.Context, f histories.Fault) (cluster.Effect, error) {
	c.s.MustRun()
	return c.injector.Inject(ctx, f)
}

// act does harm, unless the cluster was told to be inert.
func (c *system) act(harm func()) {
	if !c.config.Inert {
		harm()
	}
}

// target is a machine with a server, a Sentinel, or workers.
type target interface {
	machine() *vtime.Machine
	process() *vtime.Process
	label() string // of workers, the name of their machine
}

// server is a target that can be killed and started again.
type server interface {
	target
	alive() bool
	kill(mode string)
	boot(empty bool)
}

var (
	_ server = (*node)(nil)
	_ server = (*sentinel)(nil)
	_ server = (*broker)(nil)
	_ server = (*sqlServer)(nil)
	_ target = (*host)(nil)
)

func (h *host) machine() *vtime.Machine { return h.box }
func (h *host) process() *vtime.Process { return h.proc }
func (h *host) label() string           { return h.box.Name }

// find finds targets by their names.
func (c *system) find(ts inject.Targets) (found []target) {
	for _, t := range ts {
		found = append(found, c.one(t))
	}
	return found
}

func (c *system) one(t inject.Target) target {
	if t.Workers != nil {
		return c.workers[t.Workers[0]].host
	}
	i := slices.IndexFunc(c.site.servers, func(s server) bool { return s.label() == t.Name })
	return c.site.servers[i]
}

// each joins what is to be said of targets; if of one there is nothing, so is the
// whole: a fault that bit half of its targets is none.
func each(targets []target, say func(i int, t target) string) string {
	var all []string
	for i, t := range targets {
		s := say(i, t)
		if s == "" {
			return ""
		}
		all = append(all, t.label()+" "+s)
	}
	return strings.Join(all, "; ")
}

// Heal undoes every fault. Killed workers stay dead.
func (c *system) Heal(context.Context) error {
	c.s.MustRun()
	c.healAll()
	for _, s := range c.site.servers {
		s.process().Resume()
		if !s.alive() {
			s.boot(false)
		}
	}
	for _, h := range c.hosts {
		h.proc.Resume()
	}
	return nil
}

// Healthy waits until every server answers and replication is in order.
func (c *system) Healthy(ctx context.Context, limit time.Duration) error {
	until := c.s.Now + limit
	for {
		wrong := c.wrong(ctx)
		if wrong == nil || c.s.Now >= until {
			return wrong
		}
		if err := c.s.Sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%w: %w", err, wrong)
		}
	}
}
