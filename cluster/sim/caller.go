package sim

import "time"

// caller is a server's connection to another server. It is dialled again
// when it breaks, and what is asked while it is down is not asked at all.
type caller struct {
	net  *network
	from *process
	to   *host
	c    *conn
	up   bool
	// since is when it came up, tried when it was last dialled.
	since, tried time.Duration
}

// redial is how long a server waits between two attempts to connect.
const redial = time.Second

// never is a moment before every other.
const never = -forever

func (n *network) caller(from *process, to *host) *caller {
	return &caller{net: n, from: from, to: to, tried: never}
}

// ensure dials if there is no connection.
func (l *caller) ensure() {
	now := l.net.s.now
	if l.c != nil || now-l.tried < redial {
		return
	}
	l.tried = now
	var c *conn
	c = l.net.dial(l.from, l.to, func(_ *conn, err error) {
		if l.c != c {
			return
		}
		if err != nil {
			l.c = nil
			return
		}
		l.up, l.since = true, l.net.s.now
		c.end[0].onBreak = l.gone
	})
	l.c = c
}

// ask sends a request; answer is called with the reply, if one comes.
func (l *caller) ask(answer func(reply any), args ...string) bool {
	if !l.up {
		return false
	}
	l.c.request(&exchange{args: args, done: func(x *exchange) {
		if x.err == nil && answer != nil {
			answer(x.reply)
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
		c.close(0)
	}
}
