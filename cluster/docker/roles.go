package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/workload/env"
)

// targets are what the names in a fault stand for.
type targets struct {
	nodes   []*node
	hosts   []*host
	workers []int // on hosts, those meant

	at time.Duration // when the first of them came to a step where a fault waited
}

func (t targets) names() []string {
	var names []string
	for _, n := range t.nodes {
		names = append(names, n.name)
	}
	for _, h := range t.hosts {
		names = append(names, h.names()...)
	}
	return names
}

func (t *targets) addNodes(nodes ...*node) {
	for _, n := range nodes {
		if n != nil && !slices.Contains(t.nodes, n) {
			t.nodes = append(t.nodes, n)
		}
	}
}

func (t *targets) addHost(h *host, workers ...int) {
	if !slices.Contains(t.hosts, h) {
		t.hosts = append(t.hosts, h)
	}
	t.workers = append(t.workers, workers...)
}

// resolve finds what the names mean at this moment. A name that means nothing
// is refused.
func (c *cell) resolve(ctx context.Context, names []string) (targets, error) {
	var all targets
	for _, name := range names {
		t, err := c.resolveOne(ctx, name)
		if err != nil {
			return targets{}, err
		}
		if len(t.nodes)+len(t.hosts) == 0 {
			return targets{}, fmt.Errorf("%w: this cluster has no %s", cluster.ErrUnavailable, name)
		}
		all.addNodes(t.nodes...)
		for _, h := range t.hosts {
			all.addHost(h)
		}
		all.workers = append(all.workers, t.workers...)
	}
	return all, nil
}

func (c *cell) resolveOne(ctx context.Context, name string) (t targets, err error) {
	switch name {
	case "workers", "half-workers", "other-workers":
		for _, h := range cluster.Part(name, c.hosts) {
			t.addHost(h, h.workers...)
		}
	case "master":
		return c.remember(c.master(ctx))
	case "old-master":
		t.addNodes(c.node(c.oldMaster))
	case "replicas", "one-replica", "other-replicas":
		t.nodes, err = c.replicas(ctx)
		t.nodes = cluster.Part(name, t.nodes)
	case "locks":
		t.addNodes(c.locks()...)
	case "sentinels", "one-sentinel", "other-sentinels":
		if g := c.lockGroup(); g != nil {
			t.addNodes(cluster.Part(name, g.of(sentinelKind))...)
		}
	case "stock", "sql", "queue":
		t.addNodes(c.node(name + "-1"))
	default:
		return c.resolveName(ctx, name)
	}
	return t, err
}

// remember keeps who was master: "old-master" is that server from now on.
func (c *cell) remember(n *node, err error) (t targets, _ error) {
	if err == nil {
		c.oldMaster = n.name
		t.addNodes(n)
	}
	return t, err
}

// resolveName finds a node, a worker, or the server that has a key.
func (c *cell) resolveName(ctx context.Context, name string) (t targets, err error) {
	if key, ok := strings.CutPrefix(name, "key:"); ok {
		return c.remember(c.serverOf(ctx, key))
	}
	if number, ok := strings.CutPrefix(name, "worker-"); ok {
		w, err := strconv.Atoi(number)
		if h := c.hostOf(w); err == nil && h != nil {
			t.addHost(h, w)
		}
		return t, nil
	}
	t.addNodes(c.node(name))
	return t, nil
}

// hostOf finds the host of a worker.
func (c *cell) hostOf(worker int) *host {
	for _, h := range c.hosts {
		if slices.Contains(h.workers, worker) {
			return h
		}
	}
	return nil
}

// node finds a server by name.
func (c *cell) node(name string) *node {
	for _, n := range c.nodes() {
		if n.name == name {
			return n
		}
	}
	return nil
}

// locks are the Redis servers of the lock service.
func (c *cell) locks() []*node {
	if g := c.lockGroup(); g != nil {
		return g.of(redisKind)
	}
	return nil
}

var errNoMaster = errors.New("no master is known")

// master is the lock service's master: what the sentinels say, or the first
// that says so itself. Of independent servers it is the first.
func (c *cell) master(ctx context.Context) (*node, error) {
	switch c.o.Topology.Lock {
	case env.NoLock:
		return nil, fmt.Errorf("%w: this topology has no master", cluster.ErrUnavailable)
	case env.Sentinel:
		var m *node
		err := until(ctx, masterLimit, func(ctx context.Context) (err error) {
			m, err = c.sentinelsMaster(ctx)
			return err
		})
		return m, err
	case env.RedisCluster:
		for _, n := range c.locks() {
			if role, err := n.askRole(ctx); err == nil && role == "master" {
				return n, nil
			}
		}
		return nil, errNoMaster
	}
	return c.locks()[0], nil
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
func (c *cell) sentinelsMaster(ctx context.Context) (*node, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	sentinels := c.lockGroup().of(sentinelKind)
	said := make([]string, len(sentinels))
	_ = each(sentinels, func(s *node) error { // who does not answer has no vote
		addr, err := s.redis.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName).StringSlice()
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

// replicas are the lock service's servers that are not masters.
func (c *cell) replicas(ctx context.Context) ([]*node, error) {
	switch c.o.Topology.Lock {
	case env.Sentinel:
		m, err := c.master(ctx)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(c.locks(), func(n *node) bool { return n == m }), nil
	case env.RedisCluster:
		return slices.DeleteFunc(c.locks(), func(n *node) bool {
			role, err := n.askRole(ctx)
			return err != nil || role == "master"
		}), nil
	}
	return nil, fmt.Errorf("%w: this topology has no replicas", cluster.ErrUnavailable)
}

// serverOf is the server that has a key: the master, or of several masters the
// one with a key of that name in it.
func (c *cell) serverOf(ctx context.Context, key string) (*node, error) {
	if c.o.Topology.Lock != env.RedisCluster {
		return c.master(ctx)
	}
	pattern := "*" + strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(key) + "*"
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for _, n := range c.locks() {
		role, err := n.role(ctx)
		if err != nil || role != "master" {
			continue
		}
		if found, err := n.redis.Keys(ctx, pattern).Result(); err == nil && len(found) > 0 {
			return n, nil
		}
	}
	return c.master(ctx)
}
