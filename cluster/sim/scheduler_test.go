package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

var single = env.Topology{Lock: env.Single}

func TestSameSeedSameEvents(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 50
	}
	play := func(seed uint64) string {
		commands := 0
		r := newRig(t, Config{}, cluster.Options{Topology: env.Topology{Lock: env.Sentinel}, Seed: seed, Workers: 3, Program: shopper(&commands, 3*time.Millisecond)})
		r.direct(func(ctx context.Context) {
			r.start(ctx)
			r.sleep(ctx, 20*time.Millisecond)
			r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"master"}})
			r.Await(ctx, 5*time.Second, func() bool { return strings.Contains(r.lines.String(), `"promoted"`) })
			r.inject(ctx, histories.Fault{F: histories.Start, Targets: []string{"old-master"}})
			r.sleep(ctx, 100*time.Millisecond)
			r.SetPhase(env.Done)
			r.AwaitWorkers(ctx, 3*time.Second)
		})
		return r.lines.String()
	}
	distinct := map[string]bool{}
	for seed := range seeds {
		first := play(seed)
		if first == "" || first != play(seed) {
			t.Fatalf("seed %d gave two histories: %s", seed, cmp.Diff(first, play(seed)))
		}
		distinct[first] = true
	}
	if len(distinct) < int(seeds) {
		t.Errorf("%d seeds made only %d different histories", seeds, len(distinct))
	}
}

func TestTimePassesOnlyWhereTheProgramWaits(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 2, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		for range 3 {
			note(e, w, e.Clock.Now().String())
			e.Clock.Sleep(ctx, time.Duration(e.Worker+2)*time.Second)
		}
	})})
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		r.AwaitWorkers(ctx, time.Minute)
		if got := r.Now(); got != 9*time.Second {
			t.Errorf("the director goes on at %v", got)
		}
	})
	want := []string{"0 0s", "1 0s", "0 2s", "1 3s", "0 4s", "1 6s"}
	if diff := cmp.Diff(want, r.notes()); diff != "" {
		t.Error(diff)
	}
}

func TestEveryTicksLikeATicker(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 1, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		n := 0
		e.Clock.Every(ctx, 10*time.Second, func(context.Context) bool {
			note(e, w, "beyond the worker's end")
			return true
		})
		e.Clock.Every(ctx, time.Second, func(ctx context.Context) bool {
			n++
			note(e, w, "tick "+e.Clock.Now().String())
			if n == 2 {
				e.Clock.Sleep(ctx, 1500*time.Millisecond) // misses one, catches up
			}
			return n < 4
		})
		stop := e.Clock.Every(ctx, time.Second, func(context.Context) bool { note(e, w, "stopped too late"); return true })
		stop()
		cancelled, cancel := context.WithCancel(ctx)
		e.Clock.Every(cancelled, time.Second, func(context.Context) bool { note(e, w, "cancelled too late"); return true })
		cancel()
		e.Clock.Sleep(ctx, 8*time.Second)
	})})
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		r.sleep(ctx, 20*time.Second)
	})
	want := []string{"0 tick 1s", "0 tick 2s", "0 tick 3.5s", "0 tick 4s"}
	if diff := cmp.Diff(want, r.notes()); diff != "" {
		t.Error(diff)
	}
}

func TestEveryKeepsItsRhythmAfterAPause(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 1, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		e.Clock.Every(ctx, time.Second, func(context.Context) bool { note(e, w, e.Clock.Now().String()); return true })
		e.Clock.Sleep(ctx, 5500*time.Millisecond)
	})})
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		r.sleep(ctx, 500*time.Millisecond)
		r.inject(ctx, histories.Fault{F: histories.Pause, Targets: []string{"worker-0"}})
		r.sleep(ctx, 2700*time.Millisecond)
		r.inject(ctx, histories.Fault{F: histories.Resume, Targets: []string{"worker-0"}})
		r.AwaitWorkers(ctx, time.Minute)
	})
	if diff := cmp.Diff([]string{"0 3.2s", "0 4s", "0 5s"}, r.notes()); diff != "" {
		t.Error(diff)
	}
}

// The queue in the process's memory serves in order, and passes over those
// who have gone.
func TestLocalQueue(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 4, PerHost: 4, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		e.Clock.Sleep(ctx, time.Duration(e.Worker)*100*time.Millisecond)
		if e.Worker == 1 { // waits in the background, and ends
			e.Clock.Every(ctx, 10*time.Millisecond, func(ctx context.Context) bool {
				e.Local.Enter(ctx, "q", time.Minute)
				note(e, w, "in after its end")
				return false
			})
			e.Clock.Sleep(ctx, 50*time.Millisecond)
			return
		}
		limit := map[int]time.Duration{0: time.Second, 2: time.Second, 3: 10 * time.Second}[e.Worker]
		leave, ok, err := e.Local.Enter(ctx, "q", limit)
		note(e, w, fmt.Sprint(e.Clock.Now(), ok, err, e.Local.Add("n", 1)))
		if ok {
			e.Clock.Sleep(ctx, 2*time.Second)
			leave()
			leave() // once is enough
		}
	})})
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		r.AwaitWorkers(ctx, time.Minute)
	})
	want := []string{"0 0s true <nil> 1", "2 1.2s false <nil> 2", "3 2s true <nil> 3"}
	if diff := cmp.Diff(want, r.notes()); diff != "" {
		t.Error(diff)
	}
}

func TestContextEndsASleepWhenAnotherTaskCancelsIt(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 1, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		inner, cancel := context.WithCancel(ctx)
		e.Clock.Every(ctx, time.Second, func(context.Context) bool { cancel(); return false })
		err := e.Clock.Sleep(inner, time.Hour)
		note(e, w, e.Clock.Now().String()+" "+err.Error())
	})})
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		r.AwaitWorkers(ctx, time.Minute)
	})
	if diff := cmp.Diff([]string{"0 1s context canceled"}, r.notes()); diff != "" {
		t.Error(diff)
	}
}

// Every ending names the worker and what it was at, and leaves no goroutine.
func TestRunsThatCannotGoOnEnd(t *testing.T) {
	invoke := func(e *env.Env, w env.Wire) {
		w.Emit(histories.Event{Process: histories.Process(e.Worker), Type: histories.Invoke, F: histories.Acquire, Op: 7, Key: "sku-1"})
	}
	tests := []struct {
		name    string
		program env.Worker
		want    []string
		kind    error
	}{
		{"every worker sleeps forever", runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			invoke(e, w)
			e.Clock.Sleep(ctx, 1<<62)
		}), []string{"worker-0, in acquire of sku-1 (op 7)", "worker-1", "sleeps forever"}, vtime.ErrDeadlock},
		{"a worker waits for a turn that never comes", runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			invoke(e, w)
			e.Local.Enter(ctx, "q", 1<<62)
			e.Local.Enter(ctx, "q", 1<<62)
		}), []string{"worker-0, in acquire of sku-1 (op 7)"}, vtime.ErrDeadlock},
		{"a worker looks at the clock forever", runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			invoke(e, w)
			for e.Clock.Now() < time.Hour {
			}
		}), []string{"worker-0, in acquire of sku-1 (op 7)", "calls at"}, vtime.ErrNoProgress},
		{"a worker sleeps for no time forever", runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			invoke(e, w)
			for {
				e.Clock.Sleep(ctx, 0)
			}
		}), []string{"worker-", "in acquire of sku-1 (op 7)"}, vtime.ErrNoProgress},
		{"a worker panics", runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			invoke(e, w)
			var empty []int
			_ = empty[e.Worker]
		}), []string{"worker-0, in acquire of sku-1 (op 7)", "index out of range"}, nil},
		{"a periodic function panics", runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			invoke(e, w)
			e.Clock.Every(ctx, time.Second, func(context.Context) bool { panic("renewal") })
			e.Clock.Sleep(ctx, time.Minute)
		}), []string{"worker-0 (periodic), in acquire of sku-1 (op 7)", "renewal"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 2, Program: tt.program})
			err := r.try(func(ctx context.Context) {
				r.start(ctx)
				r.AwaitWorkers(ctx, time.Hour)
			})
			if err == nil {
				t.Fatal("the run ended well")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			if tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("%v is no %v", err, tt.kind)
			}
			if stuck := new(vtime.StuckError); !errors.As(err, &stuck) {
				t.Errorf("%T is no StuckError", err)
			}
			noMoreGoroutines(t, before)
		})
	}
}

// noMoreGoroutines gives the goroutines that ended a chance to be gone.
func noMoreGoroutines(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

func TestGuardEndsARunThatComputesForEver(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, Config{Guard: 40 * time.Millisecond}, cluster.Options{Topology: single, Workers: 1, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		w.Emit(histories.Event{Type: histories.Invoke, F: histories.Release, Op: 3, Key: "sku-2"})
		<-release // outside of Env: the scheduler cannot take over
	})})
	err := r.try(func(ctx context.Context) {
		r.start(ctx)
		r.AwaitWorkers(ctx, time.Minute)
	})
	close(release)
	if !errors.Is(err, vtime.ErrNoProgress) || !strings.Contains(err.Error(), "worker-0, in release of sku-2 (op 3)") {
		t.Errorf("the run ended with %v", err)
	}
}

func TestWorkersThatDoNotEndAreKilledAndNamed(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 3, Program: func(ctx context.Context, _ []byte, e *env.Env, w env.Wire) error {
		defer note(e, w, "a killed worker has no say")
		switch e.Worker {
		case 0:
			return errors.New("sold the shop")
		case 1:
			for {
				func() {
					defer func() { _ = recover() }() // killing is nothing one can recover from
					e.Clock.Sleep(ctx, time.Second)
				}()
			}
		}
		return nil
	}})
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		killed, err := r.AwaitWorkers(ctx, 10*time.Second)
		if diff := cmp.Diff([]string{"worker-1"}, killed); diff != "" {
			t.Error(diff)
		}
		if err == nil || err.Error() != "worker-0: sold the shop" {
			t.Errorf("error %v", err)
		}
	})
	if got := r.notes(); len(got) != 2 {
		t.Errorf("notes %v: want those of worker 0 and 2", got)
	}
}

func TestAwaitSeesAnEventBeforeTheNextStep(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 1, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		e.Clock.Sleep(ctx, 1234567)
		note(e, w, "granted")
		note(e, w, "went on")
	})})
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		if !r.Await(ctx, time.Second, func() bool { return len(r.events) > 0 }) {
			t.Error("never ready")
		}
		if len(r.events) != 1 || r.Now() != 1234567 {
			t.Errorf("at %v there were %d events", r.Now(), len(r.events))
		}
		if r.Await(ctx, time.Second, func() bool { return false }) || r.Now() != time.Second+1234567 {
			t.Errorf("gave up at %v", r.Now())
		}
	})
}

func TestDirectorIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(t, Config{}, cluster.Options{Topology: single})
	err := r.Run(ctx, func(ctx context.Context) error {
		r.Go(ctx, "other", func(ctx context.Context) { r.sleep(ctx, time.Second); cancel() })
		return r.Sleep(ctx, time.Hour)
	})
	if !errors.Is(err, context.Canceled) || r.Now() != time.Second {
		t.Errorf("ended at %v with %v", r.Now(), err)
	}
}
