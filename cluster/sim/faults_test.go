package sim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// outcome says how a command ended.
func outcome(reply any, err error) string {
	switch {
	case errors.Is(err, env.ErrRefused):
		return "refused"
	case errors.Is(err, env.ErrTimeout):
		return "timeout"
	case errors.Is(err, env.ErrReset):
		return "reset"
	case err != nil:
		return err.Error()
	case reply == nil:
		return "nil"
	}
	if s, ok := reply.(string); ok {
		return s
	}
	return "ok"
}

// lockers race for one key, then say whether they got it.
var lockers = runs(func(ctx context.Context, e *env.Env, w env.Wire) {
	note(e, w, outcome(e.Lock[0].Do(ctx, "SET", "lock", e.Worker, "NX", "PX", 1000)))
})

func TestOneOfTwoGetsTheLock(t *testing.T) {
	first := map[string]int{}
	for seed := range uint64(40) {
		r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 2, Seed: seed, Program: lockers})
		r.direct(func(ctx context.Context) {
			r.start(ctx)
			r.AwaitWorkers(ctx, time.Second)
		})
		got := strings.Join(r.notes(), ", ")
		if strings.Count(got, "OK") != 1 || strings.Count(got, "nil") != 1 {
			t.Errorf("seed %d: %s", seed, got)
		}
		first[got]++
	}
	if len(first) < 2 {
		t.Errorf("the seed decides nothing: %v", first)
	}
}

func TestNodeFaultsAsAClientSeesThem(t *testing.T) {
	set := func(ctx context.Context, e *env.Env) string { return outcome(e.Lock[0].Do(ctx, "SET", "k", "v")) }
	master := []string{"master"}
	tests := []struct {
		name   string
		fault  histories.Fault
		undo   histories.Fault
		before bool // the client is connected already
		during string
		after  string
	}{
		{"a dead process refuses", histories.Fault{F: histories.Kill, Targets: master, Mode: "process"}, histories.Fault{F: histories.Start, Targets: master}, false, "refused", "OK"},
		{"a dead process has reset its connections, the next one is refused", histories.Fault{F: histories.Kill, Targets: master, Mode: "process"}, histories.Fault{F: histories.Start, Targets: master}, true, "refused", "OK"},
		{"a dead machine is silent", histories.Fault{F: histories.Kill, Targets: master}, histories.Fault{F: histories.Start, Targets: master}, true, "timeout", "OK"},
		{"to connect with a dead machine is certainly without effect", histories.Fault{F: histories.Kill, Targets: master}, histories.Fault{F: histories.Start, Targets: master}, false, "refused", "OK"},
		{"a frozen server is silent", histories.Fault{F: histories.Pause, Targets: master}, histories.Fault{F: histories.Resume, Targets: master}, true, "timeout", "OK"},
		{"a frozen server's kernel accepts, nobody answers", histories.Fault{F: histories.Pause, Targets: master}, histories.Fault{F: histories.Resume, Targets: master}, false, "timeout", "OK"},
		{"nothing passes a cut", histories.Fault{F: histories.Partition, From: []string{"workers"}, To: master}, histories.Fault{F: histories.Heal}, true, "timeout", "OK"},
		{"lost replies leave the outcome unknown", histories.Fault{F: histories.Loss, From: master, To: []string{"workers"}, Rate: 1, OneWay: true}, histories.Fault{F: histories.Heal}, true, "timeout", "OK"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 1, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
				if tt.before {
					set(ctx, e)
				}
				e.Clock.Sleep(ctx, time.Second-e.Clock.Now())
				note(e, w, set(ctx, e))
				e.Clock.Sleep(ctx, 10*time.Second-e.Clock.Now())
				note(e, w, set(ctx, e))
			})})
			r.direct(func(ctx context.Context) {
				r.start(ctx)
				r.sleep(ctx, 500*time.Millisecond)
				r.inject(ctx, tt.fault)
				r.sleep(ctx, 5*time.Second)
				r.inject(ctx, tt.undo)
				r.AwaitWorkers(ctx, time.Minute)
			})
			if diff := cmp.Diff([]string{"0 " + tt.during, "0 " + tt.after}, r.notes()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A request that ran into its time-out may act after it.
func TestTimedOutRequestLandsLateOrNever(t *testing.T) {
	landed := map[any]int{}
	for seed := range uint64(40) {
		r := newRig(t, Config{}, cluster.Options{Topology: single, Workers: 1, Seed: seed, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			e.Lock[0].Do(ctx, "PING")
			e.Clock.Sleep(ctx, 200*time.Millisecond)
			note(e, w, outcome(e.Lock[0].Do(ctx, "SET", "late", "1")))
		})})
		r.direct(func(ctx context.Context) {
			r.start(ctx)
			r.sleep(ctx, 100*time.Millisecond)
			r.inject(ctx, histories.Fault{F: histories.Partition, From: []string{"workers"}, To: []string{"locks"}, OneWay: true})
			r.sleep(ctx, 2*time.Second)
			if got := r.must(ctx, r.at("redis-1"), "GET", "late"); got != nil {
				t.Errorf("it passed the cut: %v", got)
			}
			r.inject(ctx, histories.Fault{F: histories.Heal})
			r.sleep(ctx, vtime.MaxBackoff+10*time.Millisecond)
			landed[r.must(ctx, r.at("redis-1"), "GET", "late")]++
		})
		if diff := cmp.Diff([]string{"0 timeout"}, r.notes()); diff != "" {
			t.Error(diff)
		}
	}
	if landed["1"] == 0 || landed[nil] == 0 {
		t.Errorf("landed late or never: %v", landed)
	}
}

// What a strobe sets right again has bitten, although the clock is right then.
func TestAJumpBackIsProvenToo(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single})
	r.direct(func(ctx context.Context) {
		for _, offset := range []time.Duration{6 * time.Second, -6 * time.Second} {
			r.inject(ctx, histories.Fault{F: histories.Skew, Targets: []string{"locks"}, Offset: offset})
		}
	})
}

func TestSkewedServerEndsLeases(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: single})
	r.direct(func(ctx context.Context) {
		lock := r.Env().Lock[0]
		r.must(ctx, lock, "SET", "lock", "a", "PX", 30000)
		r.inject(ctx, histories.Fault{F: histories.Skew, Targets: []string{"locks"}, Offset: 25 * time.Second})
		if left := r.must(ctx, lock, "PTTL", "lock").(int64); left < 4000 || left > 5000 {
			t.Errorf("%d ms left", left)
		}
		r.inject(ctx, histories.Fault{F: histories.Skew, Targets: []string{"locks"}, Offset: 6 * time.Second})
		if got := r.must(ctx, lock, "SET", "lock", "b", "NX", "PX", 1000); got != "OK" {
			t.Errorf("SET NX after the jump: %v", got)
		}
		r.inject(ctx, histories.Fault{F: histories.Heal})
		if left := r.must(ctx, lock, "PTTL", "lock").(int64); left < 30000 {
			t.Errorf("%d ms left after the clock was set back", left)
		}
	})
}

func TestWhatASilentFaultCannotProve(t *testing.T) {
	sentinel := env.Topology{Lock: env.Sentinel}
	both := []string{"workers"}
	tests := []histories.Fault{
		{F: histories.Kill, Targets: []string{"master"}},
		{F: histories.Kill, Targets: []string{"master"}, Mode: "process"},
		{F: histories.Kill, Targets: []string{"master"}, Mode: "connection"},
		{F: histories.Kill, Targets: []string{"worker-1"}},
		{F: histories.Start, Targets: []string{"master"}},
		{F: histories.Pause, Targets: []string{"replicas"}},
		{F: histories.Pause, Targets: []string{"worker-1"}},
		{F: histories.Pause, Targets: []string{"worker-1"}, Step: "renewal"},
		{F: histories.Pause, Targets: both, Step: "commit", For: time.Second},
		{F: histories.Resume, Targets: []string{"master"}},
		{F: histories.Partition, From: []string{"master"}, To: []string{"replicas"}},
		{F: histories.Partition, From: []string{"half-workers"}, OneWay: true},
		{F: histories.Loss, From: []string{"master"}, To: both, Rate: 0.3},
		{F: histories.Skew, Targets: []string{"master"}, Offset: time.Minute},
		{F: histories.Skew, Targets: []string{"worker-0"}, Drift: 0.01},
		{F: histories.Failover, Targets: []string{"master"}},
		{F: histories.Evict, Targets: []string{"master"}},
		{F: histories.Delay, Targets: both, Step: "commit", For: time.Millisecond},
		{F: histories.Crash, Targets: both, Step: "commit", For: time.Second},
		{F: histories.Heal},
	}
	loop := runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		e.Lock[0].Do(ctx, "SET", "key", "1")
		for w.Phase() == env.Running {
			e.Clock.Sleep(ctx, 100*time.Millisecond)
			e.Step(ctx, "commit")
		}
	})
	for _, f := range tests {
		t.Run(strings.Join(append([]string{f.F, f.Mode, f.Step}, f.Targets...), " "), func(t *testing.T) {
			for _, inert := range []bool{false, true} {
				r := newRig(t, Config{Inert: inert}, cluster.Options{Topology: sentinel, Workers: 2, Program: loop})
				r.direct(func(ctx context.Context) {
					r.start(ctx)
					r.sleep(ctx, time.Second)
					r.before(ctx, f)
					effect, err := r.Inject(ctx, f)
					if err != nil {
						t.Fatal(err)
					}
					if bit := effect.Proof != ""; bit == inert {
						t.Errorf("inert %v: proof %q", inert, effect.Proof)
					}
				})
			}
		})
	}
}

// before does what a fault that undoes another needs.
func (r *rig) before(ctx context.Context, f histories.Fault) {
	var first histories.Fault
	switch f.F {
	case histories.Start:
		first = histories.Fault{F: histories.Kill, Targets: f.Targets}
	case histories.Resume:
		first = histories.Fault{F: histories.Pause, Targets: f.Targets}
	case histories.Heal:
		first = histories.Fault{F: histories.Partition, From: []string{"workers"}, To: []string{"locks"}}
	default:
		return
	}
	if _, err := r.Inject(ctx, first); err != nil {
		r.t.Fatal(err)
	}
}

func TestFaultsThatCannotBeHad(t *testing.T) {
	tests := []struct {
		name  string
		fault histories.Fault
	}{
		{"an unknown fault", histories.Fault{F: "meteor"}},
		{"an unknown target", histories.Fault{F: histories.Kill, Targets: []string{"redis-9"}}},
		{"replicas where there are none", histories.Fault{F: histories.Pause, Targets: []string{"replicas"}}},
		{"a failover where nobody can do it", histories.Fault{F: histories.Failover, Targets: []string{"master"}}},
		{"a delay that does not say of what", histories.Fault{F: histories.Delay, Targets: []string{"master"}, For: time.Second}},
		{"an eviction from a worker", histories.Fault{F: histories.Evict, Targets: []string{"worker-0"}}},
		{"the SQL server where there is none", histories.Fault{F: histories.Kill, Targets: []string{"sql"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{}, cluster.Options{Topology: single})
			r.direct(func(ctx context.Context) {
				if effect, err := r.Inject(ctx, tt.fault); !errors.Is(err, cluster.ErrUnavailable) {
					t.Errorf("effect %+v, error %v", effect, err)
				}
			})
		})
	}
}

func TestHealUndoesEverything(t *testing.T) {
	r := newRig(t, Config{}, cluster.Options{Topology: env.Topology{Lock: env.Sentinel, Stock: true}, Workers: 2, Program: runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		for w.Phase() != env.Done {
			e.Clock.Sleep(ctx, 10*time.Millisecond)
		}
	})})
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		for _, f := range []histories.Fault{
			{F: histories.Partition, From: []string{"sentinels"}, To: []string{"locks"}},
			{F: histories.Loss, From: []string{"stock"}, To: []string{"workers"}, Rate: 0.5},
			{F: histories.Skew, Targets: []string{"locks", "workers"}, Offset: time.Minute, Drift: 0.1},
			{F: histories.Pause, Targets: []string{"redis-2", "worker-0"}},
			{F: histories.Kill, Targets: []string{"redis-1", "sentinel-2", "stock"}},
		} {
			r.inject(ctx, f)
		}
		r.sleep(ctx, 5*time.Second)
		if err := r.Healthy(ctx, 0); err == nil {
			t.Error("healthy under all these faults")
		}
		if err := r.Heal(ctx); err != nil {
			t.Error(err)
		}
		if err := r.Healthy(ctx, 45*time.Second); err != nil {
			t.Error(err)
		}
		r.SetPhase(env.Done)
		if killed, err := r.AwaitWorkers(ctx, time.Second); killed != nil || err != nil {
			t.Errorf("killed %v, error %v", killed, err)
		}
	})
}

func TestRoles(t *testing.T) {
	tests := []struct {
		topology env.Kind
		role     string
		want     string
	}{
		{env.Sentinel, "master", "redis-1"},
		{env.Sentinel, "replicas", "redis-2 redis-3"},
		{env.Sentinel, "one-replica", "redis-2"},
		{env.Sentinel, "other-replicas", "redis-3"},
		{env.Sentinel, "sentinels", "sentinel-1 sentinel-2 sentinel-3"},
		{env.Sentinel, "key:stock:sku-1", "redis-1"},
		{env.Single, "locks", "redis-1"},
		{env.Independent3, "redis-2", "redis-2"},
		{env.Independent5, "locks", "redis-1 redis-2 redis-3 redis-4 redis-5"},
		{env.RedisCluster, "master", "redis-1 redis-2 redis-3"},
		{env.RedisCluster, "replicas", "redis-4 redis-5 redis-6"},
		{env.RedisCluster, "key:foo", "redis-3"},
		{env.Single, "workers", "worker-0 worker-1 worker-2 worker-3 worker-4 worker-5"},
		{env.Single, "half-workers", "worker-0 worker-1 worker-2 worker-3"},
		{env.Single, "worker-3", "worker-2 worker-3"},
		{env.Single, "stock", "stock-1"},
		{env.Single, "queue", "queue-1"},
		{env.Single, "sql", "sql-1"},
	}
	for _, tt := range tests {
		t.Run(string(tt.topology)+" "+tt.role, func(t *testing.T) {
			r := newRig(t, Config{}, cluster.Options{Topology: env.Topology{Lock: tt.topology, Stock: true, Queue: true, SQL: true}, Workers: 6, PerHost: 2})
			r.direct(func(ctx context.Context) {
				effect, err := r.Inject(ctx, histories.Fault{F: histories.Resume, Targets: []string{tt.role, tt.role}})
				if got := strings.Join(effect.Targets, " "); got != tt.want || err != nil {
					t.Errorf("%s, error %v", got, err)
				}
			})
		})
	}
}
