//go:build unix

package docker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/internal/wait"
)

// Skewing wall clocks: of Redis servers by the shim in their image
// (image-redis/clock.c), of workers by their Env. Jumps add up.

// Skew implements inject.Clocks.
func (b backend) Skew(ctx context.Context, ts inject.Targets, jump time.Duration, drift float64) (string, error) {
	t := b.find(ts)
	if len(t.hosts) > 0 && b.o.Own != nil {
		return "", fmt.Errorf("%w: the clock of a program of your own is this machine's", cluster.ErrUnavailable)
	}
	for _, n := range t.nodes {
		if n.kind == sqlKind || n.kind == queueKind {
			return "", fmt.Errorf("%w: the clock of %s cannot be set", cluster.ErrUnavailable, n.name)
		}
	}
	nodeProofs := make([]string, len(t.nodes))
	hostProofs := make([]string, len(t.hosts))
	var jobs []func() error
	for i, n := range t.nodes {
		jobs = append(jobs, func() (err error) { nodeProofs[i], err = b.skewNode(ctx, n, jump, drift); return err })
	}
	for i, h := range t.hosts {
		jobs = append(jobs, func() (err error) { hostProofs[i], err = b.skewHost(ctx, h, jump, drift); return err })
	}
	err := wait.Each(jobs, func(job func() error) error { return job() })
	return join(nodeProofs, hostProofs), err
}

// skewTolerance is how far off a clock may look when it is not.
const skewTolerance = 20 * time.Millisecond

func (c *system) skewNode(ctx context.Context, n *node, jump time.Duration, drift float64) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, err := n.clockOff(ctx)
	if err != nil {
		return "", err
	}
	err = c.act(func() error {
		n.harm.skew = true
		n.harm.offset += jump
		if drift != 0 {
			n.harm.drift = drift
		}
		return n.setClock(ctx, n.harm.offset, n.harm.drift)
	})
	if err != nil {
		return "", err
	}
	if jump == 0 { // a drift takes time to show
		if err := wait.Sleep(ctx, driftShows(drift)); err != nil {
			return "", err
		}
	}
	after, err := n.clockOff(ctx)
	if moved := after - before; err != nil || moved.Abs() < skewTolerance {
		return "", err
	}
	return fmt.Sprintf("TIME of %s is %s off", n.name, after.Round(time.Millisecond)), nil
}

// driftShows is how long a drift takes to move a clock by twice the tolerance.
func driftShows(drift float64) time.Duration {
	if drift == 0 {
		return 0
	}
	return min(time.Duration(float64(2*skewTolerance)/math.Abs(drift)), 2*time.Second)
}

// clockOff is how far the server's wall clock is from ours, by TIME.
func (n *node) clockOff(ctx context.Context) (time.Duration, error) {
	if n.kind == sentinelKind {
		return 0, nil // it has no TIME; the shim is the same
	}
	before := time.Now()
	theirs, err := n.redis.Time(ctx).Result()
	if err != nil {
		return 0, fmt.Errorf("%s: TIME: %w", n.name, err)
	}
	return theirs.Sub(before.Add(time.Since(before) / 2)).Round(time.Microsecond), nil
}

// setClock writes the shim's file. Rate is in ns a second.
func (n *node) setClock(ctx context.Context, offset time.Duration, drift float64) error {
	_, err := n.sh(ctx, fmt.Sprintf("/lockcheck/setclock %d %d", offset.Nanoseconds(), int64(drift*1e9)))
	return err
}

// healClock sets the clock right. n.mu is held.
func (n *node) healClock(ctx context.Context) error {
	if !n.harm.skew {
		return nil
	}
	if err := n.setClock(ctx, 0, 0); err != nil {
		return err
	}
	n.harm.skew, n.harm.offset, n.harm.drift = false, 0, 0
	return nil
}

func (c *system) skewHost(ctx context.Context, h *host, jump time.Duration, drift float64) (string, error) {
	n, err := c.change(ctx, h, func(want *process.Control) {
		if c.p.Inert {
			return
		}
		now := c.Now()
		rate := want.Clock.Drift
		if drift != 0 {
			rate = drift
		}
		want.Clock = process.ClockShift{Offset: want.Clock.At(now) + jump, Drift: rate, Since: now}
	})
	switch {
	case err != nil:
		return "", err
	case jump == 0 && drift != 0 && !c.p.Inert:
		// Ask again when the drift shows.
		if err := wait.Sleep(ctx, driftShows(drift)); err != nil {
			return "", err
		}
		if n, err = c.change(ctx, h, func(*process.Control) {}); err != nil {
			return "", err
		}
	}
	if n.Ack == 0 {
		return "", errors.New(h.name + " is not running")
	}
	if n.Wall.Abs() < skewTolerance {
		if jump != 0 && !c.p.Inert { // jumped back to where it was
			return fmt.Sprintf("wall clock of %s jumped back to right", h.name), nil
		}
		return "", nil
	}
	return fmt.Sprintf("wall clock of %s is %s off", h.name, n.Wall.Round(time.Millisecond)), nil
}
