//go:build unix

package docker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Which server has which role now: inject.View.

// Masters implements inject.View.
func (b backend) Masters(ctx context.Context) ([]string, error) {
	masters, err := b.masters(ctx)
	return names(masters), err
}

// Replicas implements inject.View: the lock service's servers that are not
// masters.
func (b backend) Replicas(ctx context.Context) ([]string, error) {
	switch b.o.Topology.Lock {
	case env.Sentinel:
		masters, err := b.masters(ctx)
		if err != nil {
			return nil, err
		}
		return names(slices.DeleteFunc(b.locks(), func(n *node) bool { return slices.Contains(masters, n) })), nil
	case env.RedisCluster:
		return names(slices.DeleteFunc(b.locks(), func(n *node) bool {
			role, err := n.askRole(ctx)
			return err != nil || role == "master"
		})), nil
	}
	return nil, nil
}

// Locks implements inject.View.
func (b backend) Locks() []string { return names(b.locks()) }

// Sentinels implements inject.View.
func (b backend) Sentinels() []string {
	if g := b.lockGroup(); g != nil {
		return names(g.of(sentinelKind))
	}
	return nil
}

// ServerOf implements inject.View: the master, or of several masters the one with
// a key of that name in it.
func (b backend) ServerOf(ctx context.Context, key string) (string, error) {
	masters, err := b.masters(ctx)
	if err != nil || len(masters) == 0 {
		return "", err
	}
	if len(masters) > 1 {
		pattern := "*" + strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(key) + "*"
		ctx, cancel := context.WithTimeout(ctx, askLimit)
		defer cancel()
		for _, n := range masters {
			if found, err := n.redis.Keys(ctx, pattern).Result(); err == nil && len(found) > 0 {
				return n.name, nil
			}
		}
	}
	return masters[0].name, nil
}

// Processes implements inject.View.
func (b backend) Processes() (all [][]int) {
	for _, h := range b.hosts {
		all = append(all, h.workers)
	}
	return all
}

func names(nodes []*node) (names []string) {
	for _, n := range nodes {
		names = append(names, n.name)
	}
	return names
}

// hostOf finds the host of a worker.
func (c *system) hostOf(worker int) *host {
	for _, h := range c.hosts {
		if slices.Contains(h.workers, worker) {
			return h
		}
	}
	return nil
}

// node finds a server by name.
func (c *system) node(name string) *node {
	for _, n := range c.nodes() {
		if n.name == name {
			return n
		}
	}
	return nil
}

// locks are the Redis servers of the lock service.
func (c *system) locks() []*node {
	if g := c.lockGroup(); g != nil {
		return g.of(redisKind)
	}
	return nil
}

var errNoMaster = errors.New("no master is known")

// masters are the servers that take writes now: what the sentinels say, or the
// members of a Redis Cluster. Of independent servers the first stands for all.
func (c *system) masters(ctx context.Context) (masters []*node, err error) {
	ask := c.clusterMasters
	switch c.o.Topology.Lock {
	case env.NoLock:
		return nil, nil
	case env.Sentinel:
		ask = func(ctx context.Context) ([]*node, error) {
			m, err := c.sentinelsMaster(ctx)
			return []*node{m}, err
		}
	case env.RedisCluster:
	default:
		return c.locks()[:1], nil
	}
	err = wait.Until(ctx, masterLimit, func(ctx context.Context) (err error) {
		masters, err = ask(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return masters, nil
}

// masterLimit bounds asking the sentinels for the master, again and again.
const masterLimit = 3 * time.Second

// askLimit bounds asking a server that may be dead.
const askLimit = 300 * time.Millisecond

func (n *node) askRole(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return n.role(ctx)
}

// sentinelsMaster is what most of the sentinels that answer name.
func (c *system) sentinelsMaster(ctx context.Context) (*node, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	sentinels := c.lockGroup().of(sentinelKind)
	said := make([]string, len(sentinels))
	_ = wait.Each(sentinels, func(s *node) error { // a silent one has no vote
		addr, err := s.redis.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", process.MasterName).StringSlice()
		if err == nil && len(addr) == 2 {
			said[slices.Index(sentinels, s)] = addr[0]
		}
		return err
	})
	votes := map[string]int{}
	var best *node
	for _, n := range c.locks() {
		ip := n.addr.Addr().String()
		for _, s := range said {
			if s == ip {
				votes[ip]++
			}
		}
		if votes[ip] > 0 && (best == nil || votes[ip] > votes[best.addr.Addr().String()]) {
			best = n
		}
	}
	if best == nil {
		return nil, errNoMaster
	}
	return best, nil
}
