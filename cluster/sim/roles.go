package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/workload/env"
)

// target is what a fault's name or role stands for: a machine with a server,
// a Sentinel, or workers.
type target interface {
	machine() *host
	process() *process
	label() string // name in the history; of workers, the one of their machine
}

// server is a target that can be killed and started again.
type server interface {
	target
	alive() bool
	kill(mode string)
	boot(empty bool)
}

var (
	_ server = (*node)(nil)
	_ server = (*sentinel)(nil)
	_ server = (*broker)(nil)
	_ server = (*sqlServer)(nil)
	_ target = (*home)(nil)
)

func (h *home) machine() *host    { return h.host }
func (h *home) process() *process { return h.proc }
func (h *home) label() string     { return h.host.name }

// resolve finds what names and roles stand for now, each once.
func (c *simulation) resolve(names []string) ([]target, error) {
	var out []target
	for _, name := range names {
		found, err := c.role(name)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// role finds what one name or role stands for. Whoever was last found as a
// master is the old master from then on.
func (c *simulation) role(name string) ([]target, error) {
	var out []target
	switch name {
	case "master":
		for _, n := range c.masters() {
			out = append(out, n)
			c.site.oldMaster = n
		}
	case "old-master":
		if c.site.oldMaster != nil {
			out = append(out, c.site.oldMaster)
		}
	case "replicas", "one-replica", "other-replicas":
		out = cluster.Part(name, c.replicas())
	case "locks":
		for _, n := range c.site.redis {
			out = append(out, n)
		}
	case "sentinels", "one-sentinel", "other-sentinels":
		for _, s := range cluster.Part(name, c.site.sentinels) {
			out = append(out, s)
		}
	case "workers", "half-workers", "other-workers":
		for _, h := range cluster.Part(name, c.homes) {
			out = append(out, h)
		}
	default:
		return c.named(name)
	}
	if out == nil {
		return nil, fmt.Errorf("%w: no %s in this topology", cluster.ErrUnavailable, name)
	}
	return out, nil
}

// replicas are the servers that follow a master.
func (c *simulation) replicas() []target {
	var out []target
	masters := c.masters()
	for _, n := range c.site.redis {
		if c.replicated() && !slices.Contains(masters, n) {
			out = append(out, n)
		}
	}
	return out
}

// named finds a server or a worker by its name; "stock", "sql" and "queue"
// are the servers of that kind, "key:K" is the master that has the key K.
func (c *simulation) named(name string) ([]target, error) {
	if key, ok := strings.CutPrefix(name, "key:"); ok {
		return c.keyMaster(key)
	}
	for _, t := range c.site.servers {
		if label := t.label(); label == name || label == name+"-1" {
			return []target{t}, nil
		}
	}
	for _, w := range c.workers {
		if w.name == name {
			return []target{w.home}, nil
		}
	}
	return nil, fmt.Errorf("%w: no %s in this topology", cluster.ErrUnavailable, name)
}

// keyMaster finds the server that has a lock key.
func (c *simulation) keyMaster(key string) ([]target, error) {
	masters := c.masters()
	if len(masters) == 0 {
		return nil, fmt.Errorf("%w: no server for locks", cluster.ErrUnavailable)
	}
	if c.o.Topology.Lock == env.RedisCluster {
		masters = masters[shardOf(slot(key)):]
	}
	c.site.oldMaster = masters[0]
	return []target{masters[0]}, nil
}

// masters are the servers that take writes now, in the eyes of the majority
// of those who decide it. Of independent servers the first stands for all.
func (c *simulation) masters() []*node {
	switch {
	case len(c.site.redis) == 0:
		return nil
	case c.o.Topology.Lock == env.RedisCluster:
		return c.clusterMasters()
	case c.o.Topology.Lock != env.Sentinel:
		return c.site.redis[:1]
	}
	votes := map[*node]int{}
	best := c.site.redis[0]
	for _, x := range c.site.sentinels {
		if n := x.current(); x.alive() {
			if votes[n]++; votes[n] > votes[best] {
				best = n
			}
		}
	}
	return []*node{best}
}

func (c *simulation) replicated() bool {
	return c.o.Topology.Lock == env.Sentinel || c.o.Topology.Lock == env.RedisCluster
}
