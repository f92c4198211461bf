package sim

import (
	"net"
	"strings"
	"sync"

	"github.com/lockcheck/lockcheck/cluster/sim/preload"
	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// sockets are the connections of clients outside of a paced simulation.
type sockets struct {
	pacer *vtime.Pacer

	mu     sync.Mutex
	open   map[*socket]bool
	closed bool
	all    sync.WaitGroup
}

// socket is the outer end of a wire: what a client has dialled.
type socket struct {
	wire  *wire
	conn  net.Conn
	stood chan struct{} // closed when the server has accepted
	ended chan struct{} // closed when the connection is at its end

	mu    sync.Mutex
	out   []byte
	last  bool          // nothing follows what is in out
	ready chan struct{} // has a token when there is something to send
	once  sync.Once
}

var _ far = (*socket)(nil)

// mostOut bounds what waits for a client that does not read, in bytes.
const mostOut = 32 << 20

func newSocket(x *wire, conn net.Conn) *socket {
	k := &socket{wire: x, conn: conn, stood: make(chan struct{}), ended: make(chan struct{}), ready: make(chan struct{}, 1)}
	x.far = k
	return k
}

// serve connects a client with a machine and serves it until its connection ends.
// from is the process that it belongs to, asked for at that moment.
func (ss *sockets) serve(k *socket, from func() *vtime.Process, to *vtime.Machine) {
	if !ss.admit(k) {
		k.end()
		return
	}
	defer ss.leave(k)
	ss.pacer.Do(func() { k.wire.dial(from(), to) })
	go k.write()
	k.read(ss.pacer)
}

func (ss *sockets) admit(k *socket) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.closed {
		return false
	}
	if ss.open == nil {
		ss.open = map[*socket]bool{}
	}
	ss.open[k] = true
	ss.all.Add(1)
	return true
}

func (ss *sockets) leave(k *socket) {
	k.end()
	ss.pacer.Do(func() {
		if k.wire.conn != nil {
			k.wire.conn.Close(0)
		}
	})
	ss.mu.Lock()
	delete(ss.open, k)
	ss.mu.Unlock()
	ss.all.Done()
}

// close ends all connections.
func (ss *sockets) close() {
	ss.mu.Lock()
	ss.closed = true
	for k := range ss.open {
		k.end()
	}
	ss.mu.Unlock()
	ss.all.Wait()
}

// read hands what the client sends to the server.
func (k *socket) read(pacer *vtime.Pacer) {
	select {
	case <-k.stood:
	case <-k.ended:
		return
	}
	for {
		buffer := make([]byte, 16<<10)
		n, err := k.conn.Read(buffer)
		if n > 0 {
			sent := make(chan struct{})
			pacer.Do(func() { k.wire.send(buffer[:n]); close(sent) })
			select {
			case <-sent:
			case <-k.ended:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// write sends to the client what the server has sent, until the end.
func (k *socket) write() {
	for {
		select {
		case <-k.ready:
		case <-k.ended:
			return
		}
		k.mu.Lock()
		out, last := k.out, k.last
		k.out = nil
		k.mu.Unlock()
		if _, err := k.conn.Write(out); err != nil || last {
			k.end()
			return
		}
	}
}

func (k *socket) put(data []byte, last bool) {
	k.mu.Lock()
	k.out = append(k.out, data...)
	k.last = k.last || last || len(k.out) > mostOut
	k.mu.Unlock()
	select {
	case k.ready <- struct{}{}:
	default:
	}
}

// end ends the connection.
func (k *socket) end() {
	k.once.Do(func() {
		close(k.ended)
		_ = k.conn.Close()
	})
}

func (k *socket) connected() { close(k.stood) }

func (k *socket) deliver(data []byte) { k.put(data, false) }

func (k *socket) hangup() { k.put(nil, true) }

// failed: whoever has dialled is told as late as that the server refuses, by a
// reset.
func (k *socket) failed(preload.Failure) {
	if t, is := k.conn.(*net.TCPConn); is {
		_ = t.SetLinger(0)
	}
	k.end()
}

// taken is the key that a command took, as locks do.
func taken(args []string, reply any) (key string, took bool) {
	if _, failed := reply.(redis.Error); failed || reply == nil || reply == int64(0) || len(args) < 3 {
		return "", false
	}
	switch strings.ToUpper(args[0]) {
	case "SETNX":
		return args[1], true
	case "SET":
		for _, word := range args[3:] {
			if strings.EqualFold(word, "NX") {
				return args[1], true
			}
		}
	}
	return "", false
}
