package vtime

import (
	"math/rand/v2"
	"time"
)

// Network carries packets between hosts. Each ordered pair of hosts is a
// link of its own, so that one direction can be cut alone.
type Network struct {
	Scheduler *Scheduler
	Rand      *rand.Rand
	Hosts     []*Machine
	links     [][]*link  // by index of sender and receiver; nil, or beyond the end: not used yet
	spread    [][]uint32 // by the later host of a pair: what the base of its links exceeds BaseLatency by (ns), to it and then from it
	// Still: nothing is left to chance. Every packet takes BaseLatency, no
	// connection is given up after a cut, and servers do no housekeeping.
	Still bool
}

// Watcher is told of each step of a scene at which something could happen.
type Watcher interface {
	// GoesOn is called by a task of a worker's program that has waited and goes on.
	// It may park the task.
	GoesOn(t *Task)
	// Sends is called by a task that is about to send a request. It may park the task.
	Sends(x *Exchange, to *Machine)
	// Answers is called when a server is about to send a reply; Served, when it has
	// done what a request asks for, be it that the request waits now.
	Answers(x *Exchange)
	Served(x *Exchange, server *Process)
}

// Machine is a machine: it has a wall clock, and a process as long as one lives.
type Machine struct {
	Name    string
	index   int
	Up      bool // down: silence
	Boots   int  // how often it has come up: a reboot forgets connections
	Process *Process
	Wall    Wall
	Looked  bool // a program has looked at its wall clock
	Safe    bool // no fault touches its links: the director's
	// Proxied: its links run through something that drops what it drops for
	// good (the clients' side of a real cluster is cut in their dialer).
	Proxied bool
}

// link is one direction between two hosts.
type link struct {
	base    time.Duration // latency without jitter
	Cut     bool
	Loss    float64   // share of packets lost, to be sent again
	held    []*packet // sent into a cut, in order
	dropped int       // packets that were lost at least once
}

// packet is what one end of a connection sends to the other.
type packet struct {
	c     *Conn
	to    int // end of c
	sent  time.Duration
	boots int // of the sender: what a dead machine holds is gone
	// What happens in the receiving process: an exchange goes on, or a call.
	exchange *Exchange
	deliver  func()
	kernel   func()        // called on the receiving machine, whether a process lives or not
	tries    int           // of a kernel that gets no answer
	closing  bool          // the sender says goodbye (FIN) or never knew you (RST)
	late     time.Duration // so much longer than usual it is under way
}

// Latency of a local network, one way. Each link has its own base.
const (
	BaseLatency = 100 * time.Microsecond
	baseSpread  = 150 * time.Microsecond
	jitter      = 250 * time.Microsecond
)

// As TCP: a lost segment is sent again after rto, then after twice as long
// each time, but at least every maxBackoff; after a cut is healed nothing
// waits longer than that.
const (
	rto        = 200 * time.Millisecond
	MaxBackoff = time.Second
	maxTries   = 8
	synRetry   = time.Second
)

// survives is how likely a connection is to outlive a cut in which it has
// unacknowledged data: routers and kernels give up in their own time.
const survives = 0.75

func NewNetwork(s *Scheduler, r *rand.Rand) *Network {
	return &Network{Scheduler: s, Rand: r}
}

// Add brings a host up. How slow its links are is drawn now, so that a seed decides
// it whichever are used; they exist from their first use on, since most pairs of
// thousands of workers never talk.
func (n *Network) Add(name string) *Machine {
	h := &Machine{Name: name, index: len(n.Hosts), Up: true, Boots: 1}
	n.Hosts = append(n.Hosts, h)
	spread := make([]uint32, 2*h.index+1)
	for i := 0; i < len(spread) && !n.Still; i++ {
		spread[i] = uint32(n.Rand.Int64N(int64(baseSpread)))
	}
	n.spread, n.links = append(n.spread, spread), append(n.links, nil)
	return h
}

// Link is the one from a host to another.
func (n *Network) Link(from, to *Machine) *link {
	row := n.links[from.index]
	if missing := to.index + 1 - len(row); missing > 0 {
		row = append(row, make([]*link, missing)...)
		n.links[from.index] = row
	}
	if row[to.index] == nil {
		row[to.index] = &link{base: n.base(from.index, to.index)}
	}
	return row[to.index]
}

func (n *Network) base(from, to int) time.Duration {
	if from < to {
		return BaseLatency + time.Duration(n.spread[to][from])
	}
	return BaseLatency + time.Duration(n.spread[from][from+to])
}

// Hurt calls f for each link that is cut or loses packets.
func (n *Network) Hurt(f func(from, to *Machine)) {
	for i, row := range n.links {
		for j, l := range row {
			if l != nil && (l.Cut || l.Loss > 0) {
				f(n.Hosts[i], n.Hosts[j])
			}
		}
	}
}

func (n *Network) latency(l *link) time.Duration {
	if n.Still {
		return l.base
	}
	return l.base + time.Duration(n.Rand.Int64N(int64(jitter)))
}

// send puts a packet on its way. Packets of one connection and direction
// arrive in the order in which they were sent.
func (n *Network) send(p *packet) {
	from := &p.c.End[1-p.to]
	p.sent, p.boots = n.Scheduler.Now, from.Host.Boots
	if !from.Host.Up || p.c.lost || p.c.Deaf[p.to] {
		return
	}
	l := n.Link(from.Host, p.c.End[p.to].Host)
	if l.Cut {
		l.dropped++
		l.held = append(l.held, p)
		return
	}
	n.transmit(l, p, n.Scheduler.Now)
}

// transmit sends p over an open link at the moment from.
func (n *Network) transmit(l *link, p *packet, from time.Duration) {
	sender := &p.c.End[1-p.to]
	wait, step := time.Duration(0), rto
	for try := 1; l.Loss > 0 && n.Rand.Float64() < l.Loss; try++ {
		l.dropped++
		if sender.Host.Proxied || p.c.End[p.to].Host.Proxied {
			p.c.Deaf[p.to] = true // a hole in the stream: nothing after it counts
			return
		}
		if try == maxTries {
			p.c.GiveUp()
			return
		}
		wait, step = wait+step, min(2*step, MaxBackoff)
	}
	at := max(from+wait+p.late+n.latency(l), sender.last)
	sender.last = at
	n.Scheduler.push(event{at: at, packet: p, idle: n.Scheduler.idle})
}

// arrive hands a packet to the receiving process, or answers as the kernel of
// its machine does.
func (n *Network) arrive(p *packet) {
	e := &p.c.End[p.to]
	switch {
	case p.c.lost:
	case !e.Host.Up:
		n.retry(p)
	case p.kernel != nil:
		p.kernel()
	case p.closing:
		p.c.broken(p.to)
	case e.Host.Boots != e.boots || !e.Open || e.Process.Dead:
		p.c.say(p.to) // RST
	default:
		if !e.Process.takes(event{packet: p}) {
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
func (n *Network) retry(p *packet) {
	from := &p.c.End[1-p.to]
	if p.kernel == nil || !from.Open || from.Process.Dead {
		return
	}
	n.Scheduler.After(synRetry<<p.tries, nil, func() { n.send(p) })
	p.tries = min(p.tries+1, 5)
}

// Phase draws the moment at which something periodic begins: no two clocks
// of a network tick together.
func (n *Network) Phase(d time.Duration) time.Duration {
	return time.Duration(n.Rand.Int64N(int64(d)))
}

// Cut holds back what is sent from one host to another from now on.
func (n *Network) Cut(from, to *Machine) { n.Link(from, to).Cut = true }

// Mend opens a link again. What TCP holds for it is sent again when the
// sender's timer next goes off, or the connection is found to be lost.
func (n *Network) Mend(l *link) {
	l.Loss = 0
	if !l.Cut {
		return
	}
	l.Cut = false
	held := l.held
	l.held = nil
	decided := map[*Conn]bool{}
	for _, p := range held {
		if !decided[p.c] {
			decided[p.c] = true
			if !n.Still && n.Rand.Float64() >= survives {
				p.c.GiveUp()
			}
		}
		h := p.c.End[1-p.to].Host
		if p.c.lost || !h.Up || h.Boots != p.boots {
			continue
		}
		n.transmit(l, p, min(NextTry(p.sent, n.Scheduler.Now), n.Scheduler.Now+MaxBackoff))
	}
}

// NextTry is when TCP sends a segment again that it first sent at the moment
// sent, not before now.
func NextTry(sent, now time.Duration) time.Duration {
	t, step := sent, rto
	for t < now {
		t, step = t+step, 2*step
	}
	return t
}

// Probe sends a packet of no connection (a ping); arrived is called if it
// gets there.
func (n *Network) Probe(from, to *Machine, arrived func()) {
	l := n.Link(from, to)
	if !from.Up || l.Cut || l.Loss > 0 && n.Rand.Float64() < l.Loss {
		l.dropped++
		return
	}
	n.Scheduler.After(n.latency(l), nil, func() {
		if to.Up {
			arrived()
		}
	})
}
