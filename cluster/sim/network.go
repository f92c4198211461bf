package sim

import (
	"math/rand/v2"
	"time"
)

// network carries packets between hosts. Each ordered pair of hosts is a
// link of its own, so that one direction can be cut alone.
type network struct {
	s     *scheduler
	rand  *rand.Rand
	hosts []*host
	links [][]*link // by index of sender and receiver
}

// host is a machine: it has a wall clock, and a process as long as one lives.
type host struct {
	name  string
	index int
	up    bool // down: silence
	boots int  // how often it has come up: a reboot forgets connections
	proc  *process
	wall  wall
	safe  bool // no fault touches its links: the director's
	// proxied: its links run through something that drops what it drops for
	// good (the clients' side of a real cluster is cut in their dialer).
	proxied bool
}

// link is one direction between two hosts.
type link struct {
	base    time.Duration // latency without jitter
	cut     bool
	loss    float64   // share of packets lost, to be sent again
	held    []*packet // sent into a cut, in order
	dropped int       // packets that were lost at least once
}

// packet is what one end of a connection sends to the other.
type packet struct {
	c     *conn
	to    int // end of c
	sent  time.Duration
	boots int // of the sender: what a dead machine holds is gone
	// What happens in the receiving process: an exchange goes on, or a call.
	exchange *exchange
	deliver  func()
	kernel   func() // called on the receiving machine, whether a process lives or not
	tries    int    // of a kernel that gets no answer
	closing  bool   // the sender says goodbye (FIN) or never knew you (RST)
}

// Latency of a local network, one way. Each link has its own base.
const (
	baseLatency = 100 * time.Microsecond
	baseSpread  = 150 * time.Microsecond
	jitter      = 250 * time.Microsecond
)

// As TCP: a lost segment is sent again after rto, then after twice as long
// each time, but at least every maxBackoff; after a cut is healed nothing
// waits longer than that.
const (
	rto        = 200 * time.Millisecond
	maxBackoff = time.Second
	maxTries   = 8
	synRetry   = time.Second
)

// survives is how likely a connection is to outlive a cut in which it has
// unacknowledged data: routers and kernels give up in their own time.
const survives = 0.75

func newNetwork(s *scheduler, r *rand.Rand) *network {
	return &network{s: s, rand: r}
}

// add brings a host up.
func (n *network) add(name string) *host {
	h := &host{name: name, index: len(n.hosts), up: true, boots: 1}
	n.hosts = append(n.hosts, h)
	for i := range n.links {
		n.links[i] = append(n.links[i], n.newLink())
	}
	row := make([]*link, len(n.hosts))
	for i := range row {
		row[i] = n.newLink()
	}
	n.links = append(n.links, row)
	return h
}

func (n *network) newLink() *link {
	return &link{base: baseLatency + time.Duration(n.rand.Int64N(int64(baseSpread)))}
}

func (n *network) link(from, to *host) *link { return n.links[from.index][to.index] }

func (n *network) latency(l *link) time.Duration {
	return l.base + time.Duration(n.rand.Int64N(int64(jitter)))
}

// send puts a packet on its way. Packets of one connection and direction
// arrive in the order in which they were sent.
func (n *network) send(p *packet) {
	from := &p.c.end[1-p.to]
	p.sent, p.boots = n.s.now, from.host.boots
	if !from.host.up || p.c.lost || p.c.deaf[p.to] {
		return
	}
	l := n.link(from.host, p.c.end[p.to].host)
	if l.cut {
		l.dropped++
		l.held = append(l.held, p)
		return
	}
	n.transmit(l, p, n.s.now)
}

// transmit sends p over an open link at the moment from.
func (n *network) transmit(l *link, p *packet, from time.Duration) {
	sender := &p.c.end[1-p.to]
	wait, step := time.Duration(0), rto
	for try := 1; l.loss > 0 && n.rand.Float64() < l.loss; try++ {
		l.dropped++
		if sender.host.proxied || p.c.end[p.to].host.proxied {
			p.c.deaf[p.to] = true // a hole in the stream: nothing after it counts
			return
		}
		if try == maxTries {
			p.c.giveUp()
			return
		}
		wait, step = wait+step, min(2*step, maxBackoff)
	}
	at := max(from+wait+n.latency(l), sender.last)
	sender.last = at
	n.s.push(event{at: at, packet: p, idle: n.s.idle})
}

// arrive hands a packet to the receiving process, or answers as the kernel of
// its machine does.
func (n *network) arrive(p *packet) {
	e := &p.c.end[p.to]
	switch {
	case p.c.lost:
	case !e.host.up:
		n.retry(p)
	case p.kernel != nil:
		p.kernel()
	case p.closing:
		p.c.broken(p.to)
	case e.host.boots != e.boots || !e.open || e.proc.dead:
		p.c.say(p.to) // RST
	default:
		if !e.proc.takes(event{packet: p}) {
			return
		}
		if p.exchange != nil {
			p.exchange.arrived(p.to)
		} else {
			p.deliver()
		}
	}
}

// retry sends a request for a connection again to a machine that is down, as
// a kernel does: after 1, 2, 4, … seconds.
func (n *network) retry(p *packet) {
	from := &p.c.end[1-p.to]
	if p.kernel == nil || !from.open || from.proc.dead {
		return
	}
	n.s.after(synRetry<<p.tries, nil, func() { n.send(p) })
	p.tries = min(p.tries+1, 5)
}

// phase draws the moment at which something periodic begins: no two clocks
// of a network tick together.
func (n *network) phase(d time.Duration) time.Duration {
	return time.Duration(n.rand.Int64N(int64(d)))
}

// cut holds back what is sent from one host to another from now on.
func (n *network) cut(from, to *host) { n.link(from, to).cut = true }

// mend opens a link again. What TCP holds for it is sent again when the
// sender's timer next goes off, or the connection is found to be lost.
func (n *network) mend(l *link) {
	l.loss = 0
	if !l.cut {
		return
	}
	l.cut = false
	held := l.held
	l.held = nil
	decided := map[*conn]bool{}
	for _, p := range held {
		if !decided[p.c] {
			decided[p.c] = true
			if n.rand.Float64() >= survives {
				p.c.giveUp()
			}
		}
		h := p.c.end[1-p.to].host
		if p.c.lost || !h.up || h.boots != p.boots {
			continue
		}
		n.transmit(l, p, min(nextTry(p.sent, n.s.now), n.s.now+maxBackoff))
	}
}

// nextTry is when TCP sends a segment again that it first sent at the moment
// sent, not before now.
func nextTry(sent, now time.Duration) time.Duration {
	t, step := sent, rto
	for t < now {
		t, step = t+step, 2*step
	}
	return t
}

// probe sends a packet of no connection (a ping); arrived is called if it
// gets there.
func (n *network) probe(from, to *host, arrived func()) {
	l := n.link(from, to)
	if !from.up || l.cut || l.loss > 0 && n.rand.Float64() < l.loss {
		l.dropped++
		return
	}
	n.s.after(n.latency(l), nil, func() {
		if to.up {
			arrived()
		}
	})
}
