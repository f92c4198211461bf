package guide_test

import (
	"bytes"
	"testing"

	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/run/guide"
	"github.com/lockcheck/lockcheck/workload/needles"
)

// find searches for a needle or, as a control, in its twin.
func find(t *testing.T, name string, twin bool, runs int) (guide.Result, needles.Needle) {
	t.Helper()
	n, ok := needles.Find(name)
	if !ok {
		t.Fatalf("no needle %q", name)
	}
	d := n.Design()
	if twin {
		d = n.Twin()
	}
	r, err := guide.Search(t.Context(), sim.New(sim.Config{}), func(i int) run.Plan {
		p, err := n.Plan(d, uint64(i)+1)
		if err != nil {
			t.Error(err)
		}
		return p
	}, guide.Options{Runs: runs}, func(j *run.Judged) bool { return n.Broken(j.Verdict) })
	if err != nil {
		t.Fatal(err)
	}
	return r, n
}

func TestAGuidedSearchFindsTheSameRunTwiceAndItIsPlayedAgain(t *testing.T) {
	first, n := find(t, "forced-release", false, 1000)
	second, _ := find(t, "forced-release", false, 1000)
	if first.Found == nil || second.Found == nil {
		t.Fatalf("nothing in %d and %d runs", first.Tried, second.Tried)
	}
	if first.Tried != second.Tried || first.States != second.States || !bytes.Equal(first.Found.Recorded, second.Found.Recorded) {
		t.Errorf("run %d after %d states, then run %d after %d", first.Tried, first.States, second.Tried, second.States)
	}
	again, err := run.Run(t.Context(), sim.New(sim.Config{}), first.Found.Plan, run.Quick)
	if err != nil || !n.Broken(again.Verdict) || !bytes.Equal(again.Recorded, first.Found.Recorded) {
		t.Errorf("its plan makes another run (%v)", err)
	}
}

func TestAGuidedSearchKeepsWhatIsFixed(t *testing.T) {
	n, _ := needles.Find("two-errors")
	want, err := n.Plan(n.Twin(), 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := guide.Search(t.Context(), sim.New(sim.Config{}), func(i int) run.Plan {
		p := want
		p.Spec.Seed = uint64(i) + 1
		return p
	}, guide.Options{Runs: 60, Fixed: func(string) bool { return true }}, func(j *run.Judged) bool {
		s := j.Plan.Spec
		if s.Workers != want.Spec.Workers || s.SKUs != want.Spec.SKUs || s.Work != want.Spec.Work || s.TTL != want.Spec.TTL || j.Plan.Interval != want.Interval {
			t.Errorf("seed %d has other settings: %+v", s.Seed, s.Spec)
		}
		return false
	})
	if err != nil || r.Tried != 60 || r.Seeds >= 60 || r.States < 10 {
		t.Errorf("%d runs of %d seeds, %d states: want 60 runs, branches among them (%v)", r.Tried, r.Seeds, r.States, err)
	}
}

func TestTwinsSurviveAGuidedSearch(t *testing.T) {
	for _, n := range needles.All {
		if r, _ := find(t, n.Name, true, 40); r.Found != nil {
			t.Errorf("%s: run %d breaks its twin", n.Name, r.Tried)
		}
	}
}
