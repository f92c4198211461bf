package run_test

import (
	"flag"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

var (
	claimSeeds = flag.Int("claim-seeds", 1, "seeds for each cell of TestClaimsToHoldAreKept")
	claimFrom  = flag.Uint64("claim-from", 1, "the first of them")
)

// TestClaimsToHoldAreKept plays every cell that claims to hold at all levels
// in the scene that can refute it. With -claim-seeds=1000 it is the long
// version, a slice of which -run and -claim-from choose.
func TestClaimsToHoldAreKept(t *testing.T) {
	cells := 0
	for _, d := range workload.Designs() {
		for _, n := range nemesis.Names() {
			if d.Claim(n) != (workload.Claim{Lock: workload.Holds, Use: workload.Holds, Business: workload.Holds}) ||
				run.Feasible(contended(t, d.Name, n, 1)) != nil {
				continue
			}
			cells++
			t.Run(d.Name+"/"+n, func(t *testing.T) {
				t.Parallel()
				keepsClaim(t, d, n)
			})
		}
	}
	if cells < 60 {
		t.Errorf("only %d cells claim to hold", cells)
	}
}

// contended is a cell in the scene of that name.
func contended(t *testing.T, design, nemesisName string, seed uint64) run.Plan {
	t.Helper()
	const limit = 12 * time.Second
	spec, err := workload.Spec{Design: design, Scene: workload.Contended, Seed: seed, TimeLimit: limit}.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	return run.Plan{Spec: spec, Nemesis: nemesisName, TimeLimit: limit, Version: "test"}
}

func keepsClaim(t *testing.T, d workload.Design, nemesisName string) {
	t.Helper()
	outcomes := map[checker.Outcome]int{}
	for i := range *claimSeeds {
		seed := *claimFrom + uint64(i)
		v := judge(t, play(t, contended(t, d.Name, nemesisName, seed)))
		outcomes[v.Outcome]++
		if v.Outcome == checker.Invalid {
			first := v.First()
			t.Errorf("seed %d: %s: %s %s", seed, first.Property, first.Summary, first.Cause)
		}
	}
	t.Logf("%v", outcomes)
}
