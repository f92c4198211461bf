package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// node is one Redis server: a keyspace in a process on a host, and what
// outlives the process.
type node struct {
	daemon
	peers map[string]*node // all servers, by name

	// What the process remembers.
	keys    *redis.Keyspace
	loading bool
	run     string // id of the process
	subs    []subscriber
	evicted int // keys thrown away for want of memory
	repl    replication

	// What is on its disk.
	disk      disk
	master    *node // whom its configuration calls its master; nil: it is one
	histories int   // replication histories that it has begun

	member  *member // of a Redis Cluster; else nil
	cluster []*node // all its members

	// changed is told when the role changes by somebody's order.
	changed func(n *node, promoted bool)
}

type subscriber struct {
	session *vtime.Session
	channel string
}

// How long a server takes to load its data when it starts.
const (
	loadTime   = 5 * time.Millisecond
	loadPerKey = 10 * time.Microsecond
)

// boot starts the server with what is on its disk; empty: nothing is.
func (n *node) boot(empty bool) {
	n.rise(n)
	if empty {
		n.disk.wipe()
	}
	n.keys = n.disk.load()
	n.run = fmt.Sprintf("%016x", n.net.Rand.Uint64())
	n.repl = replication{id: n.newReplID(), downSince: n.s.Now}
	if n.s.Now > 0 && !n.net.Still {
		n.loading = true
		wait := loadTime + time.Duration(n.keys.Len())*loadPerKey
		n.s.After(wait, n.proc, func() { n.loading = false })
	}
	if n.net.Still {
		return
	}
	if n.master != nil {
		n.connect()
	}
	if n.member != nil {
		n.member.started(n.cluster)
	}
	n.s.Every(replicationTick, n.net.Phase(replicationTick), n.proc, n.replicationCron)
}

// kill ends the server: its memory is gone.
func (n *node) kill(mode string) {
	byProcess := n.fall(mode)
	n.disk.crash(byProcess, n.s.Now)
	n.keys, n.subs, n.repl = nil, nil, replication{}
}

func (n *node) wall() time.Time { return n.s.Epoch().Add(n.s.Now + n.box.Wall.Ahead(n.s.Now)) }

func (n *node) mode() redis.Mode {
	switch {
	case n.loading:
		return redis.Loading
	case n.master != nil:
		return redis.Replica
	}
	return redis.Master
}

// Hangup forgets a client that has gone.
func (n *node) Hangup(from *vtime.Session) {
	n.drop(from)
	n.repl.forget(from)
}

// drop ends a client's subscriptions.
func (n *node) drop(from *vtime.Session) {
	n.subs = slices.DeleteFunc(n.subs, func(s subscriber) bool { return s.session == from })
}

// publish sends a message to this server's subscribers and counts them; in a
// Redis Cluster to those of the other servers too, but they are not counted.
func (n *node) publish(m redis.Message) int64 {
	if n.member != nil && n.master == nil {
		n.member.tellAll(func(to *member) { to.n.deliver(m) })
	}
	return n.deliver(m)
}

func (n *node) deliver(m redis.Message) (receivers int64) {
	for _, s := range n.subs {
		if s.channel != m.Channel {
			continue
		}
		receivers++
		if knownOf(s.session).front != nil {
			knownOf(s.session).front.Publish(m.Channel, m.Payload)
			continue
		}
		c := s.session.Conn
		c.Send(0, func() { c.OnPush(m.Payload) })
	}
	return receivers
}

// dropClients closes the connections of clients, as a change of role by
// Sentinel or CLIENT KILL does, and counts them. Those of Sentinels and
// replicas stay.
func (n *node) dropClients(of func(*vtime.Machine) bool) (count int) {
	for _, c := range slices.Clone(n.proc.Conns) {
		if c.End[1].Process == n.proc && c.Session.Client && of(c.End[0].Host) {
			n.Hangup(c.Session)
			c.Close(1)
			count++
		}
	}
	return count
}

// anybody is every client.
func anybody(*vtime.Machine) bool { return true }

// evict throws count keys away, as memory pressure does, and names them.
func (n *node) evict(count int) []string {
	keys := n.keys.Evict(n.net.Rand, count)
	n.evicted += len(keys)
	for _, key := range keys {
		n.propagate([][]string{{"DEL", key}})
	}
	return keys
}
