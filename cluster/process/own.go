//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/lockcheck/lockcheck/cluster/proxy"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/protocol/child"
	"github.com/lockcheck/lockcheck/workload/env"
)

// own is a program of somebody's own beside its worker: in the worker's process
// group, so that both are frozen and die together, and behind proxies of its
// own, through which it reaches the servers by the worker's links. What is
// wrong with a link is wrong for both.
type own struct {
	p       *process
	worker  int
	child   *child.Child
	closers []func()
	places  map[string]string // by address of a server: that of its proxy
	hosts   map[string]string // by host of a server: that of its proxy
}

// startOwn starts the program of a worker and waits until it is ready.
func (p *process) startOwn(ctx context.Context, e *env.Env) (*own, error) {
	o := &own{p: p, worker: e.Worker, places: map[string]string{}, hosts: map[string]string{}}
	for i, s := range p.Servers.all() {
		if err := o.open(i, s); err != nil {
			return nil, errors.Join(err, o.end())
		}
	}
	var err error
	o.child, err = child.Start(child.Config{
		Command: p.Own.Command, Joined: true, Hello: o.hello(e),
		Now:   func() time.Duration { return time.Duration(monotonicNow() - p.Start) },
		Heard: o.heard,
		Step:  func(ctx context.Context, s protocol.Step) { _ = e.Step(ctx, s.Step) },
	})
	if err == nil {
		_, err = o.child.Await(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, o.end())
	}
	e.Own = o.child
	return o, nil
}

// place finds a free address for the proxy of a server: 127.8.W.S, with the
// server's port. The whole of 127.0.0.0/8 is this host's on Linux. Where another
// run has it, the next network does.
func (o *own) place(i int, port uint16) (l net.Listener, err error) {
	const first, last = 8, 127
	for network := first; network <= last; network++ {
		host := netip.AddrFrom4([4]byte{127, byte(network), byte(1 + o.worker%250), byte(1 + i)})
		if l, err = net.Listen("tcp", netip.AddrPortFrom(host, port).String()); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return l, err
}

// open puts a proxy before a server.
func (o *own) open(i int, s Endpoint) error {
	addr, err := netip.ParseAddrPort(s.Addr)
	if err != nil {
		return fmt.Errorf("a proxy for %s: %w", s.Name, err)
	}
	l, err := o.place(i, addr.Port())
	if err != nil {
		return fmt.Errorf("a proxy for %s: %w", s.Name, err)
	}
	o.places[s.Addr], o.hosts[addr.Addr().String()] = l.Addr().String(), l.Addr().(*net.TCPAddr).IP.String()
	link := o.p.world.links[s.Name]
	server := &proxy.Proxy{
		Dial: link.connect,
		Tap:  func() proxy.Tap { return proxy.Tap{Reply: (&proxy.Addresses{Hosts: o.hosts}).Reply} },
	}
	go func() { _ = server.Serve(l) }() // until it is closed
	o.closers = append(o.closers, func() { _ = l.Close(); server.Close() })
	return nil
}

// hello is what the program is told.
func (o *own) hello(e *env.Env) protocol.Hello {
	h, s := o.p.Own.Hello, o.p.Servers
	h.Worker, h.Life, h.Seed = e.Worker, e.Life, e.Rand.Uint32()
	switch s.Lock {
	case env.Sentinel:
		h.Sentinels, h.Master = o.behind(s.Sentinels...), MasterName
	case env.RedisCluster:
		h.Cluster = o.behind(s.Redis...)
	default:
		h.Redis = o.behind(s.Redis...)
	}
	if s.Stock != nil {
		h.Stock = o.behind(*s.Stock)[0]
	}
	return h
}

// behind are the addresses of the proxies of servers.
func (o *own) behind(list ...Endpoint) (addrs []string) {
	for _, e := range list {
		addrs = append(addrs, o.places[e.Addr])
	}
	return addrs
}

// heard tells lockcheck what is wrong with the program.
func (o *own) heard(h protocol.Heard) {
	if f, is := h.(protocol.Finding); is {
		o.p.say(Note{Found: fmt.Sprintf("worker-%d, at %v: the program %s", o.worker, f.At.Round(time.Millisecond), f)})
	}
}

// end ends the program and its proxies.
func (o *own) end() (err error) {
	if o.child != nil {
		err = o.child.End()
	}
	for _, f := range o.closers {
		f()
	}
	return err
}

// freeze stops the program while its worker is stopped at a step.
func (p *process) freeze(worker int) (thaw func()) {
	p.mu.Lock()
	o := p.owns[worker]
	p.mu.Unlock()
	if o == nil {
		return func() {}
	}
	_ = o.child.Pause() // a program that has ended stands still
	return func() { _ = o.child.Resume() }
}

// runOne runs the program of one worker, and what it has beside it.
func (p *process) runOne(ctx context.Context, program env.Worker, n int) (err error) {
	e := p.env(ctx, n)
	if p.Own == nil {
		return program(ctx, p.Spec, e, p)
	}
	o, err := p.startOwn(ctx, e)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.owns[n] = o
	p.mu.Unlock()
	defer func() { err = errors.Join(err, o.end()) }()
	return program(ctx, p.Spec, e, p)
}
