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
//	package vtime              virtual time; coroutines; links, connections, clocks
//	client, follow, slotclient what a client library does: pool, Sentinel, Cluster
//	daemon, node, replication  a Redis server around its keyspace
//	sentinel, election, config three Sentinels
//	member, gossip, takeover   a Redis Cluster
//	broker, sqlserver          the message queue and the SQL server
//	worker, memory             the world of one worker
//	own, wire, wiresentinel    a program of somebody's own beside a worker, and its connections
//	live, outside, socket      clients and programs from outside, in time with their clock
//	scene, point, deviation, deviate_… a small scene of package explore: see Scene
//	system, inject, fault_… the cluster as the director sees it
//
// Start with New. What is simpler than in reality stands at Provider.
package sim

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim/preload"
)

// Config says how to simulate. The zero value is ready to use.
type Config struct {
	// Guard is how long, in real time, one step of the simulation may take
	// before the run is given up; default 20 s.
	Guard time.Duration
	// Inert makes Inject do nothing: for tests that no proof appears then.
	Inert bool
	// Paced: time is that of a clock outside, the machine's or a bubble's of
	// testing/synctest.
	Paced bool
	// MasterName is what Sentinels call their master, to programs; default "lockcheck".
	MasterName string

	scene *Scene
}

// Provider lends simulated clusters, as many at once as one likes.
//
// What is simpler than in reality: a server takes no time for a command, and
// is never short of memory or connections; Sentinels talk to each other
// directly rather than through the servers that they watch; members of a
// Redis Cluster have fixed slots; a full resync takes 30 ms; a request that a
// cut held back arrives at most a second after healing, or never; where a
// worker's links lose packets the connection is stuck, as behind a proxy that
// swallows them, while servers send them to each other again; a machine that
// goes down comes back at once when it is started. What fails only a little
// (a slow disk, half a network card) is not modelled.
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
func (p *Provider) Cell(ctx context.Context, o cluster.Options) (cluster.Cluster, error) {
	c, err := build(p.config, o)
	if err != nil || o.Own == nil || p.config.Paced {
		return c, err
	}
	if err := preload.Check(o.Own.Command[0]); err != nil {
		return nil, err
	}
	c.library, err = preload.Library(ctx)
	return c, err
}

// Close has nothing to remove.
func (p *Provider) Close(context.Context) error { return nil }
