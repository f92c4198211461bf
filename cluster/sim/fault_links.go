package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// path is one direction between two machines.
type path [2]*vtime.Machine

func (c *system) paths(links []inject.Link) (paths []path) {
	for _, l := range links {
		paths = append(paths, path{c.one(l.From).machine(), c.one(l.To).machine()})
	}
	return paths
}

// Cut implements inject.Links.
func (b backend) Cut(ctx context.Context, links []inject.Link) (string, error) {
	paths := b.paths(links)
	b.act(func() {
		for _, p := range paths {
			b.net.Cut(p[0], p[1])
		}
	})
	if sent, arrived := b.reach(ctx, paths, 1); sent > 0 && arrived == 0 {
		return fmt.Sprintf("none of %d packets over %d links arrived", sent, sent), nil
	}
	return "", nil
}

// Lose implements inject.Links.
func (b backend) Lose(ctx context.Context, links []inject.Link, share float64) (string, error) {
	paths := b.paths(links)
	b.act(func() {
		for _, p := range paths {
			b.net.Link(p[0], p[1]).Loss = share
		}
	})
	if sent, arrived := b.reach(ctx, paths, 20); arrived < sent {
		return fmt.Sprintf("%d of %d packets were dropped", sent-arrived, sent), nil
	}
	return "", nil
}

// Mend implements inject.Links.
func (b backend) Mend(ctx context.Context, links []inject.Link) (string, error) {
	paths := b.paths(links)
	hurt := len(b.hurtPaths()) > 0
	b.act(func() {
		for _, p := range paths {
			b.net.Mend(b.net.Link(p[0], p[1]))
		}
	})
	if !hurt {
		return "", nil
	}
	return b.carry(ctx, paths), nil
}

// HealAll implements inject.Healer.
func (b backend) HealAll(ctx context.Context) (string, error) {
	hurt, skewed := b.hurtPaths(), b.skewedClocks()
	b.act(b.healAll)
	var healed []string
	if len(hurt) > 0 {
		if s := b.carry(ctx, hurt); s != "" {
			healed = append(healed, s)
		}
	}
	if skewed > 0 && b.skewedClocks() == 0 {
		healed = append(healed, fmt.Sprintf("%d clocks are right again", skewed))
	}
	return strings.Join(healed, "; "), nil
}

// healAll opens links, sets clocks right, lets what is periodic go on and forgets
// about steps. What was killed or paused stays so.
func (c *system) healAll() {
	for _, p := range c.hurtPaths() {
		c.net.Mend(c.net.Link(p[0], p[1]))
	}
	for _, host := range c.net.Hosts {
		host.Wall.Right()
		if p := host.Process; p != nil && p.Frozen() && !p.Paused {
			p.Resume()
		}
	}
	c.ambushes = nil
}

// hurtPaths are those that are cut or lose packets.
func (c *system) hurtPaths() (hurt []path) {
	c.net.Hurt(func(from, to *vtime.Machine) { hurt = append(hurt, path{from, to}) })
	return hurt
}

// carry looks whether a packet gets through on each of some paths.
func (c *system) carry(ctx context.Context, paths []path) string {
	if sent, arrived := c.reach(ctx, paths, 1); arrived == sent {
		return fmt.Sprintf("%d links carry packets again", sent)
	}
	return ""
}

// reach sends packets over each of some paths and counts those that arrive.
func (c *system) reach(ctx context.Context, paths []path, each int) (sent, arrived int) {
	for _, p := range paths {
		for range each {
			sent++
			c.net.Probe(p[0], p[1], func() { arrived++ })
		}
	}
	if c.s.Sleep(ctx, lookTime) != nil {
		return sent, sent
	}
	return sent, arrived
}
