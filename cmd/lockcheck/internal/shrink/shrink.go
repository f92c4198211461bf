// Package shrink makes a plan that breaks a property small: the fewest
// faults, workers, SKUs and sells and the shortest run that still break it.
//
// It is greedy, as in delta debugging (Zeller and Hildebrandt, 2002): it
// tries smaller plans, largest steps first, keeps the first one that still
// breaks, and begins again, until nothing smaller does. Whether a plan breaks
// is the caller's to say; a smaller plan often needs another seed, so the
// caller may try several and hand back the one that did.
package shrink

import (
	"context"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cmd/lockcheck/internal/cell"
	"github.com/lockcheck/lockcheck/nemesis"
)

// Try runs a plan, under several seeds if it likes, and answers the plan (with
// the seed) that broke the property, and whether one did.
type Try func(ctx context.Context, p cell.Plan) (cell.Plan, bool)

// shortest is the shortest run worth trying.
const shortest = time.Second

// Plan shrinks p, which must have its schedule set, until nothing smaller
// breaks or ctx ends. said is told of each success.
func Plan(ctx context.Context, p cell.Plan, try Try, said func(what string, p cell.Plan)) cell.Plan {
	for ctx.Err() == nil {
		smaller, what, ok := step(ctx, p, try)
		if !ok {
			break
		}
		p = smaller
		said(what, p)
	}
	return p
}

// step finds one smaller plan that still breaks.
func step(ctx context.Context, p cell.Plan, try Try) (cell.Plan, string, bool) {
	for _, m := range moves(p) {
		if ctx.Err() != nil {
			break
		}
		if smaller, ok := try(ctx, m.plan); ok {
			return smaller, m.what, true
		}
	}
	return p, "", false
}

// move is a plan somewhat smaller than another.
type move struct {
	what string
	plan cell.Plan
}

// moves lists what to try, the most promising first.
func moves(p cell.Plan) []move {
	all := fewerEpisodes(p)
	number := func(what string, now, least int, set func(*cell.Plan, int)) {
		for _, n := range lower(now, least) {
			q := p
			set(&q, n)
			all = append(all, move{what, q})
		}
	}
	number("fewer workers", p.Spec.Workers, 2, func(q *cell.Plan, n int) { q.Spec.Workers = n })
	number("fewer SKUs", p.Spec.SKUs, 1, func(q *cell.Plan, n int) { q.Spec.SKUs = n })
	sells := p.Spec.MaxOps
	if sells == 0 {
		sells = 1 << 10 // no limit: begin somewhere
	}
	number("fewer sells", sells, 1, func(q *cell.Plan, n int) { q.Spec.MaxOps = n })
	for _, d := range []time.Duration{p.TimeLimit / 4, p.TimeLimit / 2, p.TimeLimit * 3 / 4, p.TimeLimit - time.Second} {
		if d >= shortest && d < p.TimeLimit {
			q := p
			q.TimeLimit = d.Truncate(100 * time.Millisecond)
			all = append(all, move{"a shorter run", q})
		}
	}
	return append(all, fewerSteps(p)...)
}

// lower are the numbers to try below now: small ones, halves, one less.
func lower(now, least int) []int {
	var ns []int
	for _, n := range []int{least, least + 1, now / 4, now / 2, now - 1} {
		if n >= least && n < now && !slices.Contains(ns, n) {
			ns = append(ns, n)
		}
	}
	return ns
}

// fewerEpisodes tries none, each alone, then all but one.
func fewerEpisodes(p cell.Plan) []move {
	episodes := p.Schedule.Episodes
	if len(episodes) == 0 {
		return nil
	}
	all := []move{{"no faults", withEpisodes(p, nil)}}
	if len(episodes) > 1 {
		for i := range episodes {
			all = append(all, move{"one episode of faults", withEpisodes(p, episodes[i:i+1])})
		}
	}
	if len(episodes) > 2 {
		for i := range episodes {
			all = append(all, move{"fewer faults", withEpisodes(p, slices.Delete(slices.Clone(episodes), i, i+1))})
		}
	}
	// Earlier: the run can then be shorter.
	if at := episodes[0].At; len(episodes) == 1 && at > time.Second {
		e := episodes[0]
		e.At = at / 2
		all = append(all, move{"earlier faults", withEpisodes(p, []nemesis.Episode{e})})
	}
	return all
}

// fewerSteps leaves out one step of one episode.
func fewerSteps(p cell.Plan) []move {
	var all []move
	for i, e := range p.Schedule.Episodes {
		for j := range e.Steps {
			episodes := slices.Clone(p.Schedule.Episodes)
			episodes[i].Steps = slices.Delete(slices.Clone(e.Steps), j, j+1)
			all = append(all, move{"without " + e.Steps[j].Fault.F, withEpisodes(p, episodes)})
		}
	}
	return all
}

func withEpisodes(p cell.Plan, episodes []nemesis.Episode) cell.Plan {
	s := *p.Schedule
	s.Episodes = episodes
	p.Schedule = &s
	return p
}
