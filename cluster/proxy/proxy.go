// Package proxy stands between a program and a server: the program is given the
// proxy's address, and whatever is to happen to its connections happens there,
// without rights on the host and without its knowledge.
//
// Faults are in the connections that Dial makes, or in a Tap, which sees what
// passes. The proxy itself adds nothing but a hop.
package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Proxy passes connections on to one server.
type Proxy struct {
	// Dial makes the connection to the server for one of a client. If it
	// fails, the client's is reset.
	Dial func(ctx context.Context) (net.Conn, error)
	// Tap is asked once for each connection. Nil: what passes is not looked at.
	Tap func() Tap

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]bool
	all    sync.WaitGroup
}

// Tap sees what passes on one connection, in pieces as they come, and answers
// what is to be passed on instead: nothing, if it is to be lost. Both may wait;
// they are called by one goroutine each. A nil function passes everything.
type Tap struct{ Request, Reply func(p []byte) []byte }

// Serve accepts connections until the listener is closed, and answers the error
// of that. Close ends those that it accepted.
func (p *Proxy) Serve(l net.Listener) error {
	for {
		client, err := l.Accept()
		if err != nil {
			return err
		}
		if !p.add(client) {
			return errors.Join(net.ErrClosed, client.Close())
		}
		go func() {
			defer p.all.Done()
			p.pass(client)
		}()
	}
}

// add keeps a connection for Close.
func (p *Proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if p.conns == nil {
		p.conns = map[net.Conn]bool{}
	}
	p.conns[c] = true
	p.all.Add(1)
	return true
}

func (p *Proxy) remove(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// Reset breaks all connections, as a server does that dies.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c)
	}
}

// Close ends all connections and waits for that. The listener is its caller's.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

// reset closes a connection so that the other side reads an error, not an end.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// pass serves one client.
func (p *Proxy) pass(client net.Conn) {
	defer p.remove(client)
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	server, err := p.Dial(ctx)
	cancel()
	if err != nil {
		reset(client)
		return
	}
	var tap Tap
	if p.Tap != nil {
		tap = p.Tap()
	}
	var back sync.WaitGroup
	back.Go(func() {
		if pump(client, server, tap.Reply) {
			_ = client.Close()
		} else {
			reset(client)
		}
	})
	pump(server, client, tap.Request)
	_ = server.Close()
	back.Wait()
}

// dialLimit bounds how long a connection may take to stand: no client of a
// lock waits longer.
const dialLimit = 30 * time.Second

// pump copies until one side ends, and says whether that was in good order.
func pump(to, from net.Conn, tap func([]byte) []byte) (orderly bool) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		data := buffer[:n]
		if n > 0 && tap != nil {
			data = tap(data)
		}
		if len(data) > 0 {
			if _, failed := to.Write(data); failed != nil {
				return false
			}
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
