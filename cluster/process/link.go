//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lockcheck/lockcheck/internal/wait"
)

// link is a worker process's way to one server. Cutting it needs no right but
// to one's own connections, so workers need not be root; and it is exact: one
// process, one server, one direction.
//
// A cut link behaves as TCP does. What is sent waits and arrives after the
// healing, even if the sender has given up and closed the connection: or it
// never arrives (half of the time, by the seed). What the server answers waits
// too. New connections get no answer.
type link struct {
	name string
	dial string
	harm atomic.Pointer[Cut] // nil: whole
	lost atomic.Int64        // packets, by loss

	greeting []byte // sent ahead of what a connection sends first

	mu   sync.Mutex // of rand
	rand *rand.Rand
}

// stallStep is how often a stalled call looks whether the link is whole again.
const stallStep = 2 * time.Millisecond

// cut sets what is wrong with the link; the zero Cut heals it.
func (l *link) cut(c Cut) {
	if c == (Cut{}) {
		l.harm.Store(nil)
		return
	}
	l.harm.Store(&c)
}

func (l *link) state() Cut {
	if c := l.harm.Load(); c != nil {
		return *c
	}
	return Cut{}
}

// loses draws whether a packet gets lost.
func (l *link) loses(share float64) bool {
	if share <= 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rand.Float64() < share
}

// reachable tries to make a connection.
func (l *link) reachable(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := l.connect(ctx)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// connect makes a connection. Nothing has been sent when it fails.
func (l *link) connect(ctx context.Context) (net.Conn, error) {
	for c := l.state(); c.Out || c.In; c = l.state() {
		if err := wait.Sleep(ctx, stallStep); err != nil {
			return nil, fmt.Errorf("dial %s: %w", l.name, err)
		}
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.dial)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", l.name, err)
	}
	return &linkConn{Conn: raw, link: l, greeting: l.greeting}, nil
}

// linkConn is a connection that feels the link's cuts.
type linkConn struct {
	net.Conn
	link *link

	mu      sync.Mutex
	sent    []byte // written during a cut, to arrive later; non-nil while flush runs
	held    []byte // arrived during a cut, to be read later
	heldErr error
	gone    bool      // a packet was lost: nothing more comes through
	until   time.Time // read deadline
	closed  bool

	closedAt time.Time

	greeting []byte // not sent yet
	ignored  int    // how much of the answer to it is still to come
}

// Write implements net.Conn. What goes into a cut is accepted, as by a kernel.
func (c *linkConn) Write(p []byte) (int, error) {
	harm := c.link.harm.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.write(c.greeted(p), harm)
	return min(n, len(p)), err
}

// write sends p as the link's harm lets it. c.mu is held.
func (c *linkConn) write(p []byte, harm *Cut) (int, error) {
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.gone:
		return len(p), nil
	case c.sent != nil:
		c.sent = append(c.sent, p...)
		return len(p), nil
	case harm == nil:
		return c.Conn.Write(p)
	case harm.Out:
		c.sent = append([]byte{}, p...)
		go c.flush()
		return len(p), nil
	case c.link.loses(harm.LossOut):
		c.link.lost.Add(1)
		c.gone = true
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// lingerLimit is how long after its sender gave up a request may still arrive:
// less than a history says that it may (Header.MaxDelay, 5 s by default).
const lingerLimit = 4 * time.Second

// flush waits for the end of the cut and delivers what was sent into it.
func (c *linkConn) flush() {
	for c.link.state().Out && !c.forgotten() {
		time.Sleep(stallStep)
	}
	forgotten := c.forgotten()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed || !forgotten && c.link.loses(0.5) {
		_, _ = c.Conn.Write(c.sent)
	}
	c.sent = nil
	if c.closed {
		_ = c.Conn.Close()
	}
}

// forgotten reports whether the sender gave up so long ago that nothing of
// what it sent is to arrive any more.
func (c *linkConn) forgotten() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed && time.Since(c.closedAt) > lingerLimit
}

// Read implements net.Conn.
func (c *linkConn) Read(p []byte) (int, error) {
	for {
		n, err, ready := c.readHeld(p)
		if ready {
			return n, err
		}
		if c.dumb() {
			if err := c.stall(); err != nil {
				return 0, err
			}
			continue
		}
		n, err = c.Conn.Read(p)
		if n = c.ungreeted(p, n); n == 0 && err == nil {
			continue
		}
		harm := c.link.harm.Load()
		switch {
		case harm == nil, err != nil && IsTimeout(err):
			return n, err
		case harm.In:
			c.hold(p[:n], err)
		case n > 0 && c.link.loses(harm.LossIn):
			c.link.lost.Add(1)
			c.mu.Lock()
			c.gone = true
			c.mu.Unlock()
		default:
			return n, err
		}
	}
}

// readHeld hands out what came during a cut that is over.
func (c *linkConn) readHeld(p []byte) (n int, err error, ready bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if (len(c.held) == 0 && c.heldErr == nil) || c.gone || c.link.state().In {
		return 0, nil, false
	}
	if len(c.held) > 0 {
		n = copy(p, c.held)
		c.held = c.held[n:]
		return n, nil, true
	}
	return 0, c.heldErr, true
}

func (c *linkConn) hold(p []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = append(c.held, p...)
	c.heldErr = err
}

// dumb reports whether nothing can be read at the moment, nor ever, perhaps.
func (c *linkConn) dumb() bool {
	harm := c.link.harm.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone || harm != nil && harm.In
}

// stall waits a moment, unless the time to read is up.
func (c *linkConn) stall() error {
	c.mu.Lock()
	closed, until := c.closed, c.until
	c.mu.Unlock()
	if closed {
		return net.ErrClosed
	}
	if !until.IsZero() && !time.Now().Before(until) {
		return os.ErrDeadlineExceeded
	}
	time.Sleep(stallStep)
	return nil
}

// Close implements net.Conn. What is still to arrive is not taken back.
func (c *linkConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed, c.closedAt = true, time.Now()
	if c.sent != nil {
		// Reading ends at once; flush closes.
		return c.Conn.SetReadDeadline(time.Unix(1, 0))
	}
	return c.Conn.Close()
}

// SetDeadline implements net.Conn.
func (c *linkConn) SetDeadline(t time.Time) error {
	c.setUntil(t)
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *linkConn) SetReadDeadline(t time.Time) error {
	c.setUntil(t)
	return c.Conn.SetReadDeadline(t)
}

func (c *linkConn) setUntil(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = t
}

// SyscallConn lets go-redis see, as on a bare connection, that the server has
// closed an idle one.
func (c *linkConn) SyscallConn() (syscall.RawConn, error) {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.SyscallConn()
}

// IsTimeout reports whether an error of a connection is that time was up.
func IsTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
