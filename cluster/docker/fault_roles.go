//go:build unix

package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

// A manual failover, and memory pressure.

// failoverLimit bounds waiting for the roles to change.
const failoverLimit = 10 * time.Second

// SwitchOver implements inject.Masters: it waits until another is master.
func (b backend) SwitchOver(ctx context.Context, master inject.Target) (string, error) {
	old := b.find(inject.Targets{master}).nodes[0]
	err := b.act(func() error {
		switch b.o.Topology.Lock {
		case env.Sentinel:
			return b.lockGroup().of(sentinelKind)[0].do(ctx, "SENTINEL", "FAILOVER", process.MasterName)
		case env.RedisCluster:
			return b.clusterFailover(ctx, old)
		}
		return fmt.Errorf("%w: this topology has nobody to fail over to", cluster.ErrUnavailable)
	})
	if err != nil {
		return "", err
	}
	limit := failoverLimit
	if b.p.Inert {
		limit = askLimit
	}
	var now *node
	err = wait.Until(ctx, limit, func(ctx context.Context) (err error) {
		now, err = b.promotedFrom(ctx, old)
		return err
	})
	if err != nil {
		return "", nil // no proof is no error
	}
	return fmt.Sprintf("%s is master instead of %s", now.name, old.name), nil
}

// promotedFrom is the server that is master instead of old.
func (c *system) promotedFrom(ctx context.Context, old *node) (*node, error) {
	if c.o.Topology.Lock == env.RedisCluster {
		return c.clusterSuccessor(ctx, old)
	}
	masters, err := c.masters(ctx)
	if err != nil {
		return nil, err
	}
	now := masters[0]
	if now == old {
		return nil, fmt.Errorf("%s is still master", old.name)
	}
	role, err := now.askRole(ctx)
	if err == nil && role != "master" {
		err = fmt.Errorf("%s is not master yet", now.name)
	}
	return now, err
}

// Memory pressure: as many keys with a TTL as make up nearly all that the server
// has.
const (
	fillerCount = 400
	fillerSize  = 10 << 10
	fillerTTL   = 600 // seconds
)

// Evict implements inject.Memory: it fills a server with keys that have a TTL and
// then takes a share of their memory away under allkeys-random: it has to throw
// about that share of the leases out, too.
func (b backend) Evict(ctx context.Context, servers inject.Targets, share float64) (string, error) {
	var proofs []string
	for _, n := range b.find(servers).nodes {
		if n.kind != redisKind || n.dead() {
			return "", fmt.Errorf("%w: %s has no keys", cluster.ErrUnavailable, n.name)
		}
		proof, err := b.evictOne(ctx, n, share)
		if err != nil {
			return "", err
		}
		proofs = append(proofs, proof)
	}
	return join(proofs), nil
}

const fillScript = `
for i = 1, tonumber(ARGV[1]) do
	redis.call('SET', KEYS[1] .. i, string.rep('x', tonumber(ARGV[2])), 'EX', ARGV[3])
end`

const unfillScript = `
for i = 1, tonumber(ARGV[1]) do redis.call('DEL', KEYS[1] .. i) end`

// fillerName is what the names of the fillers begin with. A member of a Redis
// Cluster takes only keys of its own slots: the fillers go to the slot of a
// key that it has.
func (c *system) fillerName(ctx context.Context, n *node) (string, error) {
	const name = "lockcheck:filler:"
	if c.o.Topology.Lock != env.RedisCluster {
		return name, nil
	}
	key, err := n.redis.RandomKey(ctx).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	return name + "{" + key + "}", err
}

func (c *system) evictOne(ctx context.Context, n *node, share float64) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	evicted := func() (int64, error) {
		f, err := n.info(ctx, "stats")
		return number(f["evicted_keys"]), err
	}
	before, err := evicted()
	if err != nil {
		return "", err
	}
	if n.harm.filler == "" {
		if n.harm.filler, err = c.fillerName(ctx, n); n.harm.filler == "" {
			return "", err // there is nothing to be thrown away
		}
	}
	err = c.act(func() error {
		n.harm.memory = true
		if err := n.do(ctx, "CONFIG", "SET", "maxmemory", 0); err != nil { // of an eviction before
			return err
		}
		return n.do(ctx, "EVAL", fillScript, 1, n.harm.filler, fillerCount, fillerSize, fillerTTL)
	})
	if err != nil {
		return "", err
	}
	var gone, limit int64
	_ = wait.Until(ctx, askLimit, func(ctx context.Context) error { // how many is the proof
		if err := c.act(func() (err error) { limit, err = n.squeeze(ctx, limit, share); return err }); err != nil {
			return err
		}
		after, err := evicted()
		if gone = after - before; err == nil && gone < int64(share*fillerCount/2) {
			err = fmt.Errorf("%d keys evicted so far", gone)
		}
		return err
	})
	if gone == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s evicted %d keys", n.name, gone), nil
}

// squeeze limits a server's memory to what it uses less a share of the filling,
// unless it is still about to come down to the limit that it has. It does not
// count what its replicas have yet to fetch, so neither does this, and the
// limit has to be set again when they have.
func (n *node) squeeze(ctx context.Context, limit int64, share float64) (int64, error) {
	f, err := n.info(ctx, "memory")
	if err != nil {
		return limit, err
	}
	counted := number(f["used_memory"]) - number(f["mem_not_counted_for_evict"])
	if limit > 0 && counted > limit {
		return limit, nil
	}
	limit = counted - int64(share*fillerCount*fillerSize)
	return limit, n.do(ctx, "CONFIG", "SET", "maxmemory-policy", "allkeys-random", "maxmemory", limit)
}

// healMemory takes the limit and the filling away. n.mu is held.
func (n *node) healMemory(ctx context.Context) error {
	if !n.harm.memory || n.harm.process {
		return nil
	}
	if err := n.do(ctx, "CONFIG", "SET", "maxmemory", 0, "maxmemory-policy", "noeviction"); err != nil {
		return err
	}
	filler := n.harm.filler
	n.harm.memory, n.harm.filler = false, ""
	if role, err := n.role(ctx); err != nil || role != "master" {
		return err
	}
	return n.do(ctx, "EVAL", unfillScript, 1, filler, fillerCount)
}
