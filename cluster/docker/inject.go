package docker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
)

// injectLimit bounds one fault, the look at whether it bit included.
const injectLimit = 2 * time.Minute

// Inject implements cluster.Cluster. What a fault did is looked at where it
// must show, never concluded from having done it; without such a sign the
// effect has no proof.
func (c *cell) Inject(ctx context.Context, f histories.Fault) (cluster.Effect, error) {
	c.faultMu.Lock()
	defer c.faultMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, injectLimit)
	defer cancel()
	switch f.F {
	case histories.Heal:
		return c.healFault(ctx)
	case histories.Partition:
		return c.hurtLinks(ctx, f)
	case histories.Loss:
		if f.Step == "" {
			return c.hurtLinks(ctx, f)
		}
	}
	t, err := c.resolve(ctx, f.Targets)
	if err != nil {
		return cluster.Effect{}, err
	}
	if len(t.nodes)+len(t.hosts) == 0 {
		return cluster.Effect{}, fmt.Errorf("%s without a target", f.F)
	}
	c.markHurt(t.nodes)
	proof, err := c.hurt(ctx, f, &t)
	effect := cluster.Effect{Targets: t.names(), Proof: proof}
	if f.F == histories.Pause {
		effect.At = t.at
	}
	return effect, err
}

// hurt does one fault to its targets. What waits for a step narrows them down
// to whom it struck.
func (c *cell) hurt(ctx context.Context, f histories.Fault, t *targets) (proof string, err error) {
	switch f.F {
	case histories.Kill:
		return c.kill(ctx, f, *t)
	case histories.Start:
		return c.startAgain(ctx, f, *t)
	case histories.Pause:
		switch f.Step {
		case histories.StepRenewal, histories.StepWork:
			return c.freezeTasks(ctx, *t, f.Step, true)
		case "":
			return c.pause(ctx, *t)
		}
		return c.ambushWorkers(ctx, f, t)
	case histories.Resume:
		if f.Step == histories.StepRenewal || f.Step == histories.StepWork {
			return c.freezeTasks(ctx, *t, f.Step, false)
		}
		return c.resume(ctx, *t)
	case histories.Loss:
		return c.ambushWorkers(ctx, f, t)
	case histories.Delay:
		if f.Step == "" {
			return "", cluster.ErrDelayStep
		}
		return c.ambushWorkers(ctx, f, t)
	case histories.Crash:
		if f.Step == "" {
			return c.kill(ctx, f, *t)
		}
		return c.ambushWorkers(ctx, f, t)
	case histories.Skew:
		return c.skew(ctx, f, *t)
	case histories.Failover:
		return c.failover(ctx, *t)
	case histories.Evict:
		return c.evict(ctx, *t)
	}
	return "", fmt.Errorf("%w: no such fault: %q", cluster.ErrUnavailable, f.F)
}

// act does something harmful, unless the Provider was told to be harmless.
func (c *cell) act(f func() error) error {
	if c.p.Harmless {
		return nil
	}
	return f()
}

// markHurt remembers which groups have to be put in order before the next
// cell.
func (c *cell) markHurt(nodes []*node) {
	for _, g := range c.groups {
		for _, n := range nodes {
			if slices.Contains(g.nodes, n) {
				g.hurt = true
			}
		}
	}
}
