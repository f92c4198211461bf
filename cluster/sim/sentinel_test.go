package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

var replicated = cluster.Options{Topology: env.Topology{Lock: env.Sentinel}, Workers: 2}

// seeded is o with a program and a seed.
func seeded(o cluster.Options, seed uint64, p env.Worker) cluster.Options {
	o.Seed, o.Program = seed, p
	return o
}

// seen are the changes of role that the cluster made by itself.
func (r *rig) seen(f string) (names []string) {
	for _, e := range r.events {
		if e.F == f {
			names = append(names, e.Targets...)
		}
	}
	return names
}

func (r *rig) awaitPromotion(ctx context.Context) string {
	r.t.Helper()
	if !r.Await(ctx, 10*time.Second, func() bool { return r.seen(histories.Promoted) != nil }) {
		r.t.Fatalf("nobody was promoted until %v", r.Now())
	}
	return r.seen(histories.Promoted)[0]
}

func (r *rig) healthy(ctx context.Context) {
	r.t.Helper()
	if err := r.Healthy(ctx, 30*time.Second); err != nil {
		r.t.Errorf("at %v: %v", r.Now(), err)
	}
}

func TestStartsWell(t *testing.T) {
	for seed := range uint64(30) {
		r := newRig(t, Config{}, seeded(replicated, seed, nil))
		r.direct(func(ctx context.Context) {
			if err := r.Healthy(ctx, 0); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
	}
}

// Real Sentinel with down-after 1000 ms took 2.4 s from the kill to the
// announcement.
func TestFailoverTakesAsLongAsARealOne(t *testing.T) {
	var promoted, served []time.Duration
	for seed := range uint64(60) {
		o := seeded(replicated, seed, nil)
		o.DownAfter = time.Second
		r := newRig(t, Config{}, o)
		r.direct(func(ctx context.Context) {
			lock := r.Env().Lock[0]
			r.must(ctx, lock, "SET", "k", "v")
			r.sleep(ctx, time.Second)
			killed := r.Now()
			r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"master"}})
			r.awaitPromotion(ctx)
			promoted = append(promoted, r.Now()-killed)
			for {
				if got, err := lock.Do(ctx, "GET", "k"); err == nil {
					if got != "v" {
						t.Errorf("seed %d: a replicated write is gone: %v", seed, got)
					}
					break
				}
				r.sleep(ctx, 20*time.Millisecond)
			}
			served = append(served, r.Now()-killed)
		})
	}
	slices.Sort(promoted)
	slices.Sort(served)
	t.Logf("promoted after %v to %v, half by %v; served after %v to %v", promoted[0], promoted[59], promoted[30], served[0], served[59])
	if promoted[0] < time.Second || promoted[30] > 2500*time.Millisecond || served[59] > 8*time.Second {
		t.Error("that is not how long it takes")
	}
}

func TestFailoverLosesWhatTheReplicasDoNotHave(t *testing.T) {
	for seed := range uint64(20) {
		r := newRig(t, Config{}, seeded(replicated, seed, nil))
		r.direct(func(ctx context.Context) {
			lock := r.Env().Lock[0]
			r.must(ctx, lock, "SET", "lock:old", "a", "PX", 30000)
			r.sleep(ctx, 100*time.Millisecond)
			r.inject(ctx, histories.Fault{F: histories.Partition, From: []string{"master"}, To: []string{"replicas"}})
			r.must(ctx, lock, "DEL", "lock:old")
			r.must(ctx, lock, "SET", "lock:new", "b", "NX", "PX", 30000)
			r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"key:lock:new"}})
			if _, err := r.Inject(ctx, histories.Fault{F: histories.Heal}); err != nil {
				t.Error(err)
			}
			master := r.awaitPromotion(ctx)
			if got := r.must(ctx, r.at(master), "SET", "lock:new", "c", "NX", "PX", 30000); got != "OK" {
				t.Errorf("seed %d: the lock that only the dead master knew is still held: %v", seed, got)
			}
			if got := r.must(ctx, r.at(master), "SET", "lock:old", "c", "NX", "PX", 30000); got != nil {
				t.Errorf("seed %d: the lock whose release was lost is free", seed)
			}
			r.inject(ctx, histories.Fault{F: histories.Start, Targets: []string{"old-master"}})
			r.healthy(ctx)
			if got := r.must(ctx, r.at("redis-1"), "GET", "lock:new"); got != "c" {
				t.Errorf("seed %d: the old master has %v after its return", seed, got)
			}
			if diff := cmp.Diff([]string{"redis-1"}, r.seen(histories.Demoted)); diff != "" {
				t.Errorf("seed %d: demoted: %s", seed, diff)
			}
		})
	}
}

func TestRestartBeforeAnybodyNoticesEmptiesTheReplicas(t *testing.T) {
	for _, mode := range []string{"process", "host"} {
		for _, persistence := range []string{"none", "always"} {
			t.Run(mode+" "+persistence, func(t *testing.T) {
				o := replicated
				o.Topology.Persistence, o.DownAfter = persistence, 3*time.Second
				r := newRig(t, Config{}, o)
				r.direct(func(ctx context.Context) {
					lock := r.Env().Lock[0]
					r.must(ctx, lock, "SET", "lock", "a", "PX", 60000)
					r.sleep(ctx, 100*time.Millisecond)
					r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"master"}, Mode: mode})
					r.sleep(ctx, 200*time.Millisecond)
					r.inject(ctx, histories.Fault{F: histories.Start, Targets: []string{"old-master"}})
					r.healthy(ctx)
					want := map[string]any{"none": nil, "always": "a"}[persistence]
					for _, name := range []string{"redis-1", "redis-2", "redis-3"} {
						if got := r.must(ctx, r.at(name), "GET", "lock"); got != want {
							t.Errorf("%s has %v", name, got)
						}
					}
					if got := r.seen(histories.Promoted); got != nil {
						t.Errorf("promoted: %v", got)
					}
				})
			})
		}
	}
}

// A master alone with half of the workers, and the rest of the world without
// it: both sides grant the lock.
func TestSplitBrain(t *testing.T) {
	double := 0
	for seed := range uint64(20) {
		r := newRig(t, Config{}, seeded(replicated, seed, runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			e.Lock[0].Do(ctx, "PING")
			e.Clock.Sleep(ctx, 5*time.Second-e.Clock.Now())
			for range 3 { // the side without the old master learns late
				got := outcome(e.Lock[0].Do(ctx, "SET", "lock", e.Worker, "NX", "PX", 30000))
				note(e, w, got)
				if got == "OK" {
					break
				}
			}
			e.Clock.Sleep(ctx, 20*time.Second)
			got, err := e.Lock[0].Do(ctx, "GET", "lock")
			note(e, w, "later "+outcome(got, err))
		})))
		r.direct(func(ctx context.Context) {
			r.start(ctx)
			r.sleep(ctx, 500*time.Millisecond)
			r.inject(ctx, histories.Fault{F: histories.Partition, From: []string{"master", "half-workers"}, To: []string{"replicas", "sentinels"}})
			// Worker 1 is on the other side.
			r.inject(ctx, histories.Fault{F: histories.Partition, From: []string{"master"}, To: []string{"worker-1"}})
			r.awaitPromotion(ctx)
			r.sleep(ctx, 4*time.Second)
			r.inject(ctx, histories.Fault{F: histories.Heal})
			r.AwaitWorkers(ctx, time.Minute)
			r.healthy(ctx)
		})
		notes := r.notes()
		if slices.Contains(notes, "0 OK") && slices.Contains(notes, "1 OK") {
			double++
		}
		if !slices.Contains(notes, "1 later 1") {
			t.Errorf("seed %d: the new master forgot its grant: %v", seed, notes)
		}
		// Long after healing the old master has been demoted, and worker 0 has
		// met a closed connection or sees what the new master granted.
		if slices.Contains(notes, "0 later 0") {
			t.Errorf("seed %d: the old master's grant outlived it: %v", seed, notes)
		}
	}
	if double < 18 {
		t.Errorf("both sides granted the lock in %d of 20 runs", double)
	}
}

func TestSwitchoverLosesWritesInFlight(t *testing.T) {
	lost := 0
	for seed := range uint64(10) {
		taken := map[string]bool{}
		r := newRig(t, Config{}, seeded(replicated, seed, runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			for i := 0; w.Phase() == env.Running; i++ {
				key := fmt.Sprintf("w%d-%d", e.Worker, i)
				if got, err := e.Lock[0].Do(ctx, "SET", key, "1"); err == nil && got == "OK" {
					taken[key] = true
				}
			}
		})))
		r.direct(func(ctx context.Context) {
			r.start(ctx)
			r.sleep(ctx, 300*time.Millisecond)
			r.inject(ctx, histories.Fault{F: histories.Failover, Targets: []string{"master"}})
			r.sleep(ctx, 2*time.Second)
			r.SetPhase(env.Done)
			r.AwaitWorkers(ctx, 5*time.Second)
			r.healthy(ctx)
			master := r.site.byName[r.seen(histories.Promoted)[0]]
			for key := range taken {
				if n := master.keys.Do(master.wall(), master.mode(), []string{"EXISTS", key}); n.Reply == int64(0) {
					lost++
				}
			}
		})
	}
	if lost == 0 {
		t.Error("a manual failover under load lost no acknowledged write in 10 runs")
	}
}

// Clients of a demoted master that were not told meet READONLY or a closed
// connection, and go on with the new one.
func TestClientsFindTheNewMaster(t *testing.T) {
	for seed := range uint64(20) {
		r := newRig(t, Config{}, seeded(replicated, seed, runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			for w.Phase() == env.Running {
				e.Lock[0].Do(ctx, "INCR", "n")
				e.Clock.Sleep(ctx, 10*time.Millisecond)
			}
			_, err := e.Lock[0].Do(ctx, "INCR", "n")
			note(e, w, outcome("OK", err))
		})))
		r.direct(func(ctx context.Context) {
			r.start(ctx)
			r.inject(ctx, histories.Fault{F: histories.Failover, Targets: []string{"master"}})
			r.healthy(ctx)
			r.SetPhase(env.Done)
			r.AwaitWorkers(ctx, 5*time.Second)
		})
		if diff := cmp.Diff([]string{"0 OK", "1 OK"}, r.notes(), cmp.Transformer("sorted", func(s []string) []string { return slices.Sorted(slices.Values(s)) })); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
	}
}

// A client with an idle connection to a master that still answers is told of
// the switch, and goes to the new one long before the old one is demoted.
func TestClientsAreToldOfASwitch(t *testing.T) {
	for seed := range uint64(20) {
		r := newRig(t, Config{}, seeded(replicated, seed, runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			e.Lock[0].Do(ctx, "PING")
			e.Clock.Sleep(ctx, 7*time.Second)
			e.Lock[0].Do(ctx, "SET", fmt.Sprintf("from-%d", e.Worker), "1")
		})))
		r.direct(func(ctx context.Context) {
			r.start(ctx)
			r.sleep(ctx, 100*time.Millisecond)
			r.inject(ctx, histories.Fault{F: histories.Failover, Targets: []string{"master"}})
			r.AwaitWorkers(ctx, time.Minute)
			if got := r.seen(histories.Demoted); got != nil {
				t.Fatalf("seed %d: demoted %v before the test", seed, got)
			}
			for worker := range 2 {
				if got := r.must(ctx, r.at(r.seen(histories.Promoted)[0]), "GET", fmt.Sprintf("from-%d", worker)); got != "1" {
					t.Errorf("seed %d: worker %d wrote elsewhere", seed, worker)
				}
			}
		})
	}
}

func TestReplicaWithMostWritesIsPromoted(t *testing.T) {
	for seed := range uint64(10) {
		r := newRig(t, Config{}, seeded(replicated, seed, nil))
		r.direct(func(ctx context.Context) {
			behind := []string{"redis-2", "redis-3"}[seed%2]
			r.inject(ctx, histories.Fault{F: histories.Partition, From: []string{"redis-1"}, To: []string{behind}})
			r.must(ctx, r.Env().Lock[0], "SET", "k", "1")
			r.sleep(ctx, 10*time.Millisecond)
			r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"master"}})
			if got := r.awaitPromotion(ctx); got == behind {
				t.Errorf("seed %d: promoted %s, which misses a write", seed, got)
			}
		})
	}
}

// A demotion by Sentinel closes the clients' connections; a client that meets
// READONLY gives its connection up by itself.
func TestDemotedMasterIsLeft(t *testing.T) {
	for _, bySentinel := range []bool{true, false} {
		r := newRig(t, Config{}, replicated)
		r.direct(func(ctx context.Context) {
			lock := r.endpoint(r.system.director, r.site.redis[0].box)
			r.must(ctx, lock, "PING")
			if bySentinel {
				if _, err := r.ask(ctx, r.site.redis[0].box, "REPLICAOF", "redis-2", "6379"); outcome("OK", err) != "reset" {
					t.Errorf("who demotes is a client too: %v", err)
				}
			} else {
				r.site.redis[0].follow(r.site.redis[1])
				if _, err := lock.Do(ctx, "SET", "k", "1"); !strings.HasPrefix(outcome("OK", err), "READONLY") {
					t.Errorf("a write on a replica: %v", err)
				}
			}
			r.sleep(ctx, 5*time.Millisecond)
			if len(lock.idle) > 0 {
				t.Errorf("by Sentinel %v: the client keeps its connection", bySentinel)
			}
		})
	}
}

func TestSentinelWhoseClockJumpsDoesNotTrustItself(t *testing.T) {
	r := newRig(t, Config{}, replicated)
	r.direct(func(ctx context.Context) {
		r.inject(ctx, histories.Fault{F: histories.Skew, Targets: []string{"sentinels"}, Offset: 5 * time.Second})
		r.sleep(ctx, 200*time.Millisecond)
		r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"master"}})
		r.sleep(ctx, 20*time.Second)
		if got := r.seen(histories.Promoted); got != nil {
			t.Errorf("promoted %v", got)
		}
		r.sleep(ctx, 10*time.Second)
		r.awaitPromotion(ctx)
	})
}

func TestNoQuorumNoFailover(t *testing.T) {
	r := newRig(t, Config{}, replicated)
	r.direct(func(ctx context.Context) {
		r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"sentinel-1", "sentinel-2"}})
		r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"master"}})
		r.sleep(ctx, 20*time.Second)
		if got := r.seen(histories.Promoted); got != nil {
			t.Errorf("promoted: %v", got)
		}
		r.inject(ctx, histories.Fault{F: histories.Start, Targets: []string{"sentinel-2"}})
		r.awaitPromotion(ctx)
	})
}

func TestSecondFailover(t *testing.T) {
	for seed := range uint64(20) {
		r := newRig(t, Config{}, seeded(replicated, seed, nil))
		r.direct(func(ctx context.Context) {
			for n := range 2 {
				r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"master"}})
				if !r.Await(ctx, 10*time.Second, func() bool { return len(r.seen(histories.Promoted)) > n }) {
					t.Fatalf("seed %d: failover %d did not come", seed, n+1)
				}
				r.sleep(ctx, time.Second)
				r.inject(ctx, histories.Fault{F: histories.Start, Targets: []string{"old-master"}})
				r.healthy(ctx)
			}
		})
	}
}
