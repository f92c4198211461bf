package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// system is one simulated cluster.
type system struct {
	config Config
	o      cluster.Options
	s      *vtime.Scheduler
	net    *vtime.Network
	site   group

	director *vtime.Process
	env      *env.Env // the director's
	hosts    []*host
	workers  []*worker
	phase    env.Phase
	awaiters []*awaiter
	ambushes []*ambush // faults that wait for workers at a step
	injector inject.Injector

	library  string                                  // holds the user's own programs
	fronts   int64                                   // connections of theirs so far
	findings []error                                 // what is wrong with them
	hears    func(x *wire, args []string, reply any) // is told of each command of a program; nil: nobody

	// Of a run in real time:
	sockets sockets        // of the user's own programs
	ending  sync.WaitGroup // what is outside of the simulation

	scene *Scene // nil: an ordinary run

	ran        bool
	stuckSince time.Duration // all workers sleep forever since then; 0: no
}

var _ cluster.Cluster = (*system)(nil)

// awaiter is somebody who waits for a condition.
type awaiter struct {
	ready func() bool
	w     vtime.Waiter
}

// Streams of random numbers, so that a draw more in one does not move all
// the others.
const (
	streamNetwork uint64 = iota + 1
	streamDirector
	streamWorker
	streamFaults
	streamOwn
)

func (c *system) stream(which, n uint64) *rand.Rand {
	stream := which<<56 | n
	pcg := rand.NewPCG(c.o.Seed, stream)
	if len(c.o.Turns) == 0 {
		return rand.New(pcg)
	}
	return rand.New(&turning{pcg, stream, func() time.Duration { return c.s.Now }, c.o.Turns})
}

// awaitEvery is how often a condition is looked at between events.
const awaitEvery = 2 * time.Millisecond

func build(config Config, o cluster.Options) (*system, error) {
	defaults(&o)
	c := &system{config: config, o: o, scene: config.scene, s: &vtime.Scheduler{}}
	if config.Paced {
		c.s.Pacer = vtime.NewPacer()
		c.sockets.pacer = c.s.Pacer
	}
	c.net = vtime.NewNetwork(c.s, c.stream(streamNetwork, 0))
	if c.scene == nil {
		c.s.Now = -vtime.WarmUpTime
	} else {
		c.net.Still, c.s.Watcher, c.scene.system = true, c.scene, c
	}
	c.injector = inject.Injector{Backend: backend{c}, Chance: c.stream(streamFaults, 0)}
	h := c.net.Add("director")
	h.Safe = true
	c.director = &vtime.Process{Scheduler: c.s, Host: h, Name: "director"}
	h.Process = c.director
	if err := c.buildSite(); err != nil {
		return nil, err
	}
	c.buildHosts()
	c.env = c.world(c.director)
	c.env.Clock = &vtime.Clock{Scheduler: c.s, Host: h}
	c.env.Rand = c.stream(streamDirector, 0)
	c.env.Local = &memory{s: c.s}
	c.env.Worker, c.env.Hostname, c.env.PID = -1, h.Name, 1
	env.Unrecorded(c.env)
	return c, nil
}

func defaults(o *cluster.Options) {
	if o.Workers <= 0 {
		o.Workers = 10
	}
	if o.PerHost <= 0 {
		o.PerHost = 1
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = time.Second
	}
	if o.DownAfter <= 0 {
		o.DownAfter = 800 * time.Millisecond
	}
	if o.Emit == nil {
		o.Emit = func(histories.Event) {}
	}
}

func (c *system) buildHosts() {
	for i := range c.o.Workers {
		if i%c.o.PerHost == 0 {
			h := c.net.Add(histories.WorkerName(i))
			h.Proxied = true
			none := &vtime.Process{Scheduler: c.s, Host: h, Name: h.Name, Dead: true} // until the workers start
			c.hosts = append(c.hosts, &host{box: h, proc: none})
		}
		h := c.hosts[len(c.hosts)-1]
		w := &worker{c: c, number: i, name: histories.WorkerName(i), host: h, program: &vtime.Program{}}
		h.workers = append(h.workers, w)
		c.workers = append(c.workers, w)
	}
}

// Source names what was simulated: "simulated Redis and MariaDB". A verdict must
// not seem to come from a server that the design does not use.
func (c *system) Source() string {
	t := c.o.Topology
	var parts []string
	for _, part := range []struct {
		name string
		used bool
	}{{"Redis", t.Lock != "" || t.Stock || t.Queue || !t.SQL}, {"MariaDB", t.SQL}} {
		if part.used {
			parts = append(parts, part.name)
		}
	}
	source := "simulated " + strings.Join(parts, " and ")
	if c.s.Pacer != nil {
		source += ", real time"
	}
	return source
}

// Nodes are the servers in the order of their names' numbers.
func (c *system) Nodes() (names []string) {
	for _, s := range c.site.servers {
		names = append(names, s.label())
	}
	return names
}

// Env is the director's world.
func (c *system) Env() *env.Env { return c.env }

// Now is the virtual time.
func (c *system) Now() time.Duration { return c.s.Now }

// Sleep lets virtual time pass.
func (c *system) Sleep(ctx context.Context, d time.Duration) error { return c.s.Sleep(ctx, d) }

// Await waits until ready. An event that makes it ready lets the caller go on
// before the task that recorded it takes its next step.
func (c *system) Await(ctx context.Context, limit time.Duration, ready func() bool) bool {
	until := c.s.Now + limit
	for {
		if ready() {
			return true
		}
		if c.s.Now >= until {
			return false
		}
		a := &awaiter{ready: ready, w: c.s.Waiter()}
		c.awaiters = append(c.awaiters, a)
		why := c.s.Wait(ctx, min(until, c.s.Now+awaitEvery))
		c.awaiters = slices.DeleteFunc(c.awaiters, func(o *awaiter) bool { return o == a })
		if why == vtime.Cancelled {
			return ready()
		}
		c.lookForDeadlock()
	}
}

// emit records an event and lets go on who waited for it.
func (c *system) emit(e histories.Event) {
	c.record(e)
	if c.wakeReady() && c.s.Current != nil {
		c.s.GiveWay()
	}
}

func (c *system) record(e histories.Event) {
	if e.Time == 0 {
		e.Time = int64(c.s.Now)
	}
	c.o.Emit(e)
}

// wakeReady lets those go on whose condition is met.
func (c *system) wakeReady() (any bool) {
	for _, a := range c.awaiters {
		if a.ready() {
			a.w.Wake()
			any = true
		}
	}
	return any
}

// Go runs f beside the director.
func (c *system) Go(ctx context.Context, name string, f func(context.Context)) {
	c.s.MustRun()
	c.s.Spawn(c.director, name, func() { f(ctx) }).Begin()
}

// StartWorkers starts all workers.
func (c *system) StartWorkers(context.Context) error {
	c.s.MustRun()
	if c.o.Program == nil {
		return errors.New("no program for the workers")
	}
	for _, h := range c.hosts {
		c.launch(h)
	}
	return nil
}

// SetPhase moves the workers on.
func (c *system) SetPhase(p env.Phase) { c.phase = p }

// AwaitWorkers waits until all workers have ended, and kills those that have
// not when the limit is reached.
func (c *system) AwaitWorkers(ctx context.Context, limit time.Duration) (killed []string, err error) {
	c.Await(ctx, limit, func() bool {
		return !slices.ContainsFunc(c.workers, func(w *worker) bool { return !w.ended() })
	})
	var errs []error
	for _, w := range c.workers {
		if w.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", w.name, w.err))
		}
		if !w.ended() {
			killed = append(killed, w.name)
		}
	}
	for _, h := range c.hosts {
		if slices.ContainsFunc(h.workers, func(w *worker) bool { return !w.ended() }) {
			c.net.Exit(h.proc, true)
		}
	}
	return killed, errors.Join(errs...)
}

// lookForDeadlock ends the run if every worker has been asleep forever for
// a while.
func (c *system) lookForDeadlock() {
	err := c.s.Stuck(c.sleepers())
	switch {
	case err == nil:
		c.stuckSince = 0
	case c.stuckSince == 0:
		c.stuckSince = c.s.Now
	case c.s.Now-c.stuckSince > time.Second:
		c.s.Fail(err)
	}
}

// sleepers are the tasks of the workers, or nil if something else may still
// wake them.
func (c *system) sleepers() (tasks []*vtime.Task) {
	for _, w := range c.workers {
		if w.ended() {
			continue
		}
		if w.program.Ticking > 0 {
			return nil
		}
		tasks = append(tasks, w.program.Main)
	}
	return tasks
}
