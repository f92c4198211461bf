// Package explore plays every placement of few faults in a small scene.
//
// A Scene is two or three workers, one article, one or two units and one or two
// sales each, on simulated servers in virtual time, with nothing left to chance.
// Played without interference it is the default schedule. A deviation is one
// interference at one point of it (package cluster/sim has the points and the
// kinds). Explore plays all schedules with 0, then 1, then 2, … deviations and has
// the ordinary checker judge each: the first violation is one with the fewest
// deviations, and no violation means that there is none within the bound.
//
// It is delay-bounded scheduling (Emmi, Qadeer and Rakamarić, POPL 2011) with
// faults as delays. The fewest deviations that break a level of a design is the
// design's distance at that level.
//
// Start with Scene.Play, then tree.go, which has the order of the schedules.
package explore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Size is how large a scene is. The zero value is the default.
type Size struct {
	Workers int   // default 2
	Units   int64 // of the one article; default 1
	Sales   int   // of each worker; default 1
}

// Scene is a design in a small shop. It is not changed by playing it, so that many
// goroutines may play it at once.
type Scene struct {
	Size
	Spec   workload.Resolved
	Kinds  sim.Kinds // that are tried
	times  sim.Times
	header histories.Header
	walls  bool // its workers look at wall clocks

	servers int // of the lock service
}

// NewScene makes the scene of a design, with the settings of the design but for
// times: they are such that workers meet.
func NewScene(d workload.Design, size Size) (*Scene, error) {
	s := &Scene{Size: size.or(Size{Workers: 2, Units: 1, Sales: 1}), Kinds: sim.EveryKind}
	usual, err := d.Resolve(workload.Spec{})
	if err != nil {
		return nil, err
	}
	if s.Spec, err = d.Resolve(s.settings(usual)); err != nil {
		return nil, err
	}
	retry := s.Spec.RetryDelay
	s.times = sim.Times{Lease: s.Spec.TTL, After: retry + soon, Over: s.Spec.Wait}
	s.header = s.Spec.Header()
	s.header.Cluster = "sim"
	p, err := s.play(nil, false, true)
	if err != nil {
		return nil, fmt.Errorf("the default schedule of %s: %w", d.Name, err)
	}
	s.header.Source, s.walls, s.servers = p.source, p.walls, p.servers
	return s, nil
}

// Source says what was simulated: "simulated Redis".
func (s *Scene) Source() string { return s.header.Source }

// LockServers is how many servers the lock service has.
func (s *Scene) LockServers() int { return s.servers }

// Name is what schedules and folders of explored scenes are called. The headers of
// their histories name no nemesis: each was made to mean something, and is not asked
// for traffic around its faults.
const Name = "explore"

// soon is how long after a lease's end its next holder has read the stock.
const soon = 5 * time.Millisecond

func (s Size) or(d Size) Size {
	if s.Workers == 0 {
		s.Workers = d.Workers
	}
	if s.Units == 0 {
		s.Units = d.Units
	}
	if s.Sales == 0 {
		s.Sales = d.Sales
	}
	return s
}

// settings are those of the scene. A worker tries a busy lock ten times in a
// lease, for two and a half leases, and works for a fifth of one: long enough for
// somebody who wakes up just after the lease's end to find the next holder
// between its read and its write. A design whose work is meant to outlast its
// lease works for longer than that here, too.
func (s *Scene) settings(usual workload.Resolved) workload.Spec {
	ttl := usual.TTL
	work := min(usual.LongWork(), ttl/5)
	if usual.LongWork() >= ttl {
		work = ttl * 6 / 5
	}
	spec := workload.Spec{
		Workers: s.Workers, PerHost: min(usual.PerHost, 2), SKUs: 2, Segments: 1, Stock: s.Units, Batches: 1,
		MaxOps: s.Sales, Qty: "1", Work: work.String(), Think: "0s",
		Retries: 25, RetryDelay: ttl / 10, Jitter: -1, Wait: ttl * 5 / 2, MaxDelay: 3 * ttl,
	}
	if usual.Customers > 0 {
		spec.Customers = int(s.Units) // who come to several workers
	}
	return spec
}

// Played is a schedule that was played.
type Played struct {
	History *histories.History
	Verdict *checker.Verdict
	Events  []histories.Event
	Done    []sim.Done   // the deviations
	Options []sim.Placed // what could have been done beyond them, if asked for
	Points  int

	source  string
	walls   bool
	servers int
}

// Play plays a schedule and judges it. With list it answers what could have been
// done beyond the last deviation.
func (s *Scene) Play(plan []sim.Placed, list bool) (*Played, error) {
	p, err := s.play(plan, list, s.walls)
	if err != nil {
		return nil, err
	}
	if p.History, err = histories.Pair(s.header, p.Events); err != nil {
		return nil, err
	}
	p.Verdict = checker.Check(context.Background(), p.History, judging)
	return p, nil
}

// judging trusts the scene to mean something: that is what it was made for.
var judging = checker.Options{RecheckTime: -1, Trust: true}

// patience bounds how long a scene may take, in virtual time.
const patience = 10 * time.Minute

// ErrEndless: a scene did not come to its end.
var ErrEndless = errors.New("the scene does not end")

func (s *Scene) play(plan []sim.Placed, list, walls bool) (*Played, error) {
	p := &Played{}
	if list, ok := lists.Get().(*[]histories.Event); ok {
		p.Events = *list
	}
	scene, err := sim.NewScene(sim.SceneSpec{
		Options: cluster.Options{
			Topology: s.Spec.Topology(), Workers: s.Spec.Workers, PerHost: s.Spec.PerHost,
			Program: func(ctx context.Context, _ []byte, e *env.Env, w env.Wire) error {
				return s.Spec.Shift(ctx, e, w.(env.Patient))
			},
			Emit: func(e histories.Event) { p.Events = append(p.Events, e) },
		},
		Times: s.times, Plan: plan, List: list, Kinds: s.Kinds, LooksAtWall: walls,
	})
	if err != nil {
		return nil, err
	}
	err = scene.Run(context.Background(), func(ctx context.Context) error { return s.direct(ctx, scene, p) })
	if left := scene.Unreached(); err == nil && len(left) > 0 {
		err = fmt.Errorf("point %d: %w", left[0].Point, sim.ErrNoSuchDeviation)
	}
	p.Done, p.Options, p.Points, p.source, p.walls = scene.Done(), scene.Options(), scene.Points(), scene.Source(), scene.LookedAtWall()
	p.servers = scene.LockServers()
	return p, err
}

// lists are lists of events that nobody uses any more.
var lists sync.Pool

// forget gives the list of events back: to be called when only the verdict counts.
func (p *Played) forget() {
	clear(p.Events)
	list := p.Events[:0]
	p.Events = nil
	lists.Put(&list)
}

// direct leads the scene through its phases: sales, then, when every lease and
// every late request is over, a last attempt, then the audit.
func (s *Scene) direct(ctx context.Context, scene *sim.Scene, p *Played) error {
	if err := workload.Setup(ctx, scene.Env(), s.Spec); err != nil {
		return err
	}
	if err := scene.StartWorkers(ctx); err != nil {
		return err
	}
	if !scene.Settle(ctx, patience) {
		return ErrEndless
	}
	scene.Mend()
	if err := scene.Sleep(ctx, s.Spec.TTL+s.Spec.Grace+s.Spec.MaxDelay); err != nil {
		return err
	}
	scene.SetPhase(env.Final)
	p.mark(scene, histories.Phase, histories.PhaseFinal)
	if !scene.Settle(ctx, patience) {
		return ErrEndless
	}
	scene.SetPhase(env.Done)
	if err := scene.Sleep(ctx, soon); err != nil {
		return err
	}
	scene.Dismiss()
	audits, err := workload.Audit(ctx, scene.Env(), s.Spec, []string{workload.StockKey(1, 0)})
	p.Events = append(p.Events, audits...)
	return err
}

func (p *Played) mark(scene *sim.Scene, f, note string) {
	p.Events = append(p.Events, histories.Event{Time: int64(scene.Now()), Process: histories.Nemesis, Type: histories.Info, F: f, Note: note})
}
