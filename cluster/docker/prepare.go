//go:build unix

package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

// prepareLimit bounds putting a group in order.
const prepareLimit = 30 * time.Second

// prepare makes the group as good as new: every fault undone, the roles as
// they were at first, empty, well.
func (g *group) prepare(ctx context.Context, o cluster.Options) error {
	ctx, cancel := context.WithTimeout(ctx, prepareLimit)
	defer cancel()
	err := wait.Each(g.nodes, func(n *node) error {
		if err := n.heal(ctx); err != nil {
			return err
		}
		return wait.Until(ctx, prepareLimit, n.answers)
	})
	if err != nil {
		return err
	}
	if err := wait.Each(g.nodes, func(n *node) error { return n.empty(ctx) }); err != nil {
		return err
	}
	persistence := persistNone
	if g.kind != env.NoLock {
		persistence = o.Topology.Persistence
	}
	if err := wait.Each(g.of(redisKind), func(n *node) error { return n.persist(ctx, persistence) }); err != nil {
		return err
	}
	return g.order(ctx, o)
}

// order puts replication in order where there is any, and waits for it.
func (g *group) order(ctx context.Context, o cluster.Options) error {
	moved := g.hurt || g.rolesMoved(ctx)
	var err error
	switch {
	case g.kind == env.Sentinel && moved:
		err = g.replicateAnew(ctx, o.DownAfter)
	case g.kind == env.Sentinel:
		err = wait.Each(g.of(sentinelKind), func(n *node) error { return n.watchSettings(ctx, o.DownAfter) })
	case g.kind == env.RedisCluster && moved:
		err = g.clusterAnew(ctx)
	}
	if err != nil {
		return err
	}
	if err := wait.Until(ctx, prepareLimit, g.healthy); err != nil {
		return err
	}
	g.hurt = false
	return nil
}

// rolesMoved reports whether a first master is one no more.
func (g *group) rolesMoved(ctx context.Context) bool {
	masters := 0
	switch g.kind {
	case env.Sentinel:
		masters = 1
	case env.RedisCluster:
		masters = clusterMasters
	}
	for i, n := range g.of(redisKind) {
		if role, err := n.role(ctx); i < masters && (err != nil || role != "master") {
			return true
		}
	}
	return false
}

// replicateAnew makes redis-1 the master again. The sentinels forget what they
// watched first, all of them before one is told anew: what one still knew of
// the last failover it would tell the others.
func (g *group) replicateAnew(ctx context.Context, downAfter time.Duration) error {
	sentinels, servers := g.of(sentinelKind), g.of(redisKind)
	err := wait.Each(sentinels, func(n *node) error {
		err := n.do(ctx, "SENTINEL", "REMOVE", process.MasterName)
		if redis.HasErrorPrefix(err, "No such master") {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	first := servers[0]
	if err := first.do(ctx, "REPLICAOF", "NO", "ONE"); err != nil {
		return err
	}
	if err := first.do(ctx, "FLUSHALL"); err != nil {
		return err
	}
	err = wait.Each(servers[1:], func(n *node) error {
		return n.do(ctx, "REPLICAOF", first.addr.Addr().String(), first.addr.Port())
	})
	if err != nil {
		return err
	}
	if err := wait.Until(ctx, prepareLimit, func(ctx context.Context) error { return replicationInOrder(ctx, servers) }); err != nil {
		return err
	}
	return wait.Each(sentinels, func(n *node) error {
		if err := n.do(ctx, "SENTINEL", "MONITOR", process.MasterName, first.addr.Addr().String(), first.addr.Port(), quorum); err != nil {
			return err
		}
		return n.watchSettings(ctx, downAfter)
	})
}

// failoverTimeout bounds one attempt of Sentinel's; it waits twice as long
// before it tries again.
const failoverTimeout = 5 * time.Second

func (n *node) watchSettings(ctx context.Context, downAfter time.Duration) error {
	return n.do(ctx, "SENTINEL", "SET", process.MasterName,
		"down-after-milliseconds", downAfter.Milliseconds(),
		"failover-timeout", failoverTimeout.Milliseconds(), "parallel-syncs", 2)
}

// persist sets what survives a restart.
func (n *node) persist(ctx context.Context, mode string) error {
	appendonly, fsync := "yes", mode
	switch mode {
	case persistNone:
		appendonly, fsync = "no", "everysec"
	case "everysec", "always":
	default:
		return fmt.Errorf("persistence %q: want none, everysec or always", mode)
	}
	if err := n.do(ctx, "CONFIG", "SET", "appendfsync", fsync, "appendonly", appendonly); err != nil {
		return err
	}
	return n.do(ctx, "CONFIG", "REWRITE")
}

// empty throws the node's data away. A replica refuses, and follows its
// master.
func (n *node) empty(ctx context.Context) error {
	switch n.kind {
	case sentinelKind:
		return nil
	case sqlKind:
		return emptySQL(ctx, n)
	case queueKind:
		return emptyQueue(ctx, n)
	}
	err := n.do(ctx, "FLUSHALL")
	if err != nil && redis.HasErrorPrefix(err, "READONLY") {
		return nil
	}
	return err
}

// do sends one command on the director's connection and drops the reply.
func (n *node) do(ctx context.Context, args ...any) error {
	if err := n.redis.Do(ctx, args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("%s: %v: %w", n.name, args[0], err)
	}
	return nil
}
