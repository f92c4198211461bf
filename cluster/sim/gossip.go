package sim

import "github.com/lockcheck/lockcheck/cluster/sim/vtime"

// tell sends something to a peer's process, if there is a connection.
func (m *member) tell(p *peer, f func(to *member)) bool {
	if !p.link.up {
		return false
	}
	c := p.link.c
	c.Send(1, func() {
		if n, ok := c.End[1].Process.Serve.(*node); ok && n.member != nil {
			f(n.member)
		}
	})
	return true
}

func (m *member) tellAll(f func(to *member)) {
	for _, p := range m.peers {
		m.tell(p, f)
	}
}

// news is what this member has to say.
func (m *member) news() gossip {
	g := gossip{from: m.n, epoch: m.epoch, owners: m.owners}
	for _, p := range m.peers {
		if p.failed {
			g.failed = append(g.failed, p.node)
		} else if p.suspect {
			g.suspect = append(g.suspect, p.node)
		}
	}
	return g
}

// greet pings a peer: news for news.
func (m *member) greet(p *peer) bool {
	g, c := m.news(), p.link.c
	return m.tell(p, func(to *member) {
		to.hear(g)
		answer := to.news()
		c.Send(0, func() {
			p.pinged, p.pong, p.suspect = vtime.Never, m.n.s.Now, false
			m.pardon(p)
			m.hear(answer)
		})
	})
}

// hear takes in a member's news.
func (m *member) hear(g gossip) {
	m.epoch = max(m.epoch, g.epoch)
	for i, theirs := range g.owners {
		if theirs.epoch > m.owners[i].epoch {
			m.takeOver(i, theirs)
		}
	}
	if m.shard(g.from) < 0 {
		return // only masters have a say in which member has failed
	}
	for _, p := range m.peers {
		delete(p.reports, g.from)
	}
	for _, n := range append(g.suspect, g.failed...) {
		if p := m.peer(n); p != nil {
			p.reports[g.from] = m.n.s.Now
		}
	}
}

// takeOver learns of a shard's new owner. A member that owned the shard, or
// followed its owner, follows the new one.
func (m *member) takeOver(i int, now claim) {
	before := m.owners[i].node
	m.owners[i] = now
	switch {
	case now.node == m.n:
	case before == m.n, m.n.master == before:
		m.n.follow(now.node)
		m.election = election{at: vtime.Never}
		m.release()
	}
}

// condemn declares a peer failed when a majority of masters cannot reach it.
func (m *member) condemn(p *peer) {
	if !p.suspect || p.failed {
		return
	}
	count := 0
	if m.owns() {
		count++
	}
	for _, o := range m.owners {
		if at, ok := p.reports[o.node]; ok && m.n.s.Now-at < 2*m.timeout {
			count++
		}
	}
	if count < majority {
		return
	}
	m.fail(p)
	gone := p.node
	m.tellAll(func(to *member) {
		if p := to.peer(gone); p != nil {
			to.fail(p)
		}
	})
}

func (m *member) fail(p *peer) {
	if !p.failed {
		p.failed, p.since = true, m.n.s.Now
	}
}

// pardon takes a failure back when the peer answers again: of a master with
// slots only after a while, for it may be about to lose them.
func (m *member) pardon(p *peer) {
	if p.failed && (m.shard(p.node) < 0 || m.n.s.Now-p.since > 2*m.timeout) {
		p.failed = false
	}
}
