package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
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
	session *session
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
	n.run = fmt.Sprintf("%016x", n.net.rand.Uint64())
	n.repl = replication{id: n.newReplID(), downSince: n.s.now}
	if n.s.now > 0 {
		n.loading = true
		wait := loadTime + time.Duration(n.keys.Len())*loadPerKey
		n.s.after(wait, n.proc, func() { n.loading = false })
	}
	if n.master != nil {
		n.connect()
	}
	if n.member != nil {
		n.member.started(n.cluster)
	}
	n.s.every(replicationTick, n.net.phase(replicationTick), n.proc, n.replicationCron)
}

// kill ends the server: its memory is gone.
func (n *node) kill(mode string) {
	byProcess := n.fall(mode)
	n.disk.crash(byProcess, n.s.now)
	n.keys, n.subs, n.repl = nil, nil, replication{}
}

func (n *node) wall() time.Time { return n.host.wall.at(n.s.now) }

func (n *node) mode() redis.Mode {
	switch {
	case n.loading:
		return redis.Loading
	case n.master != nil:
		return redis.Replica
	}
	return redis.Master
}

// hangup forgets a client that has gone.
func (n *node) hangup(from *session) {
	n.drop(from)
	n.repl.forget(from)
}

// drop ends a client's subscriptions.
func (n *node) drop(from *session) {
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
		if s.session.front != nil {
			s.session.front.Publish(m.Channel, m.Payload)
			continue
		}
		c := s.session.c
		c.send(0, func() { c.onPush(m.Payload) })
	}
	return receivers
}

// dropClients closes the connections of clients, as a change of role by
// Sentinel or CLIENT KILL does, and counts them. Those of Sentinels and
// replicas stay.
func (n *node) dropClients(of func(*host) bool) (count int) {
	for _, c := range slices.Clone(n.proc.conns) {
		if c.end[1].proc == n.proc && c.session.client && of(c.end[0].host) {
			n.hangup(c.session)
			c.close(1)
			count++
		}
	}
	return count
}

// anybody is every client.
func anybody(*host) bool { return true }

// evict throws count keys away, as memory pressure does, and names them.
func (n *node) evict(count int) []string {
	keys := n.keys.Evict(n.net.rand, count)
	n.evicted += len(keys)
	for _, key := range keys {
		n.propagate([][]string{{"DEL", key}})
	}
	return keys
}
