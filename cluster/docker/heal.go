package docker

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/lockcheck/lockcheck/cluster"
)

// healFault is the fault "heal": cuts, losses, skews and delays end. What was
// killed or frozen stays so.
func (c *cell) healFault(ctx context.Context) (cluster.Effect, error) {
	err := errors.Join(
		each(c.nodes(), func(n *node) error { return n.healSoft(ctx) }),
		each(c.hosts, func(h *host) error { return c.healHost(ctx, h) }))
	if err != nil {
		return cluster.Effect{}, err
	}
	return cluster.Effect{Proof: "no rule, no skew, no cut link is left"}, nil
}

// Heal implements cluster.Cluster. It tries everything, whatever fails, and
// says what could not be healed.
func (c *cell) Heal(ctx context.Context) error {
	c.faultMu.Lock()
	defer c.faultMu.Unlock()
	return errors.Join(
		each(c.nodes(), func(n *node) error {
			if err := n.heal(ctx); err != nil {
				return fmt.Errorf("not healed: %w", err)
			}
			return nil
		}),
		each(c.hosts, func(h *host) error {
			if h.state() == "T" {
				if err := h.signal(syscall.SIGCONT); err != nil {
					return err
				}
			}
			return c.healHost(ctx, h)
		}))
}

// healHost tells a worker process that nothing is wrong any more.
func (c *cell) healHost(ctx context.Context, h *host) error {
	_, err := c.change(ctx, h, func(want *control) {
		*want = control{}
	})
	return err
}

// heal undoes whatever was done to a node: first it must run.
func (n *node) heal(ctx context.Context) error {
	if err := n.unpause(ctx); err != nil {
		return err
	}
	if n.dead() {
		if err := n.start(ctx, false); err != nil {
			return err
		}
	}
	return n.healSoft(ctx)
}

func (n *node) dead() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.harm.host || n.harm.process
}

// healSoft undoes cuts, skews and memory pressure.
func (n *node) healSoft(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.harm.host || n.harm.paused {
		// Nothing can be executed in it. Of a dead host the rules are gone
		// with its network; they are not to come back.
		if n.harm.host {
			n.rules = nil
		}
		return nil
	}
	return errors.Join(n.healRules(ctx), n.healClock(ctx), n.healMemory(ctx))
}
