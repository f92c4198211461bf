package sim

import (
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// member is what makes a server part of a Redis Cluster: it follows
// cluster.c of Redis 7.0 for three masters with a replica each and fixed
// slots. Members greet each other and pass on whom they cannot reach; what a
// majority of masters cannot reach has failed; its replica asks the masters
// for their votes and takes its slots over.
type member struct {
	n       *node
	timeout time.Duration // cluster-node-timeout

	// What nodes.conf keeps.
	epoch    int64 // of elections
	lastVote int64
	owners   [shards]claim

	// The process's own.
	peers    []*peer
	election election
	isDown   bool // the cluster, as this server sees it
	okSince  time.Duration
	votedAt  [shards]time.Duration
	stall    stall
}

// claim is which member owns a shard's slots, and by which election.
type claim struct {
	node  *node
	epoch int64
}

// peer is what a member knows of another one.
type peer struct {
	node    *node
	link    *caller
	pinged  time.Duration // when the unanswered ping was sent; never: none
	pong    time.Duration
	suspect bool // this server cannot reach it (PFAIL)
	failed  bool // a majority cannot (FAIL) …
	since   time.Duration
	reports map[*node]time.Duration // … or who says so, and when
}

// gossip is what members tell each other, as ping, as pong and unasked.
type gossip struct {
	from    *node
	epoch   int64
	owners  [shards]claim
	suspect []*node
	failed  []*node
}

// Times of cluster.c.
const (
	memberTick    = 100 * time.Millisecond
	writableDelay = 2 * time.Second // a master does not serve right after its start
	majority      = shards/2 + 1
)

// started begins membership of a process that has just started.
func (m *member) started(everyone []*node) {
	now := m.n.s.Now
	m.peers, m.election, m.stall = nil, election{at: vtime.Never}, stall{}
	m.isDown, m.okSince = now >= 0, now+writableDelay
	for i := range m.votedAt {
		m.votedAt[i] = vtime.Never
	}
	for _, o := range everyone {
		if o != m.n {
			m.peers = append(m.peers, &peer{node: o, link: newCaller(m.n.net, m.n.proc, o.box), pinged: vtime.Never,
				pong: now - m.n.net.Phase(m.timeout/2), reports: map[*node]time.Duration{}})
		}
	}
	m.n.s.Every(memberTick, m.n.net.Phase(memberTick), m.n.proc, m.tick)
}

func (m *member) peer(n *node) *peer {
	for _, p := range m.peers {
		if p.node == n {
			return p
		}
	}
	return nil
}

// owns reports whether this server is a master with slots.
func (m *member) owns() bool { return m.shard(m.n) >= 0 }

// shard is the number of the shard that a server owns; -1: none.
func (m *member) shard(n *node) int {
	for i, o := range m.owners {
		if o.node == n {
			return i
		}
	}
	return -1
}

// tick is what a member does ten times a second.
func (m *member) tick() {
	now := m.n.s.Now
	for _, p := range m.peers {
		p.link.ensure()
		if p.pinged == vtime.Never && now-p.pong > m.timeout/2 && m.greet(p) {
			p.pinged = now
		}
		silent := p.pinged != vtime.Never && now-p.pinged > m.timeout
		if p.pinged == vtime.Never && !p.link.up {
			silent = now-p.pong > m.timeout+m.timeout/2
		}
		p.suspect = p.suspect || silent
		if silent && p.link.up && now-p.pinged > m.timeout/2 && now-p.link.since > m.timeout {
			p.link.close()
			p.pinged = vtime.Never
		}
		m.condemn(p)
	}
	m.seekElection()
	m.stallTick()
	m.updateState()
}

// updateState decides whether this server serves at all: every slot must
// have a living master, and this side must see a majority of them.
func (m *member) updateState() {
	reachable, covered := 0, true
	for _, o := range m.owners {
		p := m.peer(o.node)
		if p == nil || !p.suspect && !p.failed {
			reachable++
		}
		covered = covered && (p == nil || !p.failed)
	}
	now := m.n.s.Now
	if !covered || reachable < majority {
		m.isDown = true
		m.okSince = now + min(max(m.timeout, 500*time.Millisecond), 5*time.Second)
	} else if m.isDown && (m.n.master != nil || now >= m.okSince) {
		m.isDown = false
	}
}

// refuses says why this server does not execute a command; empty: it does.
func (m *member) refuses(args []string) redis.Error {
	keys := keysOf(args)
	if len(keys) == 0 {
		return ""
	}
	s := slot(keys[0])
	for _, key := range keys[1:] {
		if slot(key) != s {
			return "CROSSSLOT Keys in request don't hash to the same slot"
		}
	}
	owner := m.owners[shardOf(s)].node
	switch {
	case m.isDown:
		return "CLUSTERDOWN The cluster is down"
	case owner != m.n:
		return redis.Error(fmt.Sprintf("MOVED %d %s:6379", s, owner.name))
	}
	return ""
}

// slotsReply answers CLUSTER SLOTS.
func (m *member) slotsReply() any {
	var rows []any
	for i, o := range m.owners {
		rows = append(rows, []any{int64(firstSlot(i)), int64(lastSlot(i)), []any{o.node.name, int64(6379), o.node.run}})
	}
	return rows
}
