// Package sim is the simulated cluster: servers, network, clocks and workers
// in virtual time, decided by one seed.
//
// Nothing in it is real: a minute passes in milliseconds, and the same seed
// gives the same history to the byte. Real are the programs that run in it:
// the workers with their lock designs, the nemesis, and (in package
// sim/redis) the commands and Lua scripts of Redis.
//
// How it is built, from the ground up; each file has one idea:
//
//	scheduler, task, process   virtual time; coroutines; what pauses and dies together
//	network, conn              packets and links; TCP connections
//	client, failover, slots    what a client library does: pool, Sentinel, Cluster
//	node, replication, disk    a Redis server around its keyspace
//	sentinel, election         three Sentinels
//	shard                      a Redis Cluster
//	worker, clock, local       the world of one worker
//	simulation, inject, proof  the cluster as the director sees it
//
// Start with New. What the model knows about real Redis and leaves out is in
// docs/simulation.md.
package sim

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
)

// Config says how to simulate. The zero value is what one wants.
type Config struct {
	// Guard is how long, in real time, one step of the simulation may take
	// before the run is given up; default 20 s.
	Guard time.Duration
	// Inert makes Inject do nothing: for tests that no proof appears then.
	Inert bool
}

// Provider lends simulated clusters, as many at once as one likes.
type Provider struct{ config Config }

var _ cluster.Provider = (*Provider)(nil)

// New makes a provider.
func New(c Config) *Provider {
	if c.Guard <= 0 {
		c.Guard = 20 * time.Second
	}
	return &Provider{config: c}
}

// Cell builds a cluster. Nothing happens in it before Run.
func (p *Provider) Cell(_ context.Context, o cluster.Options) (cluster.Cluster, error) {
	return build(p.config, o)
}

// Close has nothing to remove.
func (p *Provider) Close(context.Context) error { return nil }
