package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
)

// harm is one kind of fault: what it does, and how one sees that it was done.
// proof only looks; it would find nothing had act not acted.
type harm struct {
	act   func(c *simulation, ctx context.Context, h *hit) error
	proof func(c *simulation, ctx context.Context, h *hit) string
}

// hit is one fault on its way: names resolved, and what there was before.
type hit struct {
	histories.Fault
	targets  []target
	from, to []target
	was      condition
	rule     *rule             // that a worker will meet
	hungUp   map[target]string // what is to be said of closed connections
}

var harms = map[string]harm{
	histories.Kill:      {(*simulation).kill, (*simulation).proveGone},
	histories.Start:     {(*simulation).start, (*simulation).proveStarted},
	histories.Pause:     {(*simulation).pause, (*simulation).provePaused},
	histories.Resume:    {(*simulation).resume, (*simulation).proveResumed},
	histories.Partition: {(*simulation).partition, (*simulation).proveCut},
	histories.Loss:      {(*simulation).lose, (*simulation).proveLoss},
	histories.Skew:      {(*simulation).skew, (*simulation).proveSkew},
	histories.Failover:  {(*simulation).switchOver, (*simulation).proveSwitch},
	histories.Evict:     {(*simulation).evict, (*simulation).proveEvicted},
	histories.Delay:     {(*simulation).delay, (*simulation).proveDelay},
	histories.Crash:     {(*simulation).crash, (*simulation).proveGone},
	histories.Heal:      {(*simulation).heal, (*simulation).proveHealed},
}

// Inject does a fault and looks whether it bit.
func (c *simulation) Inject(ctx context.Context, f histories.Fault) (cluster.Effect, error) {
	c.s.mustRun()
	kind, known := harms[f.F]
	if !known {
		return cluster.Effect{}, fmt.Errorf("%w: no fault %q", cluster.ErrUnavailable, f.F)
	}
	h, err := c.aim(f)
	if err != nil {
		return cluster.Effect{}, err
	}
	h.was = c.condition(h)
	if !c.config.Inert {
		err = kind.act(c, ctx, h)
	}
	effect := cluster.Effect{Targets: h.labels()}
	if err == nil {
		effect.Proof = kind.proof(c, ctx, h)
	}
	if f.F == histories.Pause && h.rule != nil {
		effect.At = h.rule.at
	}
	if f.Step != "" && (f.F == histories.Crash || f.F == histories.Loss) {
		effect.Targets = nil // what happened is an event of its own, at its own time
	}
	return effect, err
}

// aim resolves the names of a fault.
func (c *simulation) aim(f histories.Fault) (*hit, error) {
	h := &hit{Fault: f}
	var err error
	if h.targets, err = c.resolve(f.Targets); err != nil {
		return nil, err
	}
	if h.from, err = c.resolve(f.From); err != nil {
		return nil, err
	}
	if h.to, err = c.resolve(f.To); err != nil {
		return nil, err
	}
	if h.from == nil && f.Step == "" && (f.F == histories.Partition || f.F == histories.Loss) {
		h.from = h.targets
	}
	if h.from != nil && h.to == nil {
		h.to = c.everybodyBut(h.from)
	}
	if one := oneOf[f.F]; one && len(h.targets) > 1 && slices.Equal(f.Targets, []string{"master"}) {
		h.targets = h.targets[c.chance.IntN(len(h.targets)):][:1]
		c.site.oldMaster, _ = h.targets[0].(*node)
	}
	return h, nil
}

// oneOf are the faults that strike one master where there are several.
var oneOf = map[string]bool{histories.Kill: true, histories.Pause: true, histories.Evict: true, histories.Failover: true}

func (c *simulation) everybodyBut(some []target) []target {
	var out []target
	for _, s := range c.site.servers {
		out = append(out, s)
	}
	for _, h := range c.homes {
		out = append(out, h)
	}
	return slices.DeleteFunc(out, func(t target) bool { return slices.Contains(some, t) })
}

// labels are the names of whom the fault strikes.
func (h *hit) labels() (names []string) {
	lists := [][]target{h.targets, h.from, h.to}
	if h.F == histories.Kill {
		lists = lists[:1] // whose connections are killed lives
	}
	for _, list := range lists {
		for _, t := range list {
			if name := t.label(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// pairs calls f for each direction of each link that the fault concerns.
func (h *hit) pairs(f func(from, to *host)) {
	for _, a := range h.from {
		for _, b := range h.to {
			if a.machine() == b.machine() {
				continue
			}
			f(a.machine(), b.machine())
			if !h.OneWay {
				f(b.machine(), a.machine())
			}
		}
	}
}

// Heal undoes every fault. Killed workers stay dead.
func (c *simulation) Heal(ctx context.Context) error {
	c.s.mustRun()
	if err := c.heal(ctx, &hit{}); err != nil {
		return err
	}
	for _, s := range c.site.servers {
		s.process().resume()
		if !s.alive() {
			s.boot(false)
		}
	}
	for _, h := range c.homes {
		h.proc.resume()
	}
	return nil
}

// Healthy waits until every server answers and replication is in order.
func (c *simulation) Healthy(ctx context.Context, limit time.Duration) error {
	until := c.s.now + limit
	for {
		wrong := c.wrong(ctx)
		if wrong == nil || c.s.now >= until {
			return wrong
		}
		if err := c.s.sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%w: %w", err, wrong)
		}
	}
}
