package needles_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/needles"
)

var (
	only  = flag.String("needles.only", "", "needles to measure, separated by commas; default all")
	rates = flag.Int("needles.rates", 3, "measure base rates: runs of each needle and of its twin")
)

// chosen are the needles that the flag names.
func chosen(t testing.TB) []needles.Needle {
	if *only == "" {
		return needles.All
	}
	var some []needles.Needle
	for name := range strings.SplitSeq(*only, ",") {
		n, ok := needles.Find(name)
		if !ok {
			t.Fatalf("no needle %q", name)
		}
		some = append(some, n)
	}
	return some
}

// plan is the run of a needle's design or twin with seed 1 + i.
func plan(t testing.TB, n needles.Needle, d workload.Design) func(i int) run.Plan {
	if _, err := n.Plan(d, 1); err != nil {
		t.Fatal(err)
	}
	return func(i int) run.Plan {
		p, _ := n.Plan(d, uint64(i)+1)
		return p
	}
}

// count makes n runs and answers how many were broken, by property.
func count(t testing.TB, n int, p func(i int) run.Plan) map[checker.Property]int {
	var mu = make(chan struct{}, 1)
	broken := map[checker.Property]int{}
	_, _, err := run.Search(t.Context(), sim.New(sim.Config{}), n, p, func(j *run.Judged) bool {
		mu <- struct{}{}
		defer func() { <-mu }()
		for _, v := range slices.CompactFunc(j.Verdict.Violations, func(a, b checker.Violation) bool { return a.Property == b.Property }) {
			broken[v.Property]++
		}
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	return broken
}

// Base rates are measured by hand:
//
//	go test ./workload/needles -run TestBaseRates -needles.rates=10000 -v -timeout 1h
func TestBaseRates(t *testing.T) {
	for _, n := range chosen(t) {
		t.Run(n.Name, func(t *testing.T) {
			begin := processor(t)
			of := count(t, *rates, plan(t, n, n.Design()))
			each := (processor(t) - begin) / float64(*rates)
			twin := count(t, *rates, plan(t, n, n.Twin()))
			t.Logf("%-22s %d of %d runs, %.1f ms each; all: %v; twin: %v", n.Name, of[n.Property], *rates, 1000*each, of, twin)
			if twin[n.Property] > 0 {
				t.Errorf("its twin broke too")
			}
		})
	}
}
