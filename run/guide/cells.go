package guide

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/run"
)

// cell is a kind of rare moment, and runs that came to it.
type cell struct {
	fresh    int // runs that came to it by themselves
	branched int // runs that were begun from it
	examples []example
}

// example is a run that came to a moment.
type example struct {
	plan run.Plan
	at   time.Duration
}

// mostExamples of a cell are kept; later ones take the place of earlier ones.
const mostExamples = 8

// mostTurns is how often a run branches off.
const mostTurns = 5

// learn keeps what an attempt went through.
func (s *searcher) learn(a *attempt) {
	for state := range a.seen.states {
		s.states[state] = true
	}
	if s.Plain {
		return
	}
	limit := cmp.Or(a.TimeLimit, a.Spec.TimeLimit) - latest
	for _, m := range a.seen.moments {
		c := s.cells[m.what]
		if c == nil {
			c = &cell{}
			s.cells[m.what], s.order = c, append(s.order, m.what)
		}
		if a.fresh {
			c.fresh++
		}
		if m.at >= limit {
			continue
		}
		e := example{a.Plan, m.at}
		if len(c.examples) < mostExamples {
			c.examples = append(c.examples, e)
		} else if s.rand.IntN(4) == 0 {
			c.examples[s.rand.IntN(mostExamples)] = e
		}
	}
}

// weight is how much a cell is worth trying from: the more the fewer runs come to it,
// the less the more often it was tried.
func (c *cell) weight() float64 {
	if len(c.examples) == 0 {
		return 0
	}
	return 1 / (1 + float64(c.fresh)) / (1 + float64(c.branched)/20)
}

// branch is an earlier run up to a rare moment, with other random numbers after it. There
// may be none yet.
func (s *searcher) branch() (run.Plan, bool) {
	sum := 0.0
	for _, name := range s.order {
		sum += s.cells[name].weight()
	}
	if sum == 0 {
		return run.Plan{}, false
	}
	at := s.rand.Float64() * sum
	chosen := s.cells[s.order[0]]
	for _, name := range s.order {
		c := s.cells[name]
		if at -= c.weight(); c.weight() > 0 {
			if chosen = c; at < 0 {
				break
			}
		}
	}
	chosen.branched++
	return s.turned(chosen.examples[s.rand.IntN(len(chosen.examples))]), true
}

// turned is the run of an example with a turn right after its moment.
func (s *searcher) turned(e example) run.Plan {
	p := e.plan
	turn := cluster.Turn{At: e.at + 1, Seed: s.rand.Uint64() >> 32}
	earlier := slices.DeleteFunc(slices.Clone(p.Turns), func(t cluster.Turn) bool { return t.At >= turn.At })
	if len(earlier) < mostTurns {
		earlier = append(earlier, turn)
	} else {
		earlier[mostTurns-1] = turn
	}
	p.Turns = earlier
	return p
}
