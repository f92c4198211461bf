package run_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

var seeds = flag.Int("seeds", 20, "seeds that TestOneSeedIsOneHistory runs twice")

// plan is a short cell on the simulated cluster.
func plan(t testing.TB, design, nemesisName string, seed uint64, limit time.Duration) run.Plan {
	t.Helper()
	spec, err := workload.Spec{Design: design, Seed: seed, TimeLimit: limit}.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	return run.Plan{Spec: spec, Nemesis: nemesisName, TimeLimit: limit, Version: "test"}
}

func play(t testing.TB, p run.Plan) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := run.Record(t.Context(), sim.New(sim.Config{}), p, &out); err != nil {
		t.Fatalf("%s × %s: %v", p.Spec.Design, p.Nemesis, err)
	}
	return out.Bytes()
}

// TestEveryCellIsDeterministic runs each design under each nemesis twice.
func TestEveryCellIsDeterministic(t *testing.T) {
	cells := 0
	for _, d := range workload.Designs() {
		for _, n := range nemesis.Names() {
			p := plan(t, d.Name, n, 7, 4*time.Second)
			if run.Feasible(p) != nil {
				continue // the topology cannot have that fault
			}
			cells++
			t.Run(d.Name+"/"+n, func(t *testing.T) {
				t.Parallel()
				if first, second := play(t, p), play(t, p); !bytes.Equal(first, second) {
					t.Errorf("two runs of one seed differ %s", firstDifference(first, second))
				}
			})
		}
	}
	if cells < 200 {
		t.Errorf("only %d cells", cells)
	}
}

func firstDifference(a, b []byte) string {
	as, bs := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("in line %d:\n%s\n%s", i+1, as[i], bs[i])
		}
	}
	return fmt.Sprintf("in length: %d and %d lines", len(as), len(bs))
}

// TestOneSeedIsOneHistory compares the hashes of many seeds of one cell; with
// -seeds=1000 it is the long version.
func TestOneSeedIsOneHistory(t *testing.T) {
	different := map[[32]byte]bool{}
	for seed := range uint64(*seeds) {
		p := plan(t, "redis-lock", "failover", seed+1, 10*time.Second)
		first, second := sha256.Sum256(play(t, p)), sha256.Sum256(play(t, p))
		if first != second {
			t.Errorf("seed %d made two histories", seed+1)
		}
		different[first] = true
	}
	if len(different) != *seeds {
		t.Errorf("%d seeds made only %d histories", *seeds, len(different))
	}
	t.Logf("%d seeds, each twice: %d histories", *seeds, len(different))
}

func judge(t testing.TB, history []byte) *checker.Verdict {
	t.Helper()
	h, err := histories.ReadJSON(bytes.NewReader(history))
	if err != nil {
		t.Fatal(err)
	}
	return checker.Check(t.Context(), h, checker.Options{RecheckTime: -1})
}

func TestAReplayedScheduleGivesTheSameHistory(t *testing.T) {
	p := plan(t, "redis-lock", "failover", 1, 15*time.Second)
	var first, second bytes.Buffer
	result, err := run.Record(t.Context(), sim.New(sim.Config{}), p, &first)
	if err != nil {
		t.Fatal(err)
	}
	p.Schedule = &result.Schedule
	if _, err := run.Record(t.Context(), sim.New(sim.Config{}), p, &second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("the replay differs %s", firstDifference(first.Bytes(), second.Bytes()))
	}
}

// TestFailoverFindsTheLostLock is the main job: the plain Redis lock loses
// its grant, and the verdict says so with the cause.
func TestFailoverFindsTheLostLock(t *testing.T) {
	for seed := range uint64(20) {
		v := judge(t, play(t, plan(t, "redis-lock", "failover", seed+1, 30*time.Second)))
		for _, violation := range v.Violations {
			if violation.Property == checker.DoubleHold && violation.Cause == checker.LostAtFailover {
				return
			}
		}
	}
	t.Error("no double hold that was lost at failover in 20 runs")
}

func TestTheSameRunWithoutFaultsIsValid(t *testing.T) {
	if v := judge(t, play(t, plan(t, "redis-lock", "none", 1, 20*time.Second))); v.Outcome != checker.Valid {
		t.Errorf("%s: %s %+v", v.Outcome, v.Reason, v.First())
	}
}

// TestFaultsThatAreNotInjectedLeaveNoProof shows that proof is looked for and
// not asserted.
func TestFaultsThatAreNotInjectedLeaveNoProof(t *testing.T) {
	for _, n := range nemesis.Catalogue {
		if len(n.Variants) == 0 {
			continue
		}
		design := "redis-lock"
		if n.Needs != nil && run.Feasible(plan(t, design, n.Name, 3, 20*time.Second)) != nil {
			design = "unlock-before-commit"
		}
		t.Run(n.Name, func(t *testing.T) {
			t.Parallel()
			p := plan(t, design, n.Name, 3, 20*time.Second)
			if proofs(t, p, sim.Config{}) == 0 {
				t.Error("no fault left proof")
			}
			if got := proofs(t, p, sim.Config{Inert: true}); got != 0 {
				t.Errorf("%d faults that were not injected left proof", got)
			}
		})
	}
}

// TestEveryVariantBites runs each design under each kind of each fault: a step
// that a design never passes, or a server that has nothing to lose, would make
// a run that shows nothing.
func TestEveryVariantBites(t *testing.T) {
	variants := 0
	for _, n := range nemesis.Catalogue {
		for _, v := range n.Variants {
			for _, d := range workload.Designs() {
				p := plan(t, d.Name, n.Name, 5, 20*time.Second)
				p.Variant, p.Interval = v.Name, 6*time.Second
				if run.Feasible(p) != nil {
					continue
				}
				variants++
				t.Run(n.Name+"/"+v.Name+"/"+d.Name, func(t *testing.T) {
					t.Parallel()
					if proofs(t, p, sim.Config{}) == 0 {
						t.Error("no fault left proof")
					}
				})
			}
		}
	}
	if variants < 900 {
		t.Errorf("only %d variants", variants)
	}
}

// TestEveryCrashStepIsPassed lays in wait at each step that a design names.
func TestEveryCrashStepIsPassed(t *testing.T) {
	for _, d := range workload.Designs() {
		for _, step := range d.CrashSteps() {
			t.Run(d.Name+"/"+step, func(t *testing.T) {
				t.Parallel()
				p := plan(t, d.Name, "crash", 5, 12*time.Second)
				var workers []string
				for n := range p.Spec.Workers {
					workers = append(workers, fmt.Sprintf("worker-%d", n))
				}
				var episodes []nemesis.Episode
				for i := range 3 {
					crash := histories.Fault{F: histories.Crash, Targets: workers, Step: step}
					episodes = append(episodes, nemesis.Episode{At: time.Duration(1+3*i) * time.Second, Steps: []nemesis.Step{{Fault: crash}}})
				}
				p.Schedule = &nemesis.Schedule{Format: nemesis.Format, Nemesis: "crash", Episodes: episodes}
				if proofs(t, p, sim.Config{}) == 0 {
					t.Error("no worker ever came there")
				}
			})
		}
	}
}

// proofs counts the faults of a run that left proof; healing is none.
func proofs(t *testing.T, p run.Plan, c sim.Config) int {
	t.Helper()
	n := 0
	_, err := run.Record(t.Context(), sim.New(c), p, new(bytes.Buffer), func(e histories.Event) {
		step := nemesis.Step{}
		if e.Process == histories.Nemesis && e.Fault != nil {
			step.Fault = *e.Fault
			if e.Proof != "" && !step.Heals() {
				n++
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnInterruptedContextEndsTheRunAndLeavesAHistory(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	var out bytes.Buffer
	_, err := run.Record(ctx, sim.New(sim.Config{}), plan(t, "redis-lock", "none", 1, 30*time.Second), &out, func(histories.Event) {
		if seen++; seen == 100 {
			cancel()
		}
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := histories.ReadJSON(&out); err != nil {
		t.Errorf("the history so far: %v", err)
	}
}

// broken is a provider without an engine.
type broken struct{}

var errNoEngine = errors.New("no engine")

func (broken) Cell(context.Context, cluster.Options) (cluster.Cluster, error) {
	return nil, errNoEngine
}
func (broken) Traits() cluster.Traits      { return cluster.Traits{} }
func (broken) Close(context.Context) error { return nil }

func TestAClusterThatCannotBeHadIsAnError(t *testing.T) {
	var out bytes.Buffer
	if _, err := run.Record(t.Context(), broken{}, plan(t, "none", "none", 1, time.Second), &out); !errors.Is(err, errNoEngine) {
		t.Errorf("err = %v", err)
	}
	if out.Len() != 0 {
		t.Errorf("wrote %q", out.String())
	}
}

// BenchmarkThirtyVirtualSeconds is a run of ten workers under failover.
func BenchmarkThirtyVirtualSeconds(b *testing.B) {
	p := plan(b, "redis-lock", "failover", 1, 30*time.Second)
	for b.Loop() {
		play(b, p)
	}
}
