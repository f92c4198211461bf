package sim

import (
	"fmt"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// group is the servers of a cluster.
type group struct {
	servers   []server // all of them
	redis     []*node  // redis-1, …
	stock     *node    // stock-1, or nil
	sentinels []*sentinel
	queue     *broker    // queue-1, or nil
	sql       *sqlServer // sql-1, or nil
	byName    map[string]*node
}

func (c *system) buildSite() error {
	top := c.o.Topology
	shape, known := top.Lock.Shape()
	count := shape.Redis
	if c.scene != nil && top.Lock == env.RedisCluster {
		count = 2 // the shard that has the key
	}
	if !known {
		return fmt.Errorf("topology %q: %w", top.Lock, cluster.ErrUnavailable)
	}
	c.site.byName = map[string]*node{}
	for i := range count {
		c.site.redis = append(c.site.redis, c.addNode(fmt.Sprintf("redis-%d", i+1), top.Persistence))
	}
	if top.Stock {
		c.site.stock = c.addNode("stock-1", top.Persistence)
	}
	switch {
	case c.scene != nil:
		c.scene.setUp()
	case top.Lock == env.Sentinel:
		c.addSentinels()
	case top.Lock == env.RedisCluster:
		c.joinCluster()
	}
	if top.Queue {
		c.site.queue = &broker{daemon: c.newDaemon("queue-1")}
		c.site.servers = append(c.site.servers, c.site.queue)
	}
	if top.SQL {
		c.site.sql = &sqlServer{daemon: c.newDaemon("sql-1")}
		c.site.servers = append(c.site.servers, c.site.sql)
	}
	for _, s := range c.site.servers {
		s.boot(false)
	}
	if c.scene != nil {
		c.scene.replicate()
	}
	return nil
}

// addSentinels makes redis-1 the master and three Sentinels watch it.
func (c *system) addSentinels() {
	for _, n := range c.site.redis[1:] {
		n.master = c.site.redis[0]
	}
	for i := range 3 {
		name := fmt.Sprintf("sentinel-%d", i+1)
		c.site.sentinels = append(c.site.sentinels, &sentinel{
			daemon: c.newDaemon(name), rand: c.net.Rand,
			nodes: c.site.redis, master: c.site.redis[0], downAfter: c.o.DownAfter,
		})
	}
	for _, x := range c.site.sentinels {
		x.everyone = c.site.sentinels
		c.site.servers = append(c.site.servers, x)
	}
}

func (c *system) addNode(name, persistence string) *node {
	n := &node{daemon: c.newDaemon(name), peers: c.site.byName, changed: c.roleChanged}
	n.disk.mode = persistence
	c.site.byName[name] = n
	c.site.servers = append(c.site.servers, n)
	return n
}

// joinCluster makes the first three servers masters of a Redis Cluster, and
// the others their replicas.
func (c *system) joinCluster() {
	var owners [shards]claim
	for i := range owners {
		owners[i] = claim{c.site.redis[i], int64(i + 1)}
	}
	for i, n := range c.site.redis {
		if i >= shards {
			n.master = c.site.redis[i-shards]
		}
		n.cluster = c.site.redis
		n.member = &member{n: n, timeout: c.o.DownAfter, epoch: shards, owners: owners}
	}
}

// roleChanged records what the cluster does by itself.
func (c *system) roleChanged(n *node, promoted bool) {
	e := histories.Event{Process: histories.Nemesis, Type: histories.Info, F: histories.Promoted, Targets: []string{n.name}}
	if !promoted {
		e.F = histories.Demoted
	}
	c.emit(e)
}

// world is what a process sees of the servers.
func (c *system) world(p *vtime.Process) *env.Env {
	e := &env.Env{}
	switch lock := c.o.Topology.Lock; {
	case lock.Independent():
		for _, n := range c.site.redis {
			e.Lock = append(e.Lock, c.endpoint(p, n.box))
		}
	case c.scene != nil && lock != env.NoLock:
		e.Lock, e.Replicas = c.scene.group(p)
	case lock == env.Sentinel:
		e.Lock = []env.Redis{c.followed(p)}
		e.Replicas = []env.Redis{c.replica(p, 0), c.replica(p, 1)}
	case lock == env.RedisCluster:
		e.Lock = []env.Redis{c.slotted(p)}
	}
	if len(e.Lock) > 0 {
		e.Stock = e.Lock[0]
	}
	if c.site.stock != nil {
		e.Stock = c.endpoint(p, c.site.stock.box)
	}
	if c.site.queue != nil {
		e.Queue = c.queueClient(p)
	}
	if c.site.sql != nil {
		e.SQL = &sqlClient{c.endpoint(p, c.site.sql.box)}
	}
	return e
}

func (c *system) endpoint(p *vtime.Process, to *vtime.Machine) *endpoint {
	return newEndpoint(c.net, p, c.o.CallTimeout, to)
}
