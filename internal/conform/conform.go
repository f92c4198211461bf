// Package conform plays the conformance scenes of workload/locktest with a
// program that speaks the protocol: in real time, with one process a worker and
// a proxy before each, on a Redis that it is given or on a simulated one.
//
// It says which rule the program's lock breaks and shows the lines that were
// exchanged. A rule counts as broken if it was broken twice: the second time
// nothing else was played beside it, with a longer TTL, so that a slow machine
// accuses nobody.
package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/protocol/child"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/locktest"
	"github.com/lockcheck/lockcheck/workload/own"
)

// Config is what to test, and how. The zero value of a field is its documented
// default.
type Config struct {
	Command  []string
	Dir      string        // where it runs; default: the current folder
	Env      []string      // of the program, besides lockcheck's own
	Redis    string        // host:port; default: a simulated one for each scene
	TTL      time.Duration // that the program is told; default 2 s
	Parallel int           // scenes at once; default 4
	Away     time.Duration // how long the server is away where a scene wants that; default 10 s
	Limits   protocol.Limits
	Grace    child.Grace
}

// Result is how one scene went.
type Result struct {
	Rule  string
	Err   error // nil: the program keeps the rule
	Lines []Line
	Took  time.Duration
}

// Line is a line of a worker's conversation.
type Line struct {
	Worker int
	protocol.Line
}

// Subject is a program that can be tested.
type Subject struct {
	cfg    Config
	Ready  protocol.Ready
	TTL    time.Duration // that the program is told
	design workload.Design
	cases  []locktest.Case
}

// Look starts the program once and sees what it says of itself. An error is why
// it cannot be tested: a finding with its line.
func Look(ctx context.Context, cfg Config) (*Subject, error) {
	cfg.TTL = cmp.Or(cfg.TTL, 2*time.Second)
	cfg.Parallel = cmp.Or(cfg.Parallel, 4)
	cfg.Away = cmp.Or(cfg.Away, 10*time.Second)
	r, patience, err := introduce(ctx, cfg)
	if err != nil {
		return nil, err
	}
	// A try is to tell how it stands, within a part of the TTL. A lock that heeds
	// no wait_ms needs a longer one.
	cfg.TTL = max(cfg.TTL, (5 * patience).Round(time.Second))
	s := &Subject{cfg: cfg, Ready: r, TTL: cfg.TTL, design: own.Design(r.Name, cfg.Command, env.Topology{Lock: env.Single}, r)}
	if s.cases = locktest.FromOutside(s.design); len(s.cases) == 0 {
		return nil, fmt.Errorf("%s sells, and announces no lock: there is no lock to test; run it", r.Name)
	}
	return s, nil
}

// introduce has the program say what it is, and sees how long it tries for a
// lock that another has.
func introduce(ctx context.Context, cfg Config) (r protocol.Ready, patience time.Duration, err error) {
	w, err := newWorld(cfg)
	if err != nil {
		return r, 0, err
	}
	defer w.close()
	for n := range 2 {
		p, err := w.hire(n)
		if err != nil {
			return r, 0, err
		}
		if r, err = p.child.Await(ctx); err != nil {
			return r, 0, err
		}
		if r.Has(protocol.CanSell) && !r.Has(protocol.CanAnnounce) {
			break
		}
		a := p.child.Ask(ctx, protocol.Request{Do: protocol.Acquire, Key: scenesKey})
		patience = a.Read - a.Asked
	}
	for _, p := range w.all() {
		if err := p.child.End(); err != nil {
			return r, 0, err
		}
		if found := p.child.Findings(); len(found) > 0 {
			return r, 0, findingsError(found)
		}
	}
	return r, patience, nil
}

// Rules are the rules that will be tested.
func (s *Subject) Rules() (names []string) {
	for _, c := range s.cases {
		names = append(names, c.Name)
	}
	return names
}

// Test plays all scenes, and calls each when one is decided, one at a time. It
// ends early, with the error of ctx, if that does.
func (s *Subject) Test(ctx context.Context, each func(Result)) (broken int, err error) {
	var again []locktest.Case
	s.inParallel(func(c locktest.Case) Result { return s.play(ctx, c, s.cfg.TTL) }, func(c locktest.Case, r Result) {
		if r.Err != nil {
			again = append(again, c)
			return
		}
		each(r)
	})
	for _, c := range again {
		if ctx.Err() != nil {
			break
		}
		r := s.play(ctx, c, 3*s.cfg.TTL)
		if r.Err != nil {
			broken++
		}
		each(r)
	}
	return broken, ctx.Err()
}

// inParallel plays all cases, some at a time, and calls done for each, one at a
// time.
func (s *Subject) inParallel(play func(locktest.Case) Result, done func(locktest.Case, Result)) {
	var all sync.WaitGroup
	var mu sync.Mutex
	free := make(chan struct{}, s.cfg.Parallel)
	for _, c := range s.cases {
		free <- struct{}{}
		all.Go(func() {
			r := play(c)
			<-free
			mu.Lock()
			defer mu.Unlock()
			done(c, r)
		})
	}
	all.Wait()
}

// play plays one scene.
func (s *Subject) play(ctx context.Context, c locktest.Case, ttl time.Duration) Result {
	cfg := s.cfg
	cfg.TTL = ttl
	if s.Ready.TTL > 0 && s.Ready.TTL != s.TTL { // it has a mind of its own
		r, _, err := introduce(ctx, cfg)
		if err != nil {
			return Result{Rule: c.Name, Err: err}
		}
		ttl = r.TTL
	}
	w, err := newWorld(cfg)
	if err != nil {
		return Result{Rule: c.Name, Err: err}
	}
	defer w.close()
	err = c.Play(ctx, w, s.design, ttl)
	return Result{Rule: c.Name, Err: err, Lines: w.lines(), Took: w.clock.Now()}
}

// findingsError is what is wrong with a child.
func findingsError(found []protocol.Finding) error {
	var all []error
	for _, f := range found {
		all = append(all, errors.New("the program "+f.String()))
	}
	return errors.Join(all...)
}
