package needles_test

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/run/guide"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/needles"
)

var (
	searches = flag.Int("needles.searches", 1, "compare plain and guided search: searches of each needle")
	limit    = flag.Int("needles.limit", 2000, "runs of one search at most")
)

// effort is what the searches of one kind took for one needle.
type effort struct {
	runs    []int // of each search, those that found nothing too
	seconds []float64
	found   int
	states  int
}

// median of the searches, where the one that found nothing counts as endless.
func (e effort) median() string {
	if 2*e.found <= len(e.runs) {
		return fmt.Sprintf("> %d", *limit)
	}
	return fmt.Sprint(e.medianRuns())
}

func (e effort) medianRuns() int {
	sorted := slices.Sorted(slices.Values(e.runs))
	return sorted[(len(sorted)-1)/2]
}

func (e effort) medianSeconds() float64 {
	sorted := slices.Sorted(slices.Values(e.seconds))
	return sorted[(len(sorted)-1)/2]
}

// perFind is the number of runs, and of seconds, for each violation found: it takes
// the searches that ended without one into account. Of a needle that was never found
// it is what all searches took, and less than it would be.
func (e effort) perFind() (runs, seconds float64) {
	for i := range e.runs {
		runs, seconds = runs+float64(e.runs[i]), seconds+e.seconds[i]
	}
	n := float64(max(1, e.found))
	return runs / n, seconds / n
}

// search looks for a needle once.
type search func(t testing.TB, n needles.Needle, p func(i int) run.Plan) (found bool, tried, states int)

func plainly(t testing.TB, n needles.Needle, p func(i int) run.Plan) (bool, int, int) {
	found, tried, err := run.Search(t.Context(), sim.New(sim.Config{}), *limit, p, func(j *run.Judged) bool { return n.Broken(j.Verdict) })
	if err != nil {
		t.Fatal(err)
	}
	return found != nil, tried, 0
}

func guided(t testing.TB, n needles.Needle, p func(i int) run.Plan) (bool, int, int) {
	r, err := guide.Search(t.Context(), sim.New(sim.Config{}), p, guide.Options{Runs: *limit}, func(j *run.Judged) bool { return n.Broken(j.Verdict) })
	if err != nil {
		t.Fatal(err)
	}
	return r.Found != nil, r.Tried, r.States
}

// measure makes all searches of one kind for one needle.
func measure(t testing.TB, n needles.Needle, d workload.Design, s search) (e effort) {
	for k := range *searches {
		first := uint64(k) << 32
		begin := processor(t)
		found, tried, states := s(t, n, func(i int) run.Plan {
			p, err := n.Plan(d, first+uint64(i)+1)
			if err != nil {
				t.Error(err)
			}
			return p
		})
		e.runs, e.seconds = append(e.runs, tried), append(e.seconds, processor(t)-begin)
		e.states = max(e.states, states)
		if found {
			e.found++
		}
	}
	return e
}

// Plain and guided search side by side, once, whatever b.N is:
//
//	go test ./workload/needles -run xxx -bench Searches -benchtime 1x -needles.searches=20 -timeout 2h
func BenchmarkSearches(t *testing.B) {
	all, meeting := []float64{}, []float64{}
	fmt.Printf("| needle | base rate | plain: found, median runs, CPU s | guided: found, median runs, CPU s | runs a find, plain : guided | CPU, plain : guided |\n|---|---|---|---|---|---|\n")
	for _, n := range chosen(t) {
		p, g := measure(t, n, n.Design(), plainly), measure(t, n, n.Design(), guided)
		pr, ps := p.perFind()
		gr, gs := g.perFind()
		name := n.Name
		if n.Meets {
			name += " †"
			meeting = append(meeting, ps/gs)
		}
		all = append(all, ps/gs)
		fmt.Printf("| %s | %.1e | %d, %s, %.1f | %d, %s, %.1f | %.0f : %.0f = %.1f | %.1f : %.1f = %.1f |\n", name, float64(p.found)/(pr*float64(max(1, p.found))),
			p.found, p.median(), p.medianSeconds(), g.found, g.median(), g.medianSeconds(), pr, gr, pr/gr, ps, gs, ps/gs)
	}
	fmt.Printf("geometric mean of the CPU ratios: %.1f; of two rare events that meet (†): %.1f\n", mean(all), mean(meeting))
}

// mean is the geometric mean.
func mean(ratios []float64) float64 {
	sum := 0.0
	for _, r := range ratios {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(max(1, len(ratios))))
}
