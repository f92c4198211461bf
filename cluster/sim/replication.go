package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
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

	link   *vtime.Conn // to the master; nil: none
	synced bool        // the link is up and the state is the master's
	heard  time.Duration
	// downSince is since when the link has not been in order.
	downSince time.Duration
}

// replica is what a master knows of one of its replicas.
type replica struct {
	session *vtime.Session
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
	n.disk.append(n.s.Now, n.wall(), effects)
	for _, to := range r.replicas {
		c := to.session.Conn
		c.Send(0, func() { to.node.receive(c, effects) })
	}
}

// receive applies a write that came from the master over c.
func (n *node) receive(c *vtime.Conn, effects [][]string) {
	if n.repl.link != c {
		return
	}
	n.repl.heard = n.s.Now
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
	case n.s.Now-r.heard > replTimeout, !r.synced && n.s.Now-r.heard > connectTimeout:
		n.unlink()
		n.connect()
	case r.synced:
		n.sendAck(r.link)
	}
	for _, to := range r.replicas {
		c := to.session.Conn
		c.Send(0, func() { to.node.repl.heard = n.s.Now })
	}
}

// unlink closes the connection with the master.
func (n *node) unlink() {
	if c := n.repl.link; c != nil {
		n.lostLink()
		c.Close(0)
	}
}

func (n *node) lostLink() {
	if n.repl.synced {
		n.repl.downSince = n.s.Now
	}
	n.repl.link, n.repl.synced = nil, false
}

// connect asks the master for what this server misses.
func (n *node) connect() {
	master := n.master
	n.repl.heard, n.repl.synced = n.s.Now, false
	n.repl.link = n.net.Dial(n.proc, master.box, func(c *vtime.Conn, err error) {
		if n.repl.link != c && err == nil {
			c.Close(0)
			return
		}
		if err != nil {
			n.repl.link = nil
			return
		}
		c.End[0].OnBreak = func() { n.masterGone(c) }
		args := []string{"PSYNC", n.repl.id, strconv.FormatInt(n.repl.offset, 10)}
		c.Request(&vtime.Exchange{Args: args, Done: func(x *vtime.Exchange) { n.synchronize(c, x.Reply) }})
	})
}

// masterGone: the connection broke. A replica tries again at once, then
// every second.
func (n *node) masterGone(c *vtime.Conn) {
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
func (n *node) synchronize(c *vtime.Conn, reply any) {
	r := &n.repl
	answer, ok := reply.(*resync)
	if !ok || r.link != c {
		if r.link == c {
			n.unlink()
		}
		return
	}
	r.heard, r.synced = n.s.Now, true
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
func (n *node) psync(from *vtime.Session, args []string, reply func(any)) {
	follower, ok := from.Conn.End[0].Process.Serve.(*node)
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
	n.s.After(fullSyncTime, n.proc, func() {
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
		to.session.Conn.Close(1)
	}
}

// forget a client that was a replica.
func (r *replication) forget(gone *vtime.Session) {
	r.replicas = slices.DeleteFunc(r.replicas, func(to *replica) bool { return to.session == gone })
}
