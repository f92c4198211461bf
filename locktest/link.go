package locktest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/standalone"
)

// gate stops whatever passes while it is shut.
type gate struct {
	mu      sync.Mutex
	shut    chan struct{} // nil: it is open
	stopped int           // since it was shut
}

func (g *gate) pass() {
	for {
		g.mu.Lock()
		shut := g.shut
		if shut != nil {
			g.stopped++
		}
		g.mu.Unlock()
		if shut == nil {
			return
		}
		<-shut
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut, g.stopped = make(chan struct{}), 0
	}
}

// open opens the gate and says how many had been stopped.
func (g *gate) open() (stopped int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		return 0
	}
	close(g.shut)
	g.shut = nil
	return g.stopped
}

// server is one simulated Redis, and the network in front of it.
type server struct {
	name string

	mu    sync.Mutex
	redis *standalone.Server // nil while it is down
	ahead time.Duration
	loss  float64 // share of the packets that are sent again
	lost  int
}

func newServer(name string) *server { return &server{name: name, redis: standalone.New()} }

// stop ends the server: clients are refused.
func (s *server) stop() {
	s.mu.Lock()
	old := s.redis
	s.redis = nil
	s.mu.Unlock()
	if old != nil {
		old.Close()
	}
}

// begin starts the server again, empty.
func (s *server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redis = standalone.New()
	s.redis.Advance(s.ahead)
}

// reset ends all connections and says how many there were.
func (s *server) reset() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.redis == nil {
		return 0
	}
	return s.redis.Disconnect()
}

func (s *server) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
	if s.redis != nil {
		s.redis.Advance(d)
	}
}

func (s *server) lose(share float64) (lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost, s.lost, s.loss = s.lost, 0, share
	return lost
}

// accept makes a connection with the server.
func (s *server) accept() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.redis == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	client, end := net.Pipe()
	redis := s.redis
	go func() { _ = redis.ServeConn(end) }()
	return client, nil
}

// latency is how long a packet is under way: longer, if it has to be sent again.
func (s *server) latency(r *rand.Rand) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := 100*time.Microsecond + time.Duration(r.Int64N(int64(900*time.Microsecond)))
	for again := 200 * time.Millisecond; s.loss > 0 && r.Float64() < s.loss && again < 3*time.Second; again *= 2 {
		d += again
		s.lost++
	}
	return d
}

// route is the way from a worker to a server.
type route struct{ up, down gate }

// dialer makes connections of a life with a server.
func (l *life) dialer(n int) func(context.Context, string, string) (net.Conn, error) {
	w := l.worker
	server, way := w.scene.servers[n], w.routes[n]
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		w.gate.pass()
		r := w.scene.stream(ofLink, w.number<<16|w.nextLink())
		if err := l.arrive(ctx, way, w.scene.latency(server, r)); err != nil {
			return nil, err
		}
		far, err := server.accept()
		if err != nil {
			return nil, err
		}
		near, end := net.Pipe()
		back := w.scene.stream(ofLink, 1<<30|w.number<<16|w.nextLink())
		go carry(end, far, &way.up, func() time.Duration { return w.scene.latency(server, r) })
		go carry(far, end, &way.down, func() time.Duration { return w.scene.latency(server, back) })
		return l.admit(&conn{Conn: near, life: l})
	}
}

// arrive waits for the first packet of a connection to arrive and to be answered.
func (l *life) arrive(ctx context.Context, way *route, latency time.Duration) error {
	there := make(chan struct{})
	go func() {
		time.Sleep(latency)
		way.up.pass()
		way.down.pass()
		close(there)
	}()
	select {
	case <-there:
		return nil
	case <-ctx.Done():
		return &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
	}
}

// packet is what was sent at once, and when it arrives.
type packet struct {
	data []byte
	at   time.Time
}

// mostUnderWay bounds the packets of a connection in one direction.
const mostUnderWay = 1024

// carry takes from one connection what the other is to receive, in order. What was
// sent before an end arrives before it.
func carry(from, to net.Conn, way *gate, latency func() time.Duration) {
	packets := make(chan packet, mostUnderWay)
	go deliver(packets, to, from, way)
	defer close(packets)
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			packets <- packet{append([]byte(nil), buffer[:n]...), time.Now().Add(latency())}
		}
		if err != nil {
			return
		}
	}
}

func deliver(packets <-chan packet, to, from net.Conn, way *gate) {
	broken := false
	for p := range packets {
		time.Sleep(time.Until(p.at))
		way.pass()
		if broken {
			continue
		}
		if _, err := to.Write(p.data); err != nil {
			broken = true
			_ = from.Close()
		}
	}
	way.pass()
	_ = to.Close()
}

// conn is a worker's end of a connection. It stands still with its worker.
type conn struct {
	net.Conn
	life *life
}

// admit keeps a connection, to end it with the life.
func (l *life) admit(c *conn) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return nil, errors.Join(net.ErrClosed, c.Conn.Close())
	}
	l.conns[c.Conn] = true
	return c, nil
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.life.worker.gate.pass()
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	c.life.worker.gate.pass()
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.life.mu.Lock()
	delete(c.life.conns, c.Conn)
	c.life.mu.Unlock()
	return c.Conn.Close()
}

// SetDeadline implements net.Conn. What a program has sent is on its way, however
// long it stood still before.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// address is what clients call a server.
func address(n int) string { return "10.0.0." + strconv.Itoa(n+1) + ":6379" }
