package sim

import "github.com/lockcheck/lockcheck/cluster/sim/vtime"

import "time"

// caller is a server's connection to another server. It is dialled again
// when it breaks, and what is asked while it is down is not asked at all.
type caller struct {
	net  *vtime.Network
	from *vtime.Process
	to   *vtime.Machine
	c    *vtime.Conn
	up   bool
	// since is when it came up, tried when it was last dialled.
	since, tried time.Duration
}

// redial is how long a server waits between two attempts to connect.
const redial = time.Second

func newCaller(n *vtime.Network, from *vtime.Process, to *vtime.Machine) *caller {
	return &caller{net: n, from: from, to: to, tried: vtime.Never}
}

// ensure dials if there is no connection.
func (l *caller) ensure() {
	now := l.net.Scheduler.Now
	if l.c != nil || now-l.tried < redial {
		return
	}
	l.tried = now
	var c *vtime.Conn
	c = l.net.Dial(l.from, l.to, func(_ *vtime.Conn, err error) {
		if l.c != c {
			return
		}
		if err != nil {
			l.c = nil
			return
		}
		l.up, l.since = true, l.net.Scheduler.Now
		c.End[0].OnBreak = l.gone
	})
	l.c = c
}

// ask sends a request; answer is called with the reply, if one comes.
func (l *caller) ask(answer func(reply any), args ...string) bool {
	if !l.up {
		return false
	}
	l.c.Request(&vtime.Exchange{Args: args, Done: func(x *vtime.Exchange) {
		if x.Err == nil && answer != nil {
			answer(x.Reply)
		}
	}})
	return true
}

func (l *caller) gone() { l.c, l.up = nil, false }

// close gives the connection up, to dial a new one.
func (l *caller) close() {
	if l.c != nil {
		c := l.c
		l.gone()
		c.Close(0)
	}
}
