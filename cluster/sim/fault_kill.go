package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// Killing and starting, and the killing of connections.

// Kill implements inject.Killer.
func (b backend) Kill(ctx context.Context, ts inject.Targets, mode string) (string, error) {
	targets := b.find(ts)
	was := dead(targets)
	b.act(func() {
		for _, t := range targets {
			switch s, isServer := t.(server); {
			case !isServer:
				b.endHome(t)
			case s.alive():
				s.kill(mode)
			}
		}
	})
	return each(targets, func(i int, t target) string {
		if was[i] {
			return ""
		}
		return b.gone(ctx, t)
	}), nil
}

// dead tells which targets are.
func dead(targets []target) (dead []bool) {
	for _, t := range targets {
		dead = append(dead, t.process().Dead)
	}
	return dead
}

// endHome kills the process of some workers. Its machine lives on.
func (c *system) endHome(t target) {
	if p := t.process(); !p.Dead {
		c.net.Exit(p, true)
	}
}

// gone looks whether a target has ended.
func (c *system) gone(ctx context.Context, t target) string {
	if _, isServer := t.(server); isServer {
		if err := c.ping(ctx, t.machine()); err != nil {
			return "does not answer PING (" + why(err) + ")"
		}
	} else if t.process().Dead {
		return "has no process any more"
	}
	return ""
}

// Start implements inject.Killer.
func (b backend) Start(ctx context.Context, ts inject.Targets, empty bool) (string, error) {
	targets := b.find(ts)
	was := dead(targets)
	b.act(func() {
		for _, t := range targets {
			switch t := t.(type) {
			case server:
				if !t.alive() {
					t.boot(empty)
				}
			case *host:
				if t.proc.Dead {
					b.launch(t)
				}
			}
		}
	})
	return each(targets, func(i int, t target) string {
		if !was[i] || t.process().Dead {
			return ""
		}
		if _, isServer := t.(server); isServer && b.ping(ctx, t.machine()) != nil {
			return ""
		}
		return "runs again"
	}), nil
}

// HangUp implements inject.Connections.
func (b backend) HangUp(_ context.Context, servers, of inject.Targets) (string, error) {
	targets, clients := b.find(servers), b.find(of)
	for _, t := range targets {
		if _, ok := t.(clientDropper); !ok {
			return "", fmt.Errorf("%w: %s has no connections to kill", cluster.ErrUnavailable, t.label())
		}
	}
	var closed []string // by those that had one
	b.act(func() {
		for _, t := range targets {
			if t.process().Dead {
				continue
			}
			n := t.(clientDropper).dropClients(func(client *vtime.Machine) bool {
				return of == nil || slices.ContainsFunc(clients, func(t target) bool { return t.machine() == client })
			})
			if n > 0 {
				closed = append(closed, fmt.Sprintf("%s closed %d connections", t.label(), n))
			}
		}
	})
	return strings.Join(closed, "; "), nil
}

// clientDropper is a server that can close the connections of some clients, and
// counts them.
type clientDropper interface {
	dropClients(of func(*vtime.Machine) bool) int
}
