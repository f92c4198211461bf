package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
)

// replication is a server's part in replication, as master and as replica.
//
// A history of writes has an id; an offset counts the writes in it (real
// Redis counts bytes). A replica that reconnects and asks for a history that
// its master knows, from an offset that its backlog still has, gets what it
// missed; otherwise it takes the master's whole state and forgets its own.
type replication struct {
	id     string
	offset int64
	// A promoted server also knows the history that it was promoted from,
	// up to where it was then.
	formerID    string
	formerUntil int64

	backlog [][][]string // the last writes; the first has offset first+1
	first   int64

	replicas []*replica // that follow this server
	waits    []*waiting // WAIT calls not answered yet

	link   *conn // to the master; nil: none
	synced bool  // the link is up and the state is the master's
	heard  time.Duration
	// downSince is since when the link has not been in order.
	downSince time.Duration
}

// replica is what a master knows of one of its replicas.
type replica struct {
	session *session
	node    *node
	acked   int64
}

// Times of replication; those of a default redis.conf, but for the full
// resync, which is as quick as an almost empty server makes it.
const (
	replicationTick = time.Second
	replTimeout     = 60 * time.Second
	connectTimeout  = 2 * time.Second
	fullSyncTime    = 30 * time.Millisecond
	backlogLimit    = 20_000
)

// propagate records a write and sends it to the replicas.
func (n *node) propagate(effects [][]string) {
	r := &n.repl
	r.offset++
	r.backlog = append(r.backlog, effects)
	if len(r.backlog) > 2*backlogLimit {
		r.backlog = append([][][]string(nil), r.backlog[backlogLimit:]...)
		r.first += backlogLimit
	}
	n.disk.append(n.s.now, n.wall(), effects)
	for _, to := range r.replicas {
		c := to.session.c
		c.send(0, func() { to.node.receive(c, effects) })
	}
}

// receive applies a write that came from the master over c.
func (n *node) receive(c *conn, effects [][]string) {
	if n.repl.link != c {
		return
	}
	n.repl.heard = n.s.now
	for _, effect := range effects {
		n.keys.Apply(n.wall(), effect)
		if effect[0] == "PUBLISH" {
			n.publish(redis.Message{Channel: effect[1], Payload: effect[2]})
		}
	}
	n.propagate(effects)
}

// replicationCron is what a server does about replication every second.
func (n *node) replicationCron() {
	r := &n.repl
	switch {
	case n.master == nil:
	case r.link == nil:
		n.connect()
	case n.s.now-r.heard > replTimeout, !r.synced && n.s.now-r.heard > connectTimeout:
		n.unlink()
		n.connect()
	case r.synced:
		n.sendAck(r.link)
	}
	for _, to := range r.replicas {
		c := to.session.c
		c.send(0, func() { to.node.repl.heard = n.s.now })
	}
}

// unlink closes the connection with the master.
func (n *node) unlink() {
	if c := n.repl.link; c != nil {
		n.lostLink()
		c.close(0)
	}
}

func (n *node) lostLink() {
	if n.repl.synced {
		n.repl.downSince = n.s.now
	}
	n.repl.link, n.repl.synced = nil, false
}

// connect asks the master for what this server misses.
func (n *node) connect() {
	master := n.master
	n.repl.heard, n.repl.synced = n.s.now, false
	n.repl.link = n.net.dial(n.proc, master.host, func(c *conn, err error) {
		if n.repl.link != c && err == nil {
			c.close(0)
			return
		}
		if err != nil {
			n.repl.link = nil
			return
		}
		c.end[0].onBreak = func() { n.masterGone(c) }
		args := []string{"PSYNC", n.repl.id, strconv.FormatInt(n.repl.offset, 10)}
		c.request(&exchange{args: args, done: func(x *exchange) { n.synchronize(c, x.reply) }})
	})
}

// masterGone: the connection broke. A replica tries again at once, then
// every second.
func (n *node) masterGone(c *conn) {
	if n.repl.link == c {
		n.lostLink()
		if n.master != nil {
			n.connect()
		}
	}
}

// resync is a master's answer to PSYNC.
type resync struct {
	id     string
	offset int64           // where the replica is after the answer
	keys   *redis.Keyspace // the whole state, or nil …
	missed [][][]string    // … and what was missed
}

// synchronize takes in a master's answer.
func (n *node) synchronize(c *conn, reply any) {
	r := &n.repl
	answer, ok := reply.(*resync)
	if !ok || r.link != c {
		if r.link == c {
			n.unlink()
		}
		return
	}
	r.heard, r.synced = n.s.now, true
	if answer.keys != nil {
		n.keys.Restore(answer.keys)
		n.disk.replace(n.keys)
		r.id, r.offset, r.formerID = answer.id, answer.offset, ""
		r.backlog, r.first = nil, answer.offset
		n.dropReplicas()
		return
	}
	if answer.id != r.id {
		r.formerID, r.formerUntil, r.id = r.id, r.offset, answer.id
		n.dropReplicas()
	}
	for _, effects := range answer.missed {
		n.receive(c, effects)
	}
}

// psync answers a replica that wants to follow this server.
func (n *node) psync(from *session, args []string, reply func(any)) {
	follower, ok := from.c.end[0].proc.serve.(*node)
	if !ok || n.loading || n.master != nil && !n.repl.synced {
		reply(redis.Error("NOMASTERLINK Can't SYNC while not connected with my master"))
		return
	}
	offset, _ := strconv.ParseInt(args[2], 10, 64)
	r := &n.repl
	if r.continues(args[1], offset) {
		missed := slices.Clone(r.backlog[offset-r.first:])
		reply(&resync{id: r.id, offset: r.offset, missed: missed})
		r.replicas = append(r.replicas, &replica{session: from, node: follower, acked: offset})
		return
	}
	n.s.after(fullSyncTime, n.proc, func() {
		reply(&resync{id: r.id, offset: r.offset, keys: n.keys.Clone()})
		r.replicas = append(r.replicas, &replica{session: from, node: follower, acked: r.offset})
	})
}

// continues reports whether a server that is at offset of history id misses
// nothing but what the backlog has.
func (r *replication) continues(id string, offset int64) bool {
	known := id == r.id && offset <= r.offset || id == r.formerID && offset <= r.formerUntil
	return known && offset >= r.first
}

// follow makes the server a replica of master, or with nil a master.
func (n *node) follow(master *node) {
	if n.master == master {
		return
	}
	was := n.master
	n.master = master
	n.unlink()
	n.dropReplicas()
	r := &n.repl
	if master == nil {
		r.formerID, r.formerUntil, r.id = r.id, r.offset, n.newReplID()
		n.changed(n, true)
		return
	}
	n.unblock()
	n.connect()
	if was == nil {
		n.changed(n, false)
	}
}

func (n *node) newReplID() string {
	n.histories++
	return fmt.Sprintf("%s/%d", n.name, n.histories)
}

// dropReplicas makes the replicas ask again.
func (n *node) dropReplicas() {
	replicas := n.repl.replicas
	n.repl.replicas = nil
	for _, to := range replicas {
		to.session.c.close(1)
	}
}

// forget a client that was a replica.
func (r *replication) forget(gone *session) {
	r.replicas = slices.DeleteFunc(r.replicas, func(to *replica) bool { return to.session == gone })
}
