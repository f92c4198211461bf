// Package standalone serves one simulated Redis over TCP, in real time, to any
// client of any language.
//
// It is a master without replicas that keeps nothing when it ends. It runs Lua,
// and a test can move its clock and make it misbehave, by commands of its own:
//
//	DEBUG ADVANCE ms      its clock jumps; leases run out
//	DEBUG WITHHOLD n      the replies to the next n commands are never sent
//	DEBUG DISCONNECT      the connections of all other clients are reset
//
// Package sim has the same server with replicas, Sentinels and a network, in
// virtual time.
package standalone

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/resp"
)

// Server is one simulated Redis. Make one with New.
type Server struct {
	mu       sync.Mutex // of all that follows, and of the sessions of all clients
	keys     *redis.Keyspace
	ahead    time.Duration // of its clock
	withhold int           // replies
	clients  map[*client]bool
	last     int64 // id of a client
	closed   bool
	all      sync.WaitGroup
}

// New makes an empty server.
func New() *Server { return &Server{keys: redis.New(), clients: map[*client]bool{}} }

// client is one connection.
type client struct {
	server   *Server
	conn     net.Conn
	session  *resp.Session
	channels map[string]bool
	out      []byte        // not sent yet
	more     chan struct{} // has a token when others have put something out

	writing sync.Mutex // taken before Server.mu
}

// Serve accepts clients until the listener is closed, and answers the error of
// that.
func (s *Server) Serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		c := s.admit(conn)
		if c == nil {
			return errors.Join(net.ErrClosed, conn.Close())
		}
		go c.serve()
	}
}

// ServeConn serves one client until its connection ends, which need not be TCP.
func (s *Server) ServeConn(conn net.Conn) error {
	c := s.admit(conn)
	if c == nil {
		return errors.Join(net.ErrClosed, conn.Close())
	}
	c.serve()
	return nil
}

// Disconnect ends the connections of all clients and says how many there were.
func (s *Server) Disconnect() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.clients {
		_ = c.conn.Close()
	}
	return len(s.clients)
}

func (s *Server) admit(conn net.Conn) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.last++
	c := &client{server: s, conn: conn, channels: map[string]bool{}, more: make(chan struct{}, 1)}
	c.session = resp.NewSession(s.last, c, func(b []byte) { c.out = append(c.out, b...) })
	s.clients[c] = true
	s.all.Add(1)
	return c
}

// Close ends all connections and waits for that. The listener is its caller's.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.clients {
		_ = c.conn.Close()
	}
	s.mu.Unlock()
	s.all.Wait()
}

// Advance moves the server's clock.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
}

// Do executes one command beside all clients.
func (s *Server) Do(args ...string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.do(args)
}

func (c *client) serve() {
	defer c.server.all.Done()
	ended := make(chan struct{})
	go c.tell(ended)
	buffer := make([]byte, 16<<10)
	for {
		n, err := c.conn.Read(buffer)
		if n > 0 && !c.receive(buffer[:n]) || err != nil {
			break
		}
	}
	c.server.mu.Lock()
	delete(c.server.clients, c)
	c.server.mu.Unlock()
	close(ended)
	_ = c.conn.Close()
}

// receive executes what came and says whether the client stays.
func (c *client) receive(data []byte) (stays bool) {
	c.server.mu.Lock()
	c.session.Receive(data)
	stays = !c.session.Closed()
	c.server.mu.Unlock()
	return c.flush() == nil && stays
}

// tell sends what others have put out for this client.
func (c *client) tell(ended chan struct{}) {
	for {
		select {
		case <-c.more:
			_ = c.flush()
		case <-ended:
			return
		}
	}
}

// mostOut bounds what waits for a client that does not read, in bytes.
const mostOut = 32 << 20

// flush sends what is to be sent. One goroutine at a time, in order.
func (c *client) flush() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.server.mu.Lock()
	out := c.out
	c.out = nil
	c.server.mu.Unlock()
	if len(out) == 0 {
		return nil
	}
	_, err := c.conn.Write(out)
	return err
}

var _ resp.Backend = (*client)(nil)

// Do implements resp.Backend. Server.mu is held.
func (c *client) Do(args []string, reply func(any)) {
	s := c.server
	if strings.EqualFold(args[0], "DEBUG") {
		reply(s.debug(c, args))
		return
	}
	answer := s.do(args)
	if s.withhold > 0 {
		s.withhold--
		return // and whatever this client sends waits forever
	}
	reply(answer)
}

// do executes a command of the keyspace. mu is held.
func (s *Server) do(args []string) any {
	r := s.keys.Do(time.Now().Add(s.ahead), redis.Master, args)
	receivers := int64(0)
	for _, m := range r.Published {
		for c := range s.clients {
			if c.channels[m.Channel] {
				receivers++
				c.publish(m)
			}
		}
	}
	text, isText := r.Reply.(string)
	switch {
	case strings.EqualFold(args[0], "PUBLISH") && len(r.Published) > 0:
		return receivers
	case r.Status && isText:
		return resp.Status(text)
	}
	return r.Reply
}

// publish puts a message out.
func (c *client) publish(m redis.Message) {
	c.session.Publish(m.Channel, m.Payload)
	if len(c.out) > mostOut {
		_ = c.conn.Close()
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// debug does what a test wants.
func (s *Server) debug(from *client, args []string) any {
	word, n := "", 0
	if len(args) > 1 {
		word = strings.ToUpper(args[1])
	}
	if len(args) > 2 {
		var err error
		if n, err = strconv.Atoi(args[2]); err != nil {
			return redis.Error("ERR value is not an integer or out of range")
		}
	}
	switch {
	case word == "ADVANCE" && len(args) == 3:
		s.ahead += time.Duration(n) * time.Millisecond
	case word == "WITHHOLD" && len(args) == 3 && n >= 0:
		s.withhold = n
	case word == "DISCONNECT" && len(args) == 2:
		for c := range s.clients {
			if t, ok := c.conn.(*net.TCPConn); ok && c != from {
				_ = t.SetLinger(0)
				_ = t.Close()
			}
		}
	default:
		return redis.Error("ERR want DEBUG ADVANCE ms, DEBUG WITHHOLD n or DEBUG DISCONNECT")
	}
	return resp.Status("OK")
}

// Listen implements resp.Backend.
func (c *client) Listen(channel string, on bool) {
	if delete(c.channels, channel); on {
		c.channels[channel] = true
	}
}

// Identity implements resp.Backend.
func (c *client) Identity() (version, mode, role string) { return "7.0.15", "standalone", "master" }
