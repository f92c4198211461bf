//go:build unix

package docker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

// system is the Cluster of one system: the Provider's servers, and workers of its
// own.
type system struct {
	p      *Provider
	o      cluster.Options
	groups []*group
	source string
	world  *process.World // the director's
	clock  *process.Clock // begins at Run
	lent   time.Time      // when servers were begun to be put in order for it

	emitMu   sync.Mutex    // one event at a time
	findings []error       // about programs beside workers
	news     chan struct{} // closed and made anew at each event
	hosts    []*host
	phase    atomic.Int32
	seq      atomic.Int64 // of controls and ambushes

	faultMu  sync.Mutex // one fault at a time
	injector inject.Injector
	waits    sync.Map // ambush id → chan note

	tasks  sync.WaitGroup
	cancel context.CancelFunc // of all that Run started
	ctx    context.Context
}

var _ cluster.Cluster = (*system)(nil)

func newCell(ctx context.Context, p *Provider, o cluster.Options, groups []*group) (*system, error) {
	c := &system{p: p, o: o, groups: groups, news: make(chan struct{})}
	c.injector = inject.Injector{Backend: backend{c}, Chance: rand.New(rand.NewPCG(o.Seed, 0))}
	var err error
	if c.source, err = source(ctx, c.nodes()); err != nil {
		return nil, err
	}
	c.world = process.NewWorld(c.servers(), o.CallTimeout, o.Seed, "", 1)
	c.clock = process.NewClock()
	return c, nil
}

// nodes are the nodes of all groups, the lock service's first.
func (c *system) nodes() []*node {
	var list []*node
	for _, g := range c.groups {
		list = append(list, g.nodes...)
	}
	return list
}

// lockGroup is the lock service; nil if there is none.
func (c *system) lockGroup() *group {
	for _, g := range c.groups {
		if g.kind != env.NoLock {
			return g
		}
	}
	return nil
}

// servers tells workers what there is.
func (c *system) servers() process.Servers {
	s := process.Servers{Lock: c.o.Topology.Lock, Password: c.p.password}
	for _, n := range c.nodes() {
		e := process.Endpoint{Name: n.name, Addr: n.addr.String(), Dial: n.dial}
		switch {
		case n.kind == sentinelKind:
			s.Sentinels = append(s.Sentinels, e)
		case n.kind == sqlKind:
			s.SQL = &e
		case n.kind == queueKind:
			s.Queue = &e
		case strings.HasPrefix(n.name, "stock"):
			s.Stock = &e
		default:
			s.Redis = append(s.Redis, e)
		}
	}
	return s
}

// Source implements cluster.Cluster.
func (c *system) Source() string { return c.source }

// Nodes implements cluster.Cluster.
func (c *system) Nodes() []string {
	var names []string
	for _, n := range c.nodes() {
		names = append(names, n.name)
	}
	return names
}

// Env implements cluster.Cluster.
func (c *system) Env() *env.Env {
	e := c.world.Env(-1, c.o.Seed, c.clock)
	e.Hostname = "director"
	return e
}

// endLimit bounds what is done at the end of Run, whatever happened.
const endLimit = 20 * time.Second

// Run implements cluster.Cluster. Whatever way the director goes out, its
// panic included, the workers are dead and the faults healed afterwards.
func (c *system) Run(ctx context.Context, director func(context.Context) error) (err error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.clock.Begin()
	defer func() { err = errors.Join(err, c.end(ctx)) }()
	for _, n := range c.locks() {
		c.Go(c.ctx, "watch "+n.name, func(ctx context.Context) { c.watch(ctx, n) })
	}
	return director(ctx)
}

// end stops what runs, heals, and closes the director's connections.
func (c *system) end(ctx context.Context) error {
	c.cancel()
	c.killWorkers()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	errs := []error{c.Heal(ctx)}
	done := make(chan struct{})
	go func() { c.tasks.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs, errors.New("a task beside the director does not end"))
	}
	return errors.Join(append(errs, c.world.Close())...)
}

// Now implements cluster.Cluster.
func (c *system) Now() time.Duration { return c.clock.Now() }

// Sleep implements cluster.Cluster.
func (c *system) Sleep(ctx context.Context, d time.Duration) error { return wait.Sleep(ctx, d) }

// Go implements cluster.Cluster.
func (c *system) Go(ctx context.Context, _ string, f func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(c.ctx, cancel)
	c.tasks.Go(func() {
		defer unhook()
		defer cancel()
		f(ctx)
	})
}

// emit hands one event to the run and wakes all that await something.
func (c *system) emit(e histories.Event) {
	c.emitMu.Lock()
	defer c.emitMu.Unlock()
	if c.o.Emit != nil {
		c.o.Emit(e)
	}
	close(c.news)
	c.news = make(chan struct{})
}

// note emits an event about the cluster itself.
func (c *system) note(e histories.Event) {
	e.Process, e.Type = histories.Nemesis, histories.Info
	if e.Time == 0 {
		e.Time = int64(c.Now())
	}
	c.emit(e)
}

// awaitEvery is how often Await looks when nothing happens.
const awaitEvery = 2 * time.Millisecond

// Await implements cluster.Cluster. No event is emitted while ready looks.
func (c *system) Await(ctx context.Context, limit time.Duration, ready func() bool) bool {
	deadline := time.Now().Add(limit)
	look := func() (bool, chan struct{}) {
		c.emitMu.Lock()
		defer c.emitMu.Unlock()
		return ready(), c.news
	}
	t := time.NewTicker(awaitEvery)
	defer t.Stop()
	for {
		ok, news := look()
		if ok {
			return true
		}
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			return false
		}
		select {
		case <-news:
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// Healthy implements cluster.Cluster.
func (c *system) Healthy(ctx context.Context, limit time.Duration) error {
	return wait.Each(c.groups, func(g *group) error {
		if err := wait.Until(ctx, limit, g.healthy); err != nil {
			return fmt.Errorf("%s is not well: %w", g.name, err)
		}
		return nil
	})
}

// source tells people what the servers are.
func source(ctx context.Context, nodes []*node) (string, error) {
	var names []string
	for _, n := range nodes {
		if n.kind == sentinelKind || n.kind == redisKind && len(names) > 0 {
			continue
		}
		v, err := n.version(ctx)
		if err != nil {
			return "", fmt.Errorf("version of %s: %w", n.name, err)
		}
		names = append(names, v)
	}
	return strings.Join(names, " + "), nil
}
