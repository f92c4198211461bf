// Package shrink makes a plan that breaks a property small: the fewest
// faults, workers, SKUs and sells and the shortest run that still break it.
//
// It is greedy, as in delta debugging (Zeller and Hildebrandt, 2002), one
// dimension after another: in each it tries smaller plans, the smallest first,
// and keeps the first one that still breaks; it goes round until a whole round
// brings nothing. Whether a plan breaks is the caller's to say; a smaller plan
// often needs another seed, so the caller may try several and hand back the
// one that did.
package shrink

import (
	"context"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

// Try runs a plan, under several seeds if it likes, and answers the plan (with
// the seed) that broke the property, and whether one did.
type Try func(ctx context.Context, p run.Plan) (run.Plan, bool)

// shortest is the shortest run worth trying.
const shortest = time.Second

// Plan shrinks p, which must have its schedule set, until nothing smaller
// breaks or ctx ends. said is told of each success.
func Plan(ctx context.Context, p run.Plan, try Try, said func(what string, p run.Plan)) run.Plan {
	for again := true; again && ctx.Err() == nil; {
		again = false
		for _, d := range dimensions {
			for smaller, ok := d.step(ctx, p, try); ok; smaller, ok = d.step(ctx, p, try) {
				p, again = smaller, true
				said(d.what, p)
			}
		}
	}
	return p
}

// dimension is one way in which a plan can be smaller.
type dimension struct {
	what    string
	smaller func(run.Plan) []run.Plan // the smallest first
}

// The dimensions: what makes runs cheap comes first.
var dimensions = []dimension{
	{"a small scene", scenes},
	{"a shorter run", shorter},
	{"fewer faults", fewerEpisodes},
	{"fewer workers", numbers(2, func(p *run.Plan) *int { return &p.Spec.Workers })},
	{"fewer SKUs", numbers(1, func(p *run.Plan) *int { return &p.Spec.SKUs })},
	{"fewer sells", fewerSells},
	{"more time between sells", slower},
	{"earlier faults", earlier},
	{"fewer steps", fewerSteps},
}

// step finds one smaller plan that still breaks.
func (d dimension) step(ctx context.Context, p run.Plan, try Try) (run.Plan, bool) {
	for _, q := range d.smaller(p) {
		if ctx.Err() != nil {
			break
		}
		trimmed := q.Schedule.Within(q.TimeLimit, q.Spec.Workers)
		if q.Schedule = &trimmed; run.CheckSchedule(q) != nil {
			continue // what is found must be played again
		}
		if smaller, ok := try(ctx, q); ok {
			return smaller, true
		}
	}
	return p, false
}

// scenes jump to a handful of workers at one or two articles who all work
// long, with one episode of faults at the start: with them an aim is met at
// once, where a few workers with mostly short work would wait for it.
func scenes(p run.Plan) []run.Plan {
	var all []run.Plan
	for _, work := range []string{"70%ttl", p.Spec.Work} { // long work makes the shortest histories
		for _, size := range []struct{ workers, skus int }{{2, 1}, {3, 1}, {2, 2}, {3, 2}, {4, 2}, {4, 4}} {
			q := p
			q.Spec.Workers, q.Spec.SKUs, q.Spec.Work = size.workers, size.skus, work
			if q.Spec.Workers >= p.Spec.Workers && q.Spec.SKUs >= p.Spec.SKUs || p.Spec.TTL == 0 && work != p.Spec.Work {
				continue
			}
			for i := range q.Schedule.Episodes {
				e := q.Schedule.Episodes[i]
				e.At = 0
				all = append(all, withEpisodes(q, []nemesis.Episode{e}))
			}
			if len(q.Schedule.Episodes) == 0 {
				all = append(all, q)
			}
		}
	}
	return all
}

func shorter(p run.Plan) []run.Plan {
	var all []run.Plan
	for _, d := range []time.Duration{p.TimeLimit / 4, p.TimeLimit / 2, p.TimeLimit * 3 / 4, p.TimeLimit - time.Second} {
		if d >= shortest && d < p.TimeLimit {
			q := p
			q.TimeLimit = d.Truncate(100 * time.Millisecond)
			all = append(all, q)
		}
	}
	return all
}

// numbers tries smaller values of one number.
func numbers(least int, of func(*run.Plan) *int) func(run.Plan) []run.Plan {
	return func(p run.Plan) []run.Plan {
		var all []run.Plan
		for _, n := range lower(*of(&p), least) {
			q := p
			*of(&q) = n
			all = append(all, q)
		}
		return all
	}
}

func fewerSells(p run.Plan) []run.Plan {
	if p.Spec.MaxOps == 0 {
		p.Spec.MaxOps = 512 // no limit so far: begin somewhere
	}
	return numbers(1, func(p *run.Plan) *int { return &p.Spec.MaxOps })(p)
}

// slower has customers come less often: who waits for a lock that is not to be
// had fills a history with refusals.
func slower(p run.Plan) []run.Plan {
	now, err := workload.Durations(p.Spec.Think, p.Spec.TTL)
	if err != nil {
		return nil
	}
	var all []run.Plan
	for _, d := range []time.Duration{time.Second, 500 * time.Millisecond, 200 * time.Millisecond} {
		if float64(d) > float64(now.Mean()) {
			q := p
			q.Spec.Think = d.String()
			all = append(all, q)
		}
	}
	return all
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
func fewerEpisodes(p run.Plan) []run.Plan {
	episodes := p.Schedule.Episodes
	if len(episodes) == 0 {
		return nil
	}
	all := []run.Plan{withEpisodes(p, nil)}
	if len(episodes) > 1 {
		for i := range episodes {
			all = append(all, withEpisodes(p, episodes[i:i+1]))
		}
	}
	if len(episodes) > 2 {
		for i := range episodes {
			all = append(all, withEpisodes(p, slices.Delete(slices.Clone(episodes), i, i+1)))
		}
	}
	return all
}

// earlier moves a lone episode towards the start: the run can then be shorter.
func earlier(p run.Plan) []run.Plan {
	episodes := p.Schedule.Episodes
	if len(episodes) != 1 || episodes[0].At < 100*time.Millisecond {
		return nil
	}
	e := episodes[0]
	e.At /= 2
	return []run.Plan{withEpisodes(p, []nemesis.Episode{e})}
}

// fewerSteps leaves out one step of one episode.
func fewerSteps(p run.Plan) []run.Plan {
	var all []run.Plan
	for i, e := range p.Schedule.Episodes {
		for j := range e.Steps {
			episodes := slices.Clone(p.Schedule.Episodes)
			episodes[i].Steps = slices.Delete(slices.Clone(e.Steps), j, j+1)
			all = append(all, withEpisodes(p, episodes))
		}
	}
	return all
}

func withEpisodes(p run.Plan, episodes []nemesis.Episode) run.Plan {
	s := *p.Schedule
	s.Episodes = episodes
	p.Schedule = &s
	return p
}
