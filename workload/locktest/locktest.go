// Package locktest is the conformance suite for lock designs: what every lock
// must do, and what each must do that says it can.
//
// Each Case is a scene: a few workers with a script, and sometimes a director
// who injects a fault at a known moment. The suite runs wherever a World lets
// it; its own tests run it on cluster/sim, where a scene of minutes takes
// milliseconds. A design gets the whole suite by one line:
//
//	locktest.Run(t, world, design)
//
// Known-bad designs must fail it, each in the case that its mistake concerns;
// the table in locktest_test.go says which. What a design does under faults
// that come at random is not for here: that is what runs are for.
package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
)

// World plays scenes on a cluster of its own kind.
type World interface {
	// Play starts a cluster, sets it up by prepare, runs program as each
	// worker and direct beside them, and returns when all have ended.
	Play(ctx context.Context, s Scene) error
}

// Scene is what a World plays.
type Scene struct {
	Topology env.Topology
	Workers  int
	PerHost  int
	Prepare  func(ctx context.Context, e *env.Env) error // with the director's Env; before the workers start
	Program  env.Worker
	Direct   func(ctx context.Context, d Director) error // nil: there is nothing to direct
}

// Director hurts the cluster of a scene.
type Director interface {
	Sleep(ctx context.Context, d time.Duration) error
	Inject(ctx context.Context, f histories.Fault) error
}

// Case is one thing that a lock must do.
type Case struct {
	Name    string
	applies func(workload.Design) bool
	inside  bool // it needs a lock in this process: see Outsider
	workers int  // each plays script, told apart by its number
	script  func(ctx context.Context, p *player) error
	direct  func(ctx context.Context, d Director, s *stage) error
}

// Finding is a case that a design fails.
type Finding struct {
	Case string
	Err  error
}

// Run makes each case a test of a design. A design without a lock fails:
// nothing would be tested.
func Run(t *testing.T, w World, d workload.Design) {
	t.Helper()
	s, err := conform(d, shortTTL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range CasesOf(d) {
		t.Run(c.Name, func(t *testing.T) {
			if err := play(t.Context(), w, c, s); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check answers the cases that a design fails.
func Check(ctx context.Context, w World, d workload.Design) (findings []Finding, err error) {
	s, err := conform(d, shortTTL)
	if err != nil {
		return nil, err
	}
	for _, c := range CasesOf(d) {
		if err := play(ctx, w, c, s); err != nil {
			findings = append(findings, Finding{c.Name, err})
		}
	}
	return findings, nil
}

// CasesOf are the cases that apply to a design; none if it has no lock.
func CasesOf(d workload.Design) (cases []Case) {
	if d.Lock == nil {
		return nil
	}
	for _, c := range allCases {
		if c.applies(d) {
			cases = append(cases, c)
		}
	}
	return cases
}

// errNoLock: there is nothing to test.
var errNoLock = errors.New("the design has no lock")

const shortTTL = 2 * time.Second

// conform are the settings of the suite: next to no patience
// with a busy lock, so that a try tells how it stands.
func conform(d workload.Design, ttl time.Duration) (workload.Resolved, error) {
	if d.Lock == nil {
		return workload.Resolved{}, fmt.Errorf("%q: %w", d.Name, errNoLock)
	}
	return d.Resolve(workload.Spec{
		TTL: ttl, Retries: -1, RetryDelay: 10 * time.Millisecond, Jitter: -1, Wait: 50 * time.Millisecond,
	})
}

// Play plays the case for a design whose leases have a TTL; the error is what
// the lock does wrong.
func (c Case) Play(ctx context.Context, w World, d workload.Design, ttl time.Duration) error {
	s, err := conform(d, ttl)
	if err != nil {
		return err
	}
	return play(ctx, w, c, s)
}

// play plays one case.
func play(ctx context.Context, w World, c Case, s workload.Resolved) error {
	shared := &stage{spec: s, away: awayUntil}
	if o, is := w.(Outsider); is {
		shared.away = o.Away()
	}
	scene := Scene{
		Topology: s.Topology(), Workers: c.workers, PerHost: s.PerHost,
		Prepare: func(ctx context.Context, e *env.Env) error {
			err := workload.Setup(ctx, e, s)
			shared.began = e.Clock.Now()
			return err
		},
		Program: func(ctx context.Context, _ []byte, e *env.Env, _ env.Wire) error {
			p := &player{Env: e, stage: shared, spec: s}
			p.lock = s.NewLock(p.instruments())
			shared.problems = append(shared.problems, c.script(ctx, p))
			return nil
		},
	}
	if c.direct != nil {
		scene.Direct = func(ctx context.Context, d Director) error { return c.direct(ctx, d, shared) }
	}
	return errors.Join(w.Play(ctx, scene), errors.Join(shared.problems...))
}

// stage is what the players of a scene share. They play one at a time: in
// cluster/sim only one task runs at any moment.
type stage struct {
	spec      workload.Resolved
	away      time.Duration // how long the server is away
	began     time.Duration // when all was prepared
	problems  []error
	inside    int // players who hold the lock
	fences    []int64
	renewable bool          // the first holder can renew its lease
	told      bool          // a notice was given
	freed     bool          // the first holder has released
	until     time.Duration // the deadline that the first holder was shown
}

// player is one worker of a scene.
type player struct {
	*env.Env
	stage *stage
	spec  workload.Resolved
	lock  env.Lock
	hands Hands // nil: the lock is in this process

	atStep  func(ctx context.Context, name string) error // what happens at a design's steps; nil: nothing
	renewed int                                          // renewals begun
	last    error                                        // how the last of them ended
	lose    atomic.Int64                                 // answers that it will not hear
}

// key is the key that all scenes are about.
const key = "stock:sku-0"

// instruments is the player's Env with its steps, renewals and answers looked
// at.
func (p *player) instruments() *env.Env {
	p.hands, _ = p.Own.(Hands)
	p.Lock = slices.Clone(p.Lock)
	for i, r := range p.Lock {
		p.Lock[i] = deaf{r, p}
	}
	env.Unrecorded(p.Env).Step = func(ctx context.Context, name string) error {
		if p.atStep == nil {
			return nil
		}
		return p.atStep(ctx, name)
	}
	p.Env.Extending = func(string, string) func(time.Duration, error) {
		p.renewed++
		return func(_ time.Duration, err error) { p.last = err }
	}
	return p.Env
}

// now is the time since the scene began.
func (p *player) now() time.Duration { return p.Clock.Now() - p.stage.began }

// past says whether a moment, given in ttls since the start, has passed.
func (p *player) past(ttls float64) bool { return float64(p.now()) > ttls*float64(p.spec.TTL) }

// at waits until a moment, given in ttls since the start.
func (p *player) at(ctx context.Context, ttls float64) error {
	return p.Clock.Sleep(ctx, time.Duration(ttls*float64(p.spec.TTL))-p.now())
}

// take must get the lock at once.
func (p *player) take(ctx context.Context) (env.Lease, error) {
	lease, err := p.lock.Acquire(ctx, key)
	if err != nil {
		return nil, p.problem("did not get a free lock: %w", err)
	}
	return lease, nil
}

// refused must not get the lock.
func (p *player) refused(ctx context.Context) error {
	_, err := p.lock.Acquire(ctx, key)
	if err == nil {
		return p.problem("got a lock that another holds")
	}
	if !errors.Is(err, env.ErrBusy) {
		return p.problem("was refused with %w, not because the lock is busy", err)
	}
	return nil
}

// waitFor must get the lock before a moment, given in ttls since the start.
func (p *player) waitFor(ctx context.Context, ttls float64) (env.Lease, error) {
	for {
		lease, err := p.lock.Acquire(ctx, key)
		if err == nil {
			return lease, nil
		}
		if p.past(ttls) {
			return nil, p.problem("has not got the lock yet: %w", err)
		}
		if err := p.Clock.Sleep(ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func (p *player) problem(format string, args ...any) error {
	who := fmt.Sprintf("worker %d at %.2f ttl ", p.Worker, float64(p.now())/float64(p.spec.TTL))
	return fmt.Errorf(who+format, args...)
}
