package sim

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

func TestWorkerFaults(t *testing.T) {
	worker := []string{"worker-0"}
	steps := runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		e.Clock.Every(ctx, 400*time.Millisecond, func(context.Context) bool {
			note(e, w, "renews "+e.Clock.Now().String())
			return true
		})
		e.Clock.Sleep(ctx, time.Second)
		note(e, w, "at work "+e.Clock.Now().String()+" wall "+e.Clock.Wall().Sub(vtime.Epoch).String())
		e.Step(ctx, "before-release")
		note(e, w, "done "+e.Clock.Now().String())
	})
	tests := []struct {
		name  string
		fault histories.Fault
		then  histories.Fault // 3 s later
		want  []string
	}{
		{"a paused worker goes on where it stopped, with all its timers due", histories.Fault{F: histories.Pause, Targets: worker}, histories.Fault{F: histories.Resume, Targets: worker},
			[]string{"0 renews 3.3s", "0 at work 3.3s wall 3.3s", "0 done 3.3s"}},
		{"a killed worker does nothing more", histories.Fault{F: histories.Kill, Targets: worker}, histories.Fault{F: histories.Resume, Targets: []string{"workers"}},
			nil},
		{"a pause of the renewal alone", histories.Fault{F: histories.Pause, Targets: worker, Step: "renewal"}, histories.Fault{F: histories.Resume, Targets: worker},
			[]string{"0 at work 1s wall 1s", "0 done 1s"}},
		{"a clock that jumps", histories.Fault{F: histories.Skew, Targets: worker, Offset: time.Hour}, histories.Fault{F: histories.Heal},
			[]string{"0 renews 400ms", "0 renews 800ms", "0 at work 1s wall 1h0m1s", "0 done 1s"}},
		{"a clock that drifts", histories.Fault{F: histories.Skew, Targets: worker, Drift: 0.5}, histories.Fault{F: histories.Heal},
			[]string{"0 renews 400ms", "0 renews 800ms", "0 at work 1s wall 1.35s", "0 done 1s"}},
		{"a crash between two steps", histories.Fault{F: histories.Crash, Targets: worker, Step: "before-release"}, histories.Fault{F: histories.Heal},
			[]string{"0 renews 400ms", "0 renews 800ms", "0 at work 1s wall 1s"}},
		{"a delay of a step", histories.Fault{F: histories.Delay, Targets: worker, Step: "before-release", For: 500 * time.Millisecond}, histories.Fault{F: histories.Heal},
			[]string{"0 renews 400ms", "0 renews 800ms", "0 at work 1s wall 1s", "0 renews 1.2s", "0 done 1.5s"}},
		{"a pause at a step", histories.Fault{F: histories.Pause, Targets: worker, Step: "before-release"}, histories.Fault{F: histories.Resume, Targets: worker},
			[]string{"0 renews 400ms", "0 renews 800ms", "0 at work 1s wall 1s", "0 done 4s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 1, Program: steps})
			r.direct(func(ctx context.Context) {
				r.start(ctx)
				r.sleep(ctx, 300*time.Millisecond)
				r.inject(ctx, tt.fault)
				r.sleep(ctx, 3*time.Second)
				if tt.then.F != histories.Heal && r.workers[0].host.proc.Dead {
					return
				}
				if _, err := r.Inject(ctx, tt.then); err != nil {
					t.Error(err)
				}
				r.AwaitWorkers(ctx, time.Minute)
			})
			if diff := cmp.Diff(tt.want, r.notes()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKillingAHostKillsAllItsWorkers(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 4, PerHost: 2, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		note(e, w, e.Hostname)
		e.Clock.Sleep(ctx, time.Second)
		note(e, w, "end")
	})})
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		r.sleep(ctx, time.Millisecond)
		effect := r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"worker-3"}})
		if diff := cmp.Diff([]string{"worker-2", "worker-3"}, effect.Targets); diff != "" {
			t.Error(diff)
		}
		r.inject(ctx, histories.Fault{F: histories.Start, Targets: []string{"worker-2"}})
		r.AwaitWorkers(ctx, time.Minute)
	})
	want := []string{"0 worker-0", "1 worker-0", "2 worker-2", "3 worker-2", "2 worker-2", "3 worker-2", "0 end", "1 end", "2 end", "3 end"}
	if diff := cmp.Diff(want, r.notes()); diff != "" {
		t.Error(diff)
	}
}

// A crash happens when the worker reaches the step, not when it was asked
// for: it is recorded then, and nothing that the worker did before is lost.
func TestCrashAtAStepIsRecordedWhenItHappens(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 4, PerHost: 2, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		e.Clock.Sleep(ctx, time.Second)
		if e.Worker == 3 {
			defer note(e, w, "a dead worker has no say")
			e.Step(ctx, "before-write")
		}
	})})
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		effect := r.inject(ctx, histories.Fault{F: histories.Crash, Targets: []string{"workers"}, Step: "before-write"})
		if effect.Targets != nil || r.Now() != time.Second {
			t.Errorf("at %v: %+v", r.Now(), effect)
		}
	})
	want := []histories.Event{{Time: int64(time.Second), Process: histories.Nemesis, Type: histories.Info, F: histories.Kill, Targets: []string{"worker-2", "worker-3"}, Note: "crash at before-write"}}
	if diff := cmp.Diff(want, r.events); diff != "" {
		t.Error(diff)
	}
}

func TestWorkersCanBeStruckBeforeTheyStart(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 1, Program: runs(func(_ context.Context, e *env.Env, w env.Wire) { note(e, w, "runs") })})
	r.direct(func(ctx context.Context) {
		for _, f := range []string{histories.Pause, histories.Resume, histories.Kill} {
			if effect, err := r.Inject(ctx, histories.Fault{F: f, Targets: []string{"workers"}}); err != nil || effect.Proof != "" && f == histories.Kill {
				t.Errorf("%s: proof %q, error %v", f, effect.Proof, err)
			}
		}
		r.start(ctx)
		r.AwaitWorkers(ctx, time.Second)
	})
	if diff := cmp.Diff([]string{"0 runs"}, r.notes()); diff != "" {
		t.Error(diff)
	}
}
