package vtime

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// Conn is a TCP connection: end 0 dialled, end 1 accepted.
type Conn struct {
	net  *Network
	End  [2]end
	lost bool    // given up: nothing arrives any more
	Deaf [2]bool // what is sent to that end is swallowed

	Pending []*Exchange          // at end 0: requests without reply, oldest first
	OnPush  func(message string) // at end 0: takes what comes unasked
	Bytes   func([]byte)         // at end 0 of a wire: takes what comes
	Session *Session             // at end 1
}

// end is one side of a connection.
type end struct {
	Host    *Machine
	boots   int // of the host, when the connection was made
	Process *Process
	Open    bool
	last    time.Duration // when the last packet sent from here arrives
	// OnBreak is called in the process when the other side, or its kernel,
	// has ended the connection.
	OnBreak func()
}

// Exchange is one request and its reply, with the packets that carry them.
type Exchange struct {
	c     *Conn
	Args  []string
	Reply any
	Err   error
	Ended bool
	Done  func(*Exchange) // called in the asking process; nil: task waits
	Task  Waiter

	Late       time.Duration // so much longer than usual the request is under way
	Lost       bool          // the request never arrives
	Unanswered bool          // the reply never arrives

	there, back packet
}

// Session is what a server knows of one client.
type Session struct {
	Conn   *Conn
	Client bool // a worker, or the director: no other server
	Known  any  // what else the server knows
}

// Service is what a process does with requests.
type Service interface {
	// Serve answers one request, now or later.
	Serve(from *Session, args []string, reply func(any))
	// Hangup is told that the client's connection is gone.
	Hangup(from *Session)
}

// Dial opens a connection from a process to a host. done is called in the
// process, unless the answer never comes.
func (n *Network) Dial(from *Process, to *Machine, done func(*Conn, error)) *Conn {
	c := &Conn{net: n}
	c.End[0] = end{Host: from.Host, boots: from.Host.Boots, Process: from, Open: true, last: Never}
	c.End[1] = end{Host: to, boots: to.Boots, last: Never}
	from.Conns = append(from.Conns, c)
	refused := func() { c.shut(0); done(nil, fmt.Errorf("dial %s: %w", to.Name, env.ErrRefused)) }
	c.End[0].OnBreak = refused
	n.send(&packet{c: c, to: 1, kernel: func() { c.accept(done) }})
	return c
}

// Join opens a connection at once; nil if a packet could not get there and back,
// or nobody would accept it.
func (n *Network) Join(from *Process, to *Machine) *Conn {
	up := to.Up && to.Process != nil && !to.Process.Dead
	if !up || n.Link(from.Host, to).Cut || n.Link(to, from.Host).Cut {
		return nil
	}
	c := &Conn{net: n}
	c.End[0] = end{Host: from.Host, boots: from.Host.Boots, Process: from, Open: true, last: Never}
	c.End[1] = end{Host: to, boots: to.Boots, Process: to.Process, Open: true, last: Never}
	from.Conns = append(from.Conns, c)
	to.Process.Conns = append(to.Process.Conns, c)
	c.Session = &Session{Conn: c, Client: from.Host.Proxied || from.Host.Safe}
	return c
}

// accept is what the kernel of the called host does: it accepts as long as
// the process lives, even if it is paused.
func (c *Conn) accept(done func(*Conn, error)) {
	e := &c.End[1]
	if e.Host.Process == nil || e.Host.Process.Dead {
		c.say(1)
		return
	}
	*e = end{Host: e.Host, boots: e.Host.Boots, Process: e.Host.Process, Open: true, last: e.last}
	e.Process.Conns = append(e.Process.Conns, c)
	c.Session = &Session{Conn: c, Client: c.End[0].Host.Proxied || c.End[0].Host.Safe}
	c.Send(0, func() {
		c.End[0].OnBreak = nil
		done(c, nil)
	})
}

// Send carries a call to the process at an end.
func (c *Conn) Send(to int, deliver func()) {
	c.net.send(&packet{c: c, to: to, deliver: deliver})
}

// Request sends a command to the server. It ends with ErrReset if the
// connection breaks first; it may never end.
func (c *Conn) Request(x *Exchange) {
	x.c = c
	c.Pending = append(c.Pending, x)
	x.there = packet{c: c, to: 1, exchange: x, late: x.Late}
	if !x.Lost {
		c.net.send(&x.there)
	}
}

// answer sends the server's reply back.
func (x *Exchange) answer(reply any) {
	if x.c.End[1].Open {
		x.Reply = reply
		if w := x.c.net.Scheduler.Watcher; w != nil && x.Task.Task != nil {
			w.Answers(x)
		}
		if x.Unanswered {
			return
		}
		x.back = packet{c: x.c, to: 0, exchange: x}
		x.c.net.send(&x.back)
	}
}

// Session is what the server knows of who asks.
func (x *Exchange) Session() *Session { return x.c.Session }

// arrived: the request is at the server, or the reply back.
func (x *Exchange) arrived(at int) {
	if at == 1 {
		server := x.c.End[1].Process
		server.Serve.Serve(x.c.Session, x.Args, x.answer)
		if w := x.c.net.Scheduler.Watcher; w != nil && x.Task.Task != nil {
			w.Served(x, server)
		}
	} else if i := slices.Index(x.c.Pending, x); i >= 0 {
		x.c.Pending = slices.Delete(x.c.Pending, i, i+1)
		x.End(nil)
	}
}

func (x *Exchange) End(err error) {
	if x.Err, x.Ended = err, true; err != nil {
		x.Reply = nil // it may be on its way
	}
	if x.Done != nil {
		x.Done(x)
	} else {
		x.Task.Resume()
	}
}

// Close ends the connection from one side: the other is told, if the network
// lets it.
func (c *Conn) Close(from int) {
	if c.End[from].Open {
		c.shut(from)
		if from == 0 {
			c.Pending = nil // the task that waits has given up
		}
		c.say(from)
	}
}

// say tells the other side that the connection is at its end.
func (c *Conn) say(from int) {
	c.net.send(&packet{c: c, to: 1 - from, closing: true})
}

// GiveUp ends a connection whose packets got no answer for too long: both
// sides find out by themselves.
func (c *Conn) GiveUp() {
	c.lost = true
	c.net.Scheduler.After(0, nil, func() { c.broken(0); c.broken(1) })
}

// broken is the news that the other side has closed.
func (c *Conn) broken(at int) {
	e := &c.End[at]
	if !e.Open || e.Process == nil || e.Process.Dead {
		return
	}
	e.Process.do(func() {
		if !e.Open {
			return
		}
		c.shut(at)
		if at == 1 {
			e.Process.Serve.Hangup(c.Session)
			return
		}
		if e.OnBreak != nil {
			e.OnBreak()
		}
		c.fail()
	})
}

// fail ends the requests that wait.
func (c *Conn) fail() {
	pending := c.Pending
	c.Pending = nil
	for _, x := range pending {
		x.End(env.ErrReset)
	}
}

func (c *Conn) shut(at int) {
	e := &c.End[at]
	e.Open = false
	if i := slices.Index(e.Process.Conns, c); i >= 0 {
		e.Process.Conns = slices.Delete(e.Process.Conns, i, i+1)
	}
}

// Exit ends a process. With reset its kernel lives on and tells the peers;
// otherwise the machine is gone and says nothing.
func (n *Network) Exit(p *Process, reset bool) {
	conns := slices.Clone(p.Conns)
	p.kill()
	for _, c := range conns {
		at := 0
		if c.End[1].Process == p {
			at = 1
		}
		c.shut(at)
		if reset {
			c.say(at)
		}
	}
	p.Conns = nil
}
