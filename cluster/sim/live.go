package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// LiveConfig says which servers are live. The zero value of a field is its
// documented default.
type LiveConfig struct {
	Topology   env.Kind
	Seed       uint64
	DownAfter  time.Duration // of Sentinel and Redis Cluster; default 800 ms
	MasterName string        // that Sentinels watch; default "lockcheck"

	// Emit hears what happens: roles that change, and the keys that clients take by
	// SET NX or SETNX, as grants of locks to the worker of their machine. It must not
	// block.
	Emit func(histories.Event)
}

// Live is simulated servers alone, for clients from outside. Their time is the
// machine's, or that of the bubble of testing/synctest in which they run.
//
// Clients are on two machines, in turn, worker-0 and worker-1, so that a fault can
// cut one half of them off.
type Live struct {
	c       *system
	clients int // so far
}

// NewLive makes servers. They run while Run does.
func NewLive(cfg LiveConfig) (*Live, error) {
	c, err := build(New(Config{Paced: true, MasterName: cfg.MasterName}).config, cluster.Options{
		Topology: env.Topology{Lock: cfg.Topology}, Seed: cfg.Seed, DownAfter: cfg.DownAfter, Workers: 2, Emit: cfg.Emit,
	})
	if err != nil {
		return nil, err
	}
	for _, h := range c.hosts {
		h.proc = &vtime.Process{Scheduler: c.s, Host: h.box, Name: h.box.Name}
		h.box.Process = h.proc
	}
	if cfg.Emit != nil {
		c.hears = c.watchGrants()
	}
	return &Live{c: c}, nil
}

// Cluster is the servers as a director sees them, who may hurt them.
func (l *Live) Cluster() cluster.Cluster { return l.c }

// Address is where a server is on the simulated network. The replies that tell of
// servers have such addresses, unless a client has others for them.
func (l *Live) Address(server string) string { return net.JoinHostPort(l.c.named(server)) }

// Run lets the servers run while director does; then all connections end.
func (l *Live) Run(ctx context.Context, director func(context.Context) error) error {
	stop := context.AfterFunc(ctx, func() { l.c.s.Pacer.Do(func() {}) }) // whoever waits looks
	defer stop()
	return l.c.Run(ctx, director)
}

// Serve serves one client of a server, until its connection ends. names are the
// addresses of the servers for this client; nil: those of Address.
func (l *Live) Serve(server string, conn net.Conn, names func(server string) (ip, port string)) error {
	k, at, err := l.socket(server, conn, names)
	if err != nil {
		return err
	}
	l.c.sockets.serve(k, l.nextHome, at.machine())
	return nil
}

// Dial makes a connection in memory with the server at an address as Address has
// it. It waits until the server has accepted, or its machine refused.
func (l *Live) Dial(ctx context.Context, address string) (net.Conn, error) {
	server := ""
	for _, s := range l.c.site.servers {
		if l.Address(s.label()) == address {
			server = s.label()
		}
	}
	near, end := net.Pipe()
	k, at, err := l.socket(server, end, nil)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	go l.c.sockets.serve(k, l.nextHome, at.machine())
	select {
	case <-k.stood:
		return inMemory{near}, nil
	case <-k.ended:
		err = syscall.ECONNREFUSED
	case <-ctx.Done():
		k.end()
		err = ctx.Err()
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
}

// inMemory is a client's end of a connection in memory. To write where nobody
// reads any more fails as it does with TCP.
type inMemory struct{ net.Conn }

func (c inMemory) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return n, err
}

// socket is a connection of a client with a server.
func (l *Live) socket(name string, conn net.Conn, names naming) (*socket, server, error) {
	at := l.c.serverNamed(name)
	if at == nil {
		return nil, nil, fmt.Errorf("no server is called %q", name)
	}
	if names == nil {
		names = l.c.named
	}
	return newSocket(&wire{c: l.c, names: names}, conn), at, nil
}

// nextHome is the process of the next client. It is called as an event.
func (l *Live) nextHome() *vtime.Process {
	l.clients++
	return l.c.hosts[(l.clients-1)%len(l.c.hosts)].proc
}

// serverNamed finds a server.
func (c *system) serverNamed(name string) server {
	for _, s := range c.site.servers {
		if s.label() == name {
			return s
		}
	}
	return nil
}

// watchGrants answers a listener that records the keys that clients take.
func (c *system) watchGrants() func(x *wire, args []string, reply any) {
	op := int64(0)
	return func(x *wire, args []string, reply any) {
		key, took := taken(args, reply)
		if !took {
			return
		}
		op++
		at := slices.IndexFunc(c.hosts, func(h *host) bool { return h.box == x.conn.End[0].Host })
		e := histories.Event{Op: op, Process: histories.Process(at), F: histories.Acquire, Key: key, Type: histories.Invoke}
		c.emit(e)
		e.Type = histories.OK
		c.emit(e)
	}
}

// Inject does a fault and waits until it has been looked for, as Cluster.Inject
// does. It is for callers outside of Run's director, while that runs.
func (l *Live) Inject(ctx context.Context, f histories.Fault) (cluster.Effect, error) {
	type result struct {
		cluster.Effect
		err error
	}
	done := make(chan result, 1)
	l.c.s.Pacer.Do(func() {
		l.c.s.Spawn(l.c.director, "fault", func() {
			effect, err := l.c.Inject(context.WithoutCancel(ctx), f)
			done <- result{effect, err}
		}).Begin()
	})
	select {
	case r := <-done:
		return r.Effect, r.err
	case <-ctx.Done():
		return cluster.Effect{}, ctx.Err()
	}
}
