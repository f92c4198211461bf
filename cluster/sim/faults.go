package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// What each fault does. None of these takes time, but for those that wait
// until a worker reaches a step.

func (c *simulation) kill(_ context.Context, h *hit) error {
	if h.Mode == "connection" {
		return h.hangUp()
	}
	for _, t := range h.targets {
		switch s, isServer := t.(server); {
		case !isServer:
			c.endHome(t)
		case s.alive():
			s.kill(h.Mode)
		}
	}
	return nil
}

// hangUp lets servers close the connections of their clients, or with To those
// of some.
func (h *hit) hangUp() error {
	h.hungUp = map[target]string{}
	of := func(client *host) bool {
		return h.to == nil || slices.ContainsFunc(h.to, func(t target) bool { return t.machine() == client })
	}
	for _, t := range h.targets {
		s, ok := t.(interface{ dropClients(func(*host) bool) int })
		if !ok {
			return fmt.Errorf("%w: %s has no connections to kill", cluster.ErrUnavailable, t.label())
		}
		if t.process().dead {
			continue
		}
		if n := s.dropClients(of); n > 0 {
			h.hungUp[t] = fmt.Sprintf("closed %d connections", n)
		}
	}
	return nil
}

// endHome kills the process of some workers. Its machine lives on.
func (c *simulation) endHome(t target) {
	if p := t.process(); !p.dead {
		c.net.exit(p, true)
	}
}

func (c *simulation) start(_ context.Context, h *hit) error {
	for _, t := range h.targets {
		switch t := t.(type) {
		case server:
			if !t.alive() {
				t.boot(h.Mode == "empty")
			}
		case *home:
			if t.proc.dead {
				c.launch(t)
			}
		}
	}
	return nil
}

// pause freezes processes at once; with a step, a worker that reaches it;
// with the step "renewal", only what workers do periodically; with "work", only
// what they do besides.
func (c *simulation) pause(ctx context.Context, h *hit) error {
	switch h.Step {
	case "":
		for _, t := range h.targets {
			t.process().pause()
		}
		return nil
	case histories.StepRenewal:
		for _, t := range h.targets {
			t.process().renewalsPaused = true
		}
		return nil
	case histories.StepWork:
		for _, t := range h.targets {
			t.process().workPaused = true
		}
		return nil
	}
	return c.ambush(ctx, h)
}

func (c *simulation) resume(_ context.Context, h *hit) error {
	for _, t := range h.targets {
		t.process().resume()
	}
	return nil
}

func (c *simulation) partition(_ context.Context, h *hit) error {
	h.pairs(c.net.cut)
	return nil
}

// lose drops packets; with a step the reply to the next operation of that kind.
func (c *simulation) lose(ctx context.Context, h *hit) error {
	if h.Step != "" {
		return c.ambush(ctx, h)
	}
	rate := h.Rate
	if rate <= 0 || rate > 1 {
		rate = 1
	}
	h.pairs(func(from, to *host) { c.net.link(from, to).loss = rate })
	return nil
}

func (c *simulation) skew(_ context.Context, h *hit) error {
	for _, t := range h.targets {
		t.machine().wall.skew(c.s.now, h.Offset, h.Drift)
	}
	return nil
}

// switchOver asks a Sentinel, or a replica of a Redis Cluster, for a failover.
func (c *simulation) switchOver(ctx context.Context, h *hit) error {
	for _, x := range c.site.sentinels {
		_, err := c.ask(ctx, x.host, "SENTINEL", "FAILOVER", "lockcheck")
		if reply := env.ServerError(""); err == nil || errors.As(err, &reply) {
			return err
		}
	}
	for _, n := range c.site.redis {
		if n.member == nil || n.master == nil || !slices.Contains(h.targets, target(n.master)) {
			continue
		}
		_, err := c.ask(ctx, n.host, "CLUSTER", "FAILOVER")
		return err
	}
	return fmt.Errorf("%w: nobody here does a failover", cluster.ErrUnavailable)
}

// evict throws a share of the keys away: half, if the fault does not say.
func (c *simulation) evict(_ context.Context, h *hit) error {
	share := h.Rate
	if share <= 0 {
		share = 0.5
	}
	for _, t := range h.targets {
		n, ok := t.(*node)
		if !ok || !n.alive() {
			return fmt.Errorf("%w: %s has no keys", cluster.ErrUnavailable, t.label())
		}
		n.evict(int(share*float64(n.keys.Len()) + 0.999))
	}
	return nil
}

// delay makes a step of workers slower until it is healed.
func (c *simulation) delay(_ context.Context, h *hit) error {
	if h.Step == "" {
		return cluster.ErrDelayStep
	}
	h.rule = c.addRule(h)
	return nil
}

// crash kills a worker at a step, or at once.
func (c *simulation) crash(ctx context.Context, h *hit) error {
	if h.Step != "" {
		return c.ambush(ctx, h)
	}
	return c.kill(ctx, h)
}

// heal opens links, sets clocks right, lets what is periodic go on and forgets
// about steps. With From only the links between From and To. What was killed
// or paused stays so.
func (c *simulation) heal(_ context.Context, h *hit) error {
	if h.from != nil {
		h.pairs(func(from, to *host) { c.net.mend(c.net.link(from, to)) })
		return nil
	}
	for _, row := range c.net.links {
		for _, l := range row {
			c.net.mend(l)
		}
	}
	for _, host := range c.net.hosts {
		host.wall.right()
		if p := host.proc; p != nil && (p.renewalsPaused || p.workPaused) && !p.paused {
			p.resume()
		}
	}
	c.rules = nil
	return nil
}
