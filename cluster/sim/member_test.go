package sim

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

var sharded = cluster.Options{Topology: env.Topology{Lock: env.RedisCluster}, Workers: 2}

func TestSlots(t *testing.T) {
	// From the specification, and from CLUSTER KEYSLOT of a real server.
	for key, want := range map[string]int{
		"123456789":     0x31c3,
		"foo":           12182,
		"{foo}bar":      12182,
		"a{foo}b{bar}c": 12182,
		"":              0,
	} {
		if got := slot(key); got != want {
			t.Errorf("slot of %q is %d, not %d", key, got, want)
		}
	}
	if slot("foo{}bar") == slot("foo{}baz") {
		t.Error("an empty tag counts")
	}
	for shard := range shards {
		if shardOf(firstSlot(shard)) != shard || shardOf(lastSlot(shard)) != shard {
			t.Errorf("the ends of shard %d are not in it", shard)
		}
	}
}

func TestKeysOfCommands(t *testing.T) {
	tests := []struct {
		args, want []string
	}{
		{[]string{"SET", "k", "v"}, []string{"k"}},
		{[]string{"EVALSHA", "sha", "2", "a", "b", "c"}, []string{"a", "b"}},
		{[]string{"EVAL", "return 1", "0", "c"}, nil},
		{[]string{"DEL", "a", "b"}, []string{"a", "b"}},
		{[]string{"MSET", "a", "1", "b", "2"}, []string{"a", "b"}},
		{[]string{"WAIT", "1", "100"}, nil},
		{[]string{"PING"}, nil},
	}
	for _, tt := range tests {
		got := keysOf(tt.args)
		if len(got) == 0 && len(tt.want) == 0 {
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v: %s", tt.args, diff)
		}
	}
}

// setMany writes keys of all shards and counts those that are there.
func setMany(ctx context.Context, to env.Redis) (ok int) {
	for i := range 30 {
		if got, err := to.Do(ctx, "SET", fmt.Sprintf("key-%d", i), "v"); err == nil && got == "OK" {
			ok++
		}
	}
	return ok
}

func TestClusterRoutesByKey(t *testing.T) {
	r := newRig(t, Config{}, sharded)
	r.direct(func(ctx context.Context) {
		lock := r.Env().Lock[0]
		if n := setMany(ctx, lock); n != 30 {
			t.Errorf("%d of 30 keys were set", n)
		}
		for _, n := range r.site.redis[:shards] {
			if n.keys.Len() < 5 {
				t.Errorf("%s has %d keys", n.name, n.keys.Len())
			}
		}
		if _, err := r.at("redis-1").Do(ctx, "GET", "foo"); outcome(nil, err) != "MOVED 12182 redis-3:6379" {
			t.Errorf("the wrong server says %v", err)
		}
		if _, err := lock.Do(ctx, "DEL", "foo", "bar"); err == nil {
			t.Error("keys of two slots in one command")
		}
		got, err := lock.Eval(ctx, unlock, []string{"key-1"}, "v")
		if got != int64(1) || err != nil {
			t.Errorf("a script on its key's server: %v, %v", got, err)
		}
		err = lock.Pinned(ctx, func(c env.Redis) error {
			r.must(ctx, c, "SET", "foo", "1")
			if got := r.must(ctx, c, "WAIT", 1, 100); got != int64(1) {
				t.Errorf("WAIT on the key's server: %v", got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		r.healthy(ctx)
	})
}

func TestClusterFailsAShardOver(t *testing.T) {
	for seed := range uint64(20) {
		r := newRig(t, Config{}, seeded(sharded, seed, nil))
		r.direct(func(ctx context.Context) {
			lock := r.Env().Lock[0]
			setMany(ctx, lock)
			r.sleep(ctx, 100*time.Millisecond)
			r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"key:foo"}})
			if got := r.awaitPromotion(ctx); got != "redis-6" {
				t.Errorf("seed %d: promoted %s", seed, got)
			}
			r.sleep(ctx, 2*time.Second)
			setMany(ctx, lock) // meets the dead server, and learns
			if n := setMany(ctx, lock); n != 30 {
				t.Errorf("seed %d: %d of 30 keys after the failover", seed, n)
			}
			r.inject(ctx, histories.Fault{F: histories.Start, Targets: []string{"old-master"}})
			r.healthy(ctx)
			if diff := cmp.Diff([]string{"redis-3"}, r.seen(histories.Demoted)); diff != "" {
				t.Errorf("seed %d: demoted %s", seed, diff)
			}
		})
	}
}

// Two masters that cannot see each other are not two failures: the third
// sees both.
func TestOneBrokenLinkIsNoFailure(t *testing.T) {
	r := newRig(t, Config{}, sharded)
	r.direct(func(ctx context.Context) {
		r.inject(ctx, histories.Fault{F: histories.Partition, From: []string{"redis-1"}, To: []string{"redis-2"}})
		r.sleep(ctx, 20*time.Second)
		if got := r.seen(histories.Promoted); got != nil {
			t.Errorf("promoted %v", got)
		}
	})
}

func TestOldMasterOfAClusterIsTheOneThatWasStruck(t *testing.T) {
	for seed := range uint64(6) {
		r := newRig(t, Config{}, seeded(sharded, seed, nil))
		r.direct(func(ctx context.Context) {
			r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"master"}})
			r.inject(ctx, histories.Fault{F: histories.Start, Targets: []string{"old-master"}})
		})
	}
}

func TestMinorityMasterStopsServing(t *testing.T) {
	r := newRig(t, Config{}, sharded)
	r.direct(func(ctx context.Context) {
		others := []string{"redis-2", "redis-3", "redis-4", "redis-5", "redis-6"}
		r.inject(ctx, histories.Fault{F: histories.Partition, From: []string{"redis-1"}, To: others})
		r.sleep(ctx, 300*time.Millisecond)
		key := "key-0"
		for i := 0; shardOf(slot(key)) != 0; i++ {
			key = fmt.Sprintf("key-%d", i)
		}
		r.must(ctx, r.at("redis-1"), "SET", key, "lost") // not noticed yet
		r.awaitPromotion(ctx)
		r.sleep(ctx, time.Second)
		if _, err := r.at("redis-1").Do(ctx, "SET", key, "x"); outcome(nil, err) != "CLUSTERDOWN The cluster is down" {
			t.Errorf("alone, it says %v", err)
		}
		r.inject(ctx, histories.Fault{F: histories.Heal})
		r.healthy(ctx)
		if got := r.must(ctx, r.Env().Lock[0], "GET", key); got != nil {
			t.Errorf("the write of the minority survived: %v", got)
		}
	})
}

func TestManualClusterFailoverLosesNothing(t *testing.T) {
	for seed := range uint64(20) {
		taken := map[string]int64{}
		r := newRig(t, Config{}, seeded(sharded, seed, runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			for w.Phase() == env.Running {
				key := fmt.Sprintf("n-%d-%d", e.Worker, e.Rand.IntN(9))
				if got, err := e.Lock[0].Do(ctx, "INCR", key); err == nil {
					if got.(int64) <= taken[key] {
						t.Errorf("seed %d: %s went from %d to %d", seed, key, taken[key], got)
					}
					taken[key] = got.(int64)
				}
			}
		})))
		r.direct(func(ctx context.Context) {
			r.start(ctx)
			r.sleep(ctx, 100*time.Millisecond)
			r.inject(ctx, histories.Fault{F: histories.Failover, Targets: []string{"master"}})
			r.sleep(ctx, time.Second)
			r.SetPhase(env.Done)
			r.AwaitWorkers(ctx, 5*time.Second)
			r.healthy(ctx)
			for key, want := range taken {
				if got := r.must(ctx, r.Env().Lock[0], "GET", key); got != fmt.Sprint(want) {
					t.Errorf("seed %d: %s is %v, was %d", seed, key, got, want)
				}
			}
		})
	}
}
