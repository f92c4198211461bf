package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/workload/env"
)

// A manual failover, and memory pressure.

// switchTime is how long a failover that was asked for may take.
const switchTime = 15 * time.Second

// SwitchOver implements inject.Masters. The look waits until a server that was
// not master says that it is.
func (b backend) SwitchOver(ctx context.Context, master inject.Target) (string, error) {
	was := b.masters()
	var err error
	b.act(func() { err = b.askFailover(ctx, b.one(master)) })
	if err != nil {
		return "", err
	}
	var now *node
	b.Await(ctx, switchTime, func() bool {
		for _, n := range b.masters() {
			if !slices.Contains(was, n) {
				now = n
			}
		}
		return now != nil
	})
	if now == nil {
		return "", nil
	}
	if reply, err := b.ask(ctx, now.box, "ROLE"); err != nil || reply.([]any)[0] != "master" {
		return "", nil
	}
	return now.name + " is master now", nil
}

// askFailover asks a Sentinel, or a replica of a Redis Cluster, for a failover.
func (c *system) askFailover(ctx context.Context, master target) error {
	for _, x := range c.site.sentinels {
		_, err := c.ask(ctx, x.box, "SENTINEL", "FAILOVER", "lockcheck")
		if reply := env.ServerError(""); err == nil || errors.As(err, &reply) {
			return err
		}
	}
	for _, n := range c.site.redis {
		if n.member == nil || n.master == nil || target(n.master) != master {
			continue
		}
		_, err := c.ask(ctx, n.box, "CLUSTER", "FAILOVER")
		return err
	}
	return fmt.Errorf("%w: this topology has nobody to fail over to", cluster.ErrUnavailable)
}

// Evict implements inject.Memory. The look counts the keys that servers have
// thrown away, as INFO does.
func (b backend) Evict(_ context.Context, servers inject.Targets, share float64) (string, error) {
	var nodes []*node
	was := 0
	for _, t := range b.find(servers) {
		n, ok := t.(*node)
		if !ok || !n.alive() {
			return "", fmt.Errorf("%w: %s has no keys", cluster.ErrUnavailable, t.label())
		}
		nodes, was = append(nodes, n), was+n.evicted
	}
	b.act(func() {
		for _, n := range nodes {
			n.evict(int(share*float64(n.keys.Len()) + 0.999))
		}
	})
	gone := -was
	for _, n := range nodes {
		gone += n.evicted
	}
	if gone <= 0 {
		return "", nil
	}
	return fmt.Sprintf("%d keys are gone", gone), nil
}
