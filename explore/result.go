package explore

import (
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster/sim"
)

// Result is what a search found.
type Result struct {
	Scene *Scene
	Bound int // deviations at most
	// Complete: all schedules with so many deviations were played that could tell
	// something new; -1: none was.
	Complete int
	Depths   []Depth
	Broken   [len(Levels)]*Break // by level; nil: not broken
	ByKind   [len(sim.AllKinds)][len(Levels)]*Break
	Looked   [len(Levels)]bool // the design has what the level is about
	aims     [len(Levels)]bool
	Unknown  int64 // schedules on which the checker could not decide
}

// Depth counts the schedules with one number of deviations.
type Depth struct {
	All     int64 // there are
	Played  int64
	Invalid int64
}

// Break is a schedule that breaks a level.
type Break struct {
	Plan      []sim.Placed
	Violation checker.Violation
}

// Deviations is how many it takes.
func (b *Break) Deviations() int { return len(b.Plan) }

// PlanError is a schedule that could not be played.
type PlanError struct {
	Plan []sim.Placed
	Err  error
}

func (e *PlanError) Error() string { return fmt.Sprintf("schedule %v: %v", e.Plan, e.Err) }

// Unwrap is why.
func (e *PlanError) Unwrap() error { return e.Err }

func newResult(s *Search) *Result {
	r := &Result{Scene: s.Scene, Bound: s.Deviations, Complete: -1, Depths: make([]Depth, s.Deviations+1)}
	for i, level := range Levels {
		r.aims[i] = len(s.Aims) == 0 || slices.Contains(s.Aims, level)
	}
	return r
}

// add takes in a schedule. Of those with equally many deviations that break a
// level the first in the order of the tree counts, whichever was played first.
func (r *Result) add(p *Played, plan []sim.Placed) {
	d := &r.Depths[len(plan)]
	d.Played++
	switch p.Verdict.Outcome {
	case checker.Invalid:
		d.Invalid++
	case checker.Unknown:
		r.Unknown++
	}
	for i, level := range Levels {
		r.Looked[i] = r.Looked[i] || p.Verdict.Levels[level] != checker.NotLooked
		if p.Verdict.Levels[level] != checker.Invalid {
			continue
		}
		v := p.Verdict.Violations[slices.IndexFunc(p.Verdict.Violations, func(v checker.Violation) bool { return v.Level == level })]
		b := &Break{slices.Clone(plan), v}
		r.Broken[i] = earlier(r.Broken[i], b)
		if len(plan) == 0 {
			for k := range r.ByKind {
				r.ByKind[k][i] = b
			}
		} else if kind, single := kindOf(plan); single {
			r.ByKind[kind][i] = earlier(r.ByKind[kind][i], b)
		}
	}
}

// earlier is the one of two breaks that comes first.
func earlier(a, b *Break) *Break {
	if a == nil || comparePlans(b.Plan, a.Plan) < 0 {
		return b
	}
	return a
}

// comparePlans orders schedules: fewer deviations first, then by place.
func comparePlans(a, b []sim.Placed) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	for i := range a {
		for _, d := range [...]int{a[i].Point - b[i].Point, int(a[i].Kind) - int(b[i].Kind), int(a[i].Variant) - int(b[i].Variant)} {
			if d != 0 {
				return d
			}
		}
	}
	return 0
}

// unbroken reports whether some level that is aimed at, and that the design has,
// takes depth deviations at least.
func (r *Result) unbroken(depth int) bool { return r.takes(r.Broken, depth) }

// unbrokenBy is the same of deviations of one kind.
func (r *Result) unbrokenBy(k sim.Kind, depth int) bool { return r.takes(r.ByKind[k], depth) }

func (r *Result) takes(broken [len(Levels)]*Break, depth int) bool {
	for i, b := range broken {
		if r.aims[i] && r.Looked[i] && (b == nil || b.Deviations() >= depth) {
			return true
		}
	}
	return false
}

// finish notes that all schedules with so many deviations have been played.
func (r *Result) finish(depth int, of int64) {
	r.Complete, r.Depths[depth].All = depth, of
}

// stop notes that time was over at a depth.
func (r *Result) stop(depth int, of int64) { r.Depths[depth].All = of }

// Bears is how many deviations a level that was not broken bears: so many that all
// schedules with them were played; -1: not even the default schedule was.
func (r *Result) Bears() int {
	for n, d := range r.Depths {
		if d.Played < d.All || n > r.Complete {
			return n - 1
		}
	}
	return r.Bound
}

// Schedules is how many were played.
func (r *Result) Schedules() (n int64) {
	for _, d := range r.Depths {
		n += d.Played
	}
	return n
}
