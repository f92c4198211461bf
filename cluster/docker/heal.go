//go:build unix

package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/internal/wait"
)

// HealAll implements inject.Healer. The look is at the tables and the clocks of
// the nodes that were hurt, and at what worker processes say of themselves.
func (b backend) HealAll(ctx context.Context) (string, error) {
	hurt := slices.DeleteFunc(b.nodes(), func(n *node) bool { return !n.hurtSoftly() })
	skewed := slices.DeleteFunc(slices.Clone(hurt), func(n *node) bool { return !n.skewed() })
	hosts := slices.DeleteFunc(slices.Clone(b.hosts), func(h *host) bool { return !h.hurt() })
	err := errors.Join(
		wait.Each(b.nodes(), func(n *node) error { return n.healSoft(ctx) }),
		wait.Each(b.hosts, func(h *host) error { return b.healHost(ctx, h) }))
	if err != nil {
		return "", err
	}
	return join(ofNodes(hurt, func(n *node) string { return n.healed(ctx, slices.Contains(skewed, n)) }),
		ofHosts(hosts, func(h *host) string { return b.healedHost(ctx, h) })), nil
}

// hurtSoftly reports whether there is something that healSoft undoes now: in a
// node that is down or frozen it finds nothing.
func (n *node) hurtSoftly() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.harm.host && !n.harm.paused && (len(n.rules) > 0 || n.harm.skew || n.harm.memory)
}

func (n *node) skewed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.harm.skew
}

// healed looks whether nothing is wrong with a node any more. Its clock is read
// if it was skewed: on a busy machine a reading is late by more than a trifle.
func (n *node) healed(ctx context.Context, skewed bool) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	rules, err := n.sh(ctx, "iptables -S LOCKCHECK")
	if err != nil || strings.Contains(rules, "-A LOCKCHECK") {
		return ""
	}
	if skewed && n.kind == redisKind && !n.harm.process {
		if off, err := n.clockOff(ctx); err != nil || off.Abs() > skewTolerance {
			return ""
		}
	}
	return n.name + " drops nothing and has no skew"
}

// hurt reports whether there is something that healHost undoes.
func (h *host) hurt() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &h.want
	return len(w.Links)+len(w.Frozen)+len(w.Still)+len(w.Ambushes) > 0 || w.Clock != process.ClockShift{}
}

// healedHost asks a worker process whether it is well.
func (c *system) healedHost(ctx context.Context, h *host) string {
	n, err := c.change(ctx, h, func(*process.Control) {})
	if err != nil || n.Ack == 0 || n.Wall.Abs() > skewTolerance || len(n.Unreachable) > 0 {
		return ""
	}
	return h.name + " has all its links, its clock is right"
}

// Heal implements cluster.Cluster. It tries everything, whatever fails, and
// says what could not be healed.
func (c *system) Heal(ctx context.Context) error {
	c.faultMu.Lock()
	defer c.faultMu.Unlock()
	return errors.Join(
		wait.Each(c.nodes(), func(n *node) error {
			if err := n.heal(ctx); err != nil {
				return fmt.Errorf("not healed: %w", err)
			}
			return nil
		}),
		wait.Each(c.hosts, func(h *host) error {
			if h.state() == "T" {
				if err := h.signal(syscall.SIGCONT); err != nil {
					return err
				}
			}
			return c.healHost(ctx, h)
		}))
}

// healHost tells a worker process that nothing is wrong any more.
func (c *system) healHost(ctx context.Context, h *host) error {
	_, err := c.change(ctx, h, func(want *process.Control) {
		*want = process.Control{}
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
