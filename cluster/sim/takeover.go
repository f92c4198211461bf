package sim

import (
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// election is a replica's attempt to take its master's slots over.
type election struct {
	at     time.Duration // when it asks, or asked, for votes; never: it does not
	asked  bool
	epoch  int64
	votes  int
	forced bool // by CLUSTER FAILOVER: the master need not have failed
}

// electionDelay: a replica gives the news of the failure time to spread.
const electionDelay = 500 * time.Millisecond

// seekElection is what a replica does when its master has failed.
func (m *member) seekElection() {
	now, e := m.n.s.Now, &m.election
	if m.n.master == nil {
		return
	}
	p := m.peer(m.n.master)
	stale := !m.n.repl.synced && now-m.n.repl.downSince > 10*m.timeout+10*time.Second
	if m.shard(m.n.master) < 0 || !p.failed && !e.forced || stale {
		*e = election{at: vtime.Never}
		return
	}
	patience := max(2*m.timeout, 2*time.Second)
	switch {
	case e.at == vtime.Never || now-e.at > 2*patience:
		wait := electionDelay + m.n.net.Phase(electionDelay)
		if e.forced {
			wait = 0
		}
		*e = election{at: now + wait, forced: e.forced}
	case now >= e.at && !e.asked:
		m.epoch++
		e.asked, e.epoch = true, m.epoch
		request := *e
		m.tellAll(func(to *member) { to.askedForVote(m.n, request) })
	}
}

// askedForVote is a master's answer to a replica.
func (m *member) askedForVote(by *node, e election) {
	m.epoch = max(m.epoch, e.epoch)
	shard := m.shard(by.master)
	if !m.owns() || shard < 0 || e.epoch < m.epoch || m.lastVote == m.epoch {
		return
	}
	if p := m.peer(by.master); !e.forced && (p == nil || !p.failed) {
		return
	}
	if m.n.s.Now-m.votedAt[shard] < 2*m.timeout {
		return
	}
	m.lastVote, m.votedAt[shard] = e.epoch, m.n.s.Now
	m.tell(m.peer(by), func(to *member) { to.gotVote(e.epoch) })
}

func (m *member) gotVote(epoch int64) {
	e := &m.election
	if e.at == vtime.Never || !e.asked || epoch != e.epoch || m.n.master == nil {
		return
	}
	if e.votes++; e.votes < majority {
		return
	}
	i := m.shard(m.n.master)
	m.owners[i] = claim{m.n, e.epoch}
	m.election = election{at: vtime.Never}
	m.n.follow(nil)
	g := m.news()
	m.tellAll(func(to *member) { to.hear(g) })
}

// stall is a master's part in a manual failover: it holds its clients'
// requests back until its replica has everything.
type stall struct {
	until   time.Duration
	replica *node
	held    []func()
}

// stallTime is how long a master waits for the replica.
const stallTime = 5 * time.Second

// failoverCommand is CLUSTER FAILOVER, sent to a replica.
func (m *member) failoverCommand() any {
	if m.n.master == nil {
		return redis.Error("ERR You should send CLUSTER FAILOVER to a replica")
	}
	if !m.n.repl.synced {
		return redis.Error("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE")
	}
	by := m.n
	m.tell(m.peer(m.n.master), func(master *member) { master.standStill(by) })
	return "OK"
}

func (m *member) standStill(replica *node) {
	m.stall = stall{until: m.n.s.Now + stallTime, replica: replica}
	m.stallTick()
}

// stallTick tells the replica to go ahead as soon as it has everything.
func (m *member) stallTick() {
	if m.stall.replica == nil {
		return
	}
	if m.n.s.Now >= m.stall.until {
		m.release()
		return
	}
	offset := m.n.repl.offset
	m.tell(m.peer(m.stall.replica), func(to *member) {
		if to.n.repl.offset == offset && to.n.master != nil && !to.election.forced {
			to.election = election{at: to.n.s.Now, forced: true}
			to.seekElection()
		}
	})
}

// release serves what was held back.
func (m *member) release() {
	held := m.stall.held
	m.stall = stall{}
	for _, f := range held {
		f()
	}
}

// holdsBack reports whether a request has to wait; f will serve it.
func (m *member) holdsBack(args []string, f func()) bool {
	if m.stall.replica == nil || len(keysOf(args)) == 0 {
		return false
	}
	m.stall.held = append(m.stall.held, f)
	return true
}

// clusterMasters are the owners of the shards by the latest election that
// any living server knows of.
func (c *system) clusterMasters() []*node {
	latest := c.site.redis[0].member.owners
	for _, n := range c.site.redis {
		for i, o := range n.member.owners {
			if o.epoch > latest[i].epoch {
				latest[i] = o
			}
		}
	}
	masters := make([]*node, shards)
	for i, o := range latest {
		masters[i] = o.node
	}
	return masters
}
