// Package guide searches for a broken run by what earlier runs went through. Package
// run's Search tries one seed after the other; this tries, in turns,
//
//   - the next seed as it is;
//   - the next seed with settings drawn by chance (a swarm);
//   - an earlier run up to a rare moment, and other random numbers from there on: a
//     promotion, an answer that never came, a lease that ended under its holder.
//
// Rare moments are followed the more the fewer seeds reach them, so that two rare things
// that must meet are found one after the other (importance splitting: Kahn and Harris,
// 1951; the choice of cells by rarity as in Go-Explore: Ecoffet et al., 2021).
//
// All is decided by the seeds. What is found is a plan like any other: it is played
// again by its seed, its settings and its turns.
package guide

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/run"
)

// Options say what a guided search may do.
type Options struct {
	Runs int // at most
	// Fixed reports whether the setting of that flag must stay as it is; nil: none.
	Fixed func(flag string) bool
	// Plain: seeds only, one after the other, and nothing but the states is counted.
	Plain bool
}

// Result is what a search found.
type Result struct {
	Found  *run.Judged // nil: nothing
	Tried  int         // runs, up to the one that was found
	Seeds  int         // that the runs began with
	States int         // distinct states that the runs went through
}

// Search makes runs until one is broken, and answers that of the lowest number,
// whatever the machine. plan(i) is the plan of the i-th seed. ctx ends the search early,
// which is no error. broken may be called by several goroutines.
func Search(ctx context.Context, provider cluster.Provider, plan func(i int) run.Plan, o Options, broken func(*run.Judged) bool) (Result, error) {
	if o.Fixed == nil {
		o.Fixed = func(string) bool { return false }
	}
	s := searcher{Options: o, provider: provider, plan: plan, broken: broken, cells: map[string]*cell{}, states: map[uint64]bool{}}
	first := plan(0)
	s.rand = rand.New(rand.NewPCG(first.Spec.Seed, stream))
	s.variants = variants(first)
	return s.search(ctx)
}

// stream keeps the search's random numbers apart from those of the runs.
const stream = 0x6775696465

// warmUp is how many seeds are tried as they are at first, and generation how many runs
// are planned at once by what is known: what a search does must not depend on how
// many processors there are.
const (
	warmUp     = 24
	generation = 16
)

type searcher struct {
	Options
	provider cluster.Provider
	plan     func(i int) run.Plan
	broken   func(*run.Judged) bool
	rand     *rand.Rand
	variants []string
	seeds    int // used so far
	tried    int
	cells    map[string]*cell
	order    []string // of cells, as they were found
	states   map[uint64]bool
}

// attempt is one run of a generation.
type attempt struct {
	run.Plan
	fresh  bool // no branch of an earlier run
	seen   *follower
	judged *run.Judged
	broken bool
	err    error
	done   bool
}

func (s *searcher) search(ctx context.Context) (Result, error) {
	for s.tried < s.Runs && ctx.Err() == nil {
		all := s.next(min(s.size(), s.Runs-s.tried))
		s.play(ctx, all)
		for i := range all {
			a := &all[i]
			switch {
			case !a.done && ctx.Err() != nil:
				return s.result(nil), nil
			case a.err != nil:
				return s.result(nil), fmt.Errorf("seed %d: %w", a.Spec.Seed, a.err)
			}
			s.tried++
			s.learn(a)
			if a.broken {
				return s.result(a.judged), nil
			}
		}
	}
	return s.result(nil), nil
}

func (s *searcher) result(found *run.Judged) Result {
	return Result{Found: found, Tried: s.tried, Seeds: s.seeds, States: len(s.states)}
}

// size is how many runs are planned at once.
func (s *searcher) size() int {
	if s.tried == 0 {
		return warmUp
	}
	return generation
}

// next plans n runs.
func (s *searcher) next(n int) []attempt {
	all := make([]attempt, n)
	for i := range all {
		p, branched := run.Plan{}, false
		if s.tried > 0 && !s.Plain && i%2 == 1 {
			p, branched = s.branch()
		}
		if !branched {
			p = s.plan(s.seeds)
			s.seeds++
			if s.tried > 0 && !s.Plain && i%4 == 2 {
				p = s.swarm(p, s.rand)
			}
		}
		all[i] = attempt{Plan: p, fresh: !branched}
	}
	return all
}

// play makes the runs, side by side where the provider is parallel. One that is broken
// spares those after it.
func (s *searcher) play(ctx context.Context, all []attempt) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next, end := 0, len(all)
	for range run.Lanes(s.provider) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= end || ctx.Err() != nil
				mu.Unlock()
				if stop {
					return
				}
				a := s.one(ctx, &all[i])
				mu.Lock()
				if a.broken || a.err != nil {
					end = min(end, i+1)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// one makes one run.
func (s *searcher) one(ctx context.Context, a *attempt) *attempt {
	ttl := a.Spec.TTL
	if a.Spec.Of.NoLease || a.Spec.Of.Lock == nil {
		ttl = 0
	}
	a.seen = newFollower(ttl)
	a.judged, a.err = run.Run(ctx, s.provider, a.Plan, run.Quick, a.seen.see)
	a.done = ctx.Err() == nil
	if a.err == nil {
		a.broken = s.broken(a.judged)
	}
	return a
}

// variants are those of the plan's nemesis that fit its design.
func variants(p run.Plan) (names []string) {
	n, ok := nemesis.Find(p.Nemesis)
	if !ok || p.Variant != "" || p.Schedule != nil {
		return nil
	}
	for _, v := range n.Variants {
		q := p
		q.Variant = v.Name
		if run.Feasible(q) == nil {
			names = append(names, v.Name)
		}
	}
	return names
}

// latest is how close to the end of its faults a run is still branched.
const latest = 500 * time.Millisecond
