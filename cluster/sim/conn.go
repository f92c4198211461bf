package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/resp"
	"github.com/lockcheck/lockcheck/workload/env"
)

// conn is a TCP connection: end 0 dialled, end 1 accepted.
type conn struct {
	net  *network
	end  [2]end
	lost bool    // given up: nothing arrives any more
	deaf [2]bool // what is sent to that end is swallowed

	pending []*exchange          // at end 0: requests without reply, oldest first
	onPush  func(message string) // at end 0: takes what comes unasked
	bytes   func([]byte)         // at end 0 of a wire: takes what comes
	session *session             // at end 1
}

// end is one side of a connection.
type end struct {
	host  *host
	boots int // of the host, when the connection was made
	proc  *process
	open  bool
	last  time.Duration // when the last packet sent from here arrives
	// onBreak is called in the process when the other side, or its kernel,
	// has ended the connection.
	onBreak func()
}

// exchange is one request and its reply, with the packets that carry them.
type exchange struct {
	c     *conn
	args  []string
	reply any
	err   error
	ended bool
	done  func(*exchange) // called in the asking process; nil: task waits
	task  waiter

	there, back packet
}

// session is what a server knows of one client.
type session struct {
	c      *conn
	wrote  int64 // replication offset after the client's last write
	client bool  // a worker, or the director: no other server

	front    *resp.Session           // of a wire: the client writes bytes
	switched func(before, now *node) // of a wire: a Sentinel tells it so
}

// service is what a process does with requests.
type service interface {
	// serve answers one request, now or later.
	serve(from *session, args []string, reply func(any))
	// hangup is told that the client's connection is gone.
	hangup(from *session)
}

// dial opens a connection from a process to a host. done is called in the
// process, unless the answer never comes.
func (n *network) dial(from *process, to *host, done func(*conn, error)) *conn {
	c := &conn{net: n}
	c.end[0] = end{host: from.host, boots: from.host.boots, proc: from, open: true, last: never}
	c.end[1] = end{host: to, boots: to.boots, last: never}
	from.conns = append(from.conns, c)
	refused := func() { c.shut(0); done(nil, fmt.Errorf("dial %s: %w", to.name, env.ErrRefused)) }
	c.end[0].onBreak = refused
	n.send(&packet{c: c, to: 1, kernel: func() { c.accept(done) }})
	return c
}

// accept is what the kernel of the called host does: it accepts as long as
// the process lives, even if it is paused.
func (c *conn) accept(done func(*conn, error)) {
	e := &c.end[1]
	if e.host.proc == nil || e.host.proc.dead {
		c.say(1)
		return
	}
	*e = end{host: e.host, boots: e.host.boots, proc: e.host.proc, open: true, last: e.last}
	e.proc.conns = append(e.proc.conns, c)
	c.session = &session{c: c, client: c.end[0].host.proxied || c.end[0].host.safe}
	c.send(0, func() {
		c.end[0].onBreak = nil
		done(c, nil)
	})
}

// send carries a call to the process at an end.
func (c *conn) send(to int, deliver func()) {
	c.net.send(&packet{c: c, to: to, deliver: deliver})
}

// request sends a command to the server. It ends with ErrReset if the
// connection breaks first; it may never end.
func (c *conn) request(x *exchange) {
	x.c = c
	c.pending = append(c.pending, x)
	x.there = packet{c: c, to: 1, exchange: x}
	c.net.send(&x.there)
}

// answer sends the server's reply back.
func (x *exchange) answer(reply any) {
	if x.c.end[1].open {
		x.reply = reply
		x.back = packet{c: x.c, to: 0, exchange: x}
		x.c.net.send(&x.back)
	}
}

// arrived: the request is at the server, or the reply back.
func (x *exchange) arrived(at int) {
	if at == 1 {
		x.c.end[1].proc.serve.serve(x.c.session, x.args, x.answer)
	} else if i := slices.Index(x.c.pending, x); i >= 0 {
		x.c.pending = slices.Delete(x.c.pending, i, i+1)
		x.end(nil)
	}
}

func (x *exchange) end(err error) {
	if x.err, x.ended = err, true; err != nil {
		x.reply = nil // it may be on its way
	}
	if x.done != nil {
		x.done(x)
	} else {
		x.task.resume()
	}
}

// close ends the connection from one side: the other is told, if the network
// lets it.
func (c *conn) close(from int) {
	if c.end[from].open {
		c.shut(from)
		if from == 0 {
			c.pending = nil // whoever waits has given up
		}
		c.say(from)
	}
}

// say tells the other side that the connection is at its end.
func (c *conn) say(from int) {
	c.net.send(&packet{c: c, to: 1 - from, closing: true})
}

// giveUp ends a connection whose packets got no answer for too long: both
// sides find out by themselves.
func (c *conn) giveUp() {
	c.lost = true
	c.net.s.after(0, nil, func() { c.broken(0); c.broken(1) })
}

// broken is the news that the other side has closed.
func (c *conn) broken(at int) {
	e := &c.end[at]
	if !e.open || e.proc == nil || e.proc.dead {
		return
	}
	e.proc.do(func() {
		if !e.open {
			return
		}
		c.shut(at)
		if at == 1 {
			e.proc.serve.hangup(c.session)
			return
		}
		if e.onBreak != nil {
			e.onBreak()
		}
		c.fail()
	})
}

// fail ends the requests that wait.
func (c *conn) fail() {
	pending := c.pending
	c.pending = nil
	for _, x := range pending {
		x.end(env.ErrReset)
	}
}

func (c *conn) shut(at int) {
	e := &c.end[at]
	e.open = false
	if i := slices.Index(e.proc.conns, c); i >= 0 {
		e.proc.conns = slices.Delete(e.proc.conns, i, i+1)
	}
}

// exit ends a process. With reset its kernel lives on and tells the peers;
// otherwise the machine is gone and says nothing.
func (n *network) exit(p *process, reset bool) {
	conns := slices.Clone(p.conns)
	p.kill()
	for _, c := range conns {
		at := 0
		if c.end[1].proc == p {
			at = 1
		}
		c.shut(at)
		if reset {
			c.say(at)
		}
	}
	p.conns = nil
}
