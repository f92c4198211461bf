package shrink

import (
	"context"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

func large() run.Plan {
	s := nemesis.Schedule{Format: nemesis.Format}
	for i := range 4 {
		s.Episodes = append(s.Episodes, nemesis.Episode{Name: string(rune('a' + i)), At: time.Duration(i+1) * 5 * time.Second, Steps: []nemesis.Step{
			{Fault: histories.Fault{F: histories.Partition, From: []string{"master"}, To: []string{"replicas"}}},
			{Fault: histories.Fault{F: histories.Kill, Targets: []string{"master"}}},
			{Fault: histories.Fault{F: histories.Heal}},
		}})
	}
	spec, err := workload.Spec{Design: "redis-lock", Workers: 10, SKUs: 12}.Resolved()
	if err != nil {
		panic(err)
	}
	return run.Plan{Schedule: &s, TimeLimit: 30 * time.Second, Spec: spec}
}

// needs is a bug that takes the kill of episode c, three workers and two SKUs.
func needs(_ context.Context, p run.Plan) (run.Plan, bool) {
	kill := false
	for _, e := range p.Schedule.Episodes {
		for _, s := range e.Steps {
			kill = kill || e.Name == "c" && s.Fault.F == histories.Kill && e.At < p.TimeLimit
		}
	}
	sells := p.Spec.MaxOps == 0 || p.Spec.MaxOps >= 7
	return p, kill && p.Spec.Workers >= 3 && p.Spec.SKUs >= 2 && sells
}

func TestOnlyWhatTheViolationNeedsIsLeft(t *testing.T) {
	tries := 0
	got := Plan(t.Context(), large(), func(ctx context.Context, p run.Plan) (run.Plan, bool) {
		tries++
		return needs(ctx, p)
	}, func(string, run.Plan) {})
	if got.Spec.Workers != 3 || got.Spec.SKUs != 2 || got.Spec.MaxOps != 7 {
		t.Errorf("%d workers, %d SKUs, %d sells; want 3, 2, 7", got.Spec.Workers, got.Spec.SKUs, got.Spec.MaxOps)
	}
	if e := got.Schedule.Episodes; len(e) != 1 || e[0].Name != "c" || len(e[0].Steps) != 1 || e[0].At > time.Second {
		t.Errorf("episodes %+v, want the kill of c alone, soon after the start", e)
	}
	if got.TimeLimit > 2*time.Second {
		t.Errorf("runs %v", got.TimeLimit)
	}
	if got.Spec.Think != "1s" {
		t.Errorf("customers come after %s, and may come less often", got.Spec.Think)
	}
	if tries > 300 {
		t.Errorf("%d tries", tries)
	}
}

func TestWhatCannotBeSmallerStays(t *testing.T) {
	p := large()
	got := Plan(t.Context(), p, func(_ context.Context, q run.Plan) (run.Plan, bool) { return q, false }, func(string, run.Plan) { t.Error("nothing succeeds") })
	if got.Spec.Workers != p.Spec.Workers || got.TimeLimit != p.TimeLimit || len(got.Schedule.Episodes) != 4 {
		t.Errorf("got %+v", got)
	}
}

func TestShrinkingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	Plan(ctx, large(), func(_ context.Context, p run.Plan) (run.Plan, bool) {
		if tries++; tries == 3 {
			cancel()
		}
		return p, false
	}, func(string, run.Plan) {})
	if tries != 3 {
		t.Errorf("%d tries after the end, want none", tries-3)
	}
}
