package sim

import (
	"context"
	"slices"

	"github.com/lockcheck/lockcheck/workload/env"
)

// Which server has which role now: inject.View.

// Masters implements inject.View.
func (b backend) Masters(context.Context) ([]string, error) { return names(b.masters()), nil }

// Replicas implements inject.View.
func (b backend) Replicas(context.Context) (replicas []string, _ error) {
	masters := b.masters()
	for _, n := range b.site.redis {
		if b.replicated() && !slices.Contains(masters, n) {
			replicas = append(replicas, n.name)
		}
	}
	return replicas, nil
}

// Locks implements inject.View.
func (b backend) Locks() []string { return names(b.site.redis) }

// Sentinels implements inject.View.
func (b backend) Sentinels() (names []string) {
	for _, x := range b.site.sentinels {
		names = append(names, x.name)
	}
	return names
}

// ServerOf implements inject.View.
func (b backend) ServerOf(_ context.Context, key string) (string, error) {
	masters := b.masters()
	if len(masters) == 0 {
		return "", nil
	}
	if b.o.Topology.Lock == env.RedisCluster {
		masters = masters[shardOf(slot(key)):]
	}
	return masters[0].name, nil
}

// Processes implements inject.View.
func (b backend) Processes() (all [][]int) {
	for _, h := range b.hosts {
		all = append(all, h.numbers())
	}
	return all
}

func names(nodes []*node) (names []string) {
	for _, n := range nodes {
		names = append(names, n.name)
	}
	return names
}

// masters are the servers that take writes now, in the eyes of the majority
// of those who decide it. Of independent servers the first stands for all.
func (c *system) masters() []*node {
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

func (c *system) replicated() bool {
	return c.o.Topology.Lock.Replicated()
}
