package sim

import (
	"context"
	"errors"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Scene is a cluster in which nothing is left to chance: every packet takes
// the same time, connections are there at once, nothing warms up and no server
// does housekeeping. What goes wrong in it is its Plan and nothing else, so that
// every placement of a few deviations can be played (package explore).
//
// A replicated lock service has no Sentinels: clients are told of a new master
// at once. A Redis Cluster is played as the one shard that has the key.
type Scene struct {
	*system
	SceneSpec

	points   int      // so far
	recorded int      // events
	at       string   // the named step of the worker that is interfered with
	next     int      // of Plan, to be done
	options  []Placed // see Options
	done     []Done   // see Done

	master  *node // of a replicated lock service
	settled *vtime.Waiter
	waits   []*turn
	cuts    map[path]time.Duration // until when
}

// SceneSpec says what to play.
type SceneSpec struct {
	cluster.Options
	Times
	// Plan are the deviations, by their points.
	Plan []Placed
	// List asks for Options, of these kinds.
	List  bool
	Kinds Kinds
	// LooksAtWall: the program reads wall clocks, so that moving one means something.
	LooksAtWall bool
}

// Times are how long the deviations of a scene last.
type Times struct {
	Lease time.Duration // what a grant lasts
	After time.Duration // so long after the end of a lease the next holder is at work …
	Over  time.Duration // … and so long after, every other worker has ended its sales
}

// NewScene builds a scene. Nothing happens in it before Run.
func NewScene(spec SceneSpec) (*Scene, error) {
	s := &Scene{SceneSpec: spec}
	emit := spec.Emit
	spec.Emit = func(e histories.Event) { s.recorded++; emit(e) }
	_, err := build(Config{scene: s}, spec.Options)
	return s, err
}

// Run calls director in virtual time, in the calling goroutine. All that was
// started ends with it.
func (s *Scene) Run(ctx context.Context, director func(context.Context) error) error {
	if s.ran {
		return errors.New("a scene runs only once")
	}
	s.ran = true
	defer s.retire()
	return s.play(ctx, director)
}

// retire gives back what other scenes can use.
func (s *Scene) retire() {
	for _, n := range append(s.site.redis, s.site.stock) {
		if n != nil && n.keys != nil {
			n.keys.Retire()
		}
	}
	if s.site.sql != nil {
		s.site.sql.db.Retire()
	}
}

// LockServers is how many servers the lock service has.
func (s *Scene) LockServers() int { return len(s.site.redis) }

// Settle waits until every worker waits for the next phase, and reports false if
// limit is over before.
func (s *Scene) Settle(ctx context.Context, limit time.Duration) bool {
	for until := s.s.Now + limit; !s.allRest(); {
		if s.s.Now >= until || ctx.Err() != nil {
			return false
		}
		w := s.s.Waiter()
		s.settled = &w
		s.s.Wait(ctx, until)
	}
	return true
}

func (s *Scene) allRest() bool {
	for _, w := range s.workers {
		if w.resting == nil && !(w.ended() && w.host.starts > 0 && !w.host.proc.Dead) {
			return false
		}
	}
	return true
}

// SetPhase moves the workers on.
func (s *Scene) SetPhase(p env.Phase) {
	s.phase = p
	for _, w := range s.workers {
		if w.resting != nil {
			w.resting.Wake()
			w.resting = nil
		}
	}
}

// Mend undoes what is left of the deviations: links and clocks are right again, and
// servers that are down come back, as replicas where there is a master.
func (s *Scene) Mend() {
	s.healAll()
	for _, n := range s.site.redis {
		if !n.alive() {
			n.master = s.master
			n.boot(false)
			n.connect()
		}
	}
	s.undo(histories.Fault{F: histories.Heal}, "links and clocks are right")
}

// Dismiss ends the workers' processes: what they have taken from a queue and not
// confirmed goes back.
func (s *Scene) Dismiss() {
	for _, h := range s.hosts {
		s.net.Exit(h.proc, true)
	}
}

// Await implements env.Patient.
func (w *worker) Await(ctx context.Context, p env.Phase) error {
	c := w.c
	for c.phase < p {
		rest := c.s.Waiter()
		w.resting = &rest
		if s := c.scene; s.settled != nil && s.allRest() {
			s.settled.Wake()
			s.settled = nil
		}
		if c.s.Wait(ctx, vtime.Forever); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// setUp makes the first server of a replicated lock service the master of the others.
func (s *Scene) setUp() {
	if !s.Topology.Lock.Replicated() {
		return
	}
	s.master = s.site.redis[0]
	for _, n := range s.site.redis[1:] {
		n.master = s.master
	}
}

// replicate lets the replicas follow their master, as if they had for long.
func (s *Scene) replicate() {
	if s.master == nil {
		return
	}
	m := &s.master.repl
	for _, n := range s.site.redis[1:] {
		c := s.net.Join(n.proc, s.master.box)
		c.End[0].OnBreak = func() { n.masterGone(c) }
		n.repl.link, n.repl.synced, n.repl.id = c, true, m.id
		m.replicas = append(m.replicas, &replica{session: c.Session, node: n})
	}
}

// group is what a process sees of a replicated lock service.
func (s *Scene) group(p *vtime.Process) (master, replicas []env.Redis) {
	follow := func(of func() *node) env.Redis {
		e := s.endpoint(p, nil)
		e.locate = func(context.Context) (*vtime.Machine, error) { return of().box, nil }
		return e
	}
	master = []env.Redis{follow(func() *node { return s.master })}
	for i := range 2 {
		replicas = append(replicas, follow(func() *node { return s.replica(i) }))
	}
	return master, replicas
}

// replica is the i-th living one; the master if there is none.
func (s *Scene) replica(i int) *node {
	var all []*node
	for _, n := range s.site.redis {
		if n != s.master && n.alive() {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return s.master
	}
	return all[i%len(all)]
}
