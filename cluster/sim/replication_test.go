package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

func TestReplicasLagAndCatchUp(t *testing.T) {
	r := newRig(t, Config{}, replicated)
	r.direct(func(ctx context.Context) {
		lock, replica := r.Env().Lock[0], r.at("redis-3")
		r.must(ctx, replica, "PING")
		r.must(ctx, lock, "SET", "k", "1")
		r.sleep(ctx, 2*time.Millisecond)
		if got := r.must(ctx, replica, "GET", "k"); got != "1" {
			t.Errorf("the replica has %v after 2 ms", got)
		}
		r.inject(ctx, histories.Fault{F: histories.Partition, From: []string{"redis-1"}, To: []string{"redis-3"}})
		r.must(ctx, lock, "SET", "k", "2")
		r.sleep(ctx, time.Second)
		if got := r.must(ctx, replica, "GET", "k"); got != "1" {
			t.Errorf("the cut-off replica has %v", got)
		}
		r.inject(ctx, histories.Fault{F: histories.Heal})
		r.sleep(ctx, 3*time.Second)
		if got := r.must(ctx, replica, "GET", "k"); got != "2" {
			t.Errorf("the replica has %v after healing", got)
		}
	})
}

func TestReplicasRefuseWritesAndHideWhatExpired(t *testing.T) {
	r := newRig(t, Config{}, replicated)
	r.direct(func(ctx context.Context) {
		r.must(ctx, r.Env().Lock[0], "SET", "k", "1", "PX", "100")
		r.sleep(ctx, 50*time.Millisecond)
		replica := r.at("redis-2")
		if _, err := replica.Do(ctx, "SET", "k", "2"); !strings.HasPrefix(outcome(nil, err), "READONLY") {
			t.Errorf("a write on a replica: %v", err)
		}
		if got := r.must(ctx, replica, "GET", "k"); got != "1" {
			t.Errorf("the replica has %v", got)
		}
		r.sleep(ctx, 100*time.Millisecond)
		if got := r.must(ctx, replica, "GET", "k"); got != nil {
			t.Errorf("the replica shows %v after its end", got)
		}
		if n := r.site.byName["redis-2"].keys.Len(); n != 1 {
			t.Errorf("the replica has %d keys: it must not expire by itself", n)
		}
	})
}

// Which way a replica comes back decides what it loses.
func TestPartialAndFullResync(t *testing.T) {
	tests := []struct {
		name string
		do   func(ctx context.Context, r *rig)
		full bool
	}{
		{"a broken link continues where it was", func(ctx context.Context, r *rig) {
			r.site.byName["redis-2"].repl.link.GiveUp()
			r.must(ctx, r.Env().Lock[0], "SET", "k", "2")
		}, false},
		{"a restarted replica takes everything", func(ctx context.Context, r *rig) {
			r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"redis-2"}})
			r.must(ctx, r.Env().Lock[0], "SET", "k", "2")
			r.inject(ctx, histories.Fault{F: histories.Start, Targets: []string{"redis-2"}})
		}, true},
		{"what fell out of the backlog is sent whole", func(ctx context.Context, r *rig) {
			master := r.site.byName["redis-1"]
			r.site.byName["redis-2"].repl.link.GiveUp()
			r.must(ctx, r.Env().Lock[0], "SET", "k", "2")
			master.repl.backlog, master.repl.first = nil, master.repl.offset
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{}, replicated)
			r.direct(func(ctx context.Context) {
				r.must(ctx, r.Env().Lock[0], "SET", "k", "1")
				r.sleep(ctx, 100*time.Millisecond)
				tt.do(ctx, r)
				r.sleep(ctx, 5*time.Second)
				n := r.site.byName["redis-2"]
				if got := r.must(ctx, r.at("redis-2"), "GET", "k"); got != "2" || !n.repl.synced {
					t.Errorf("the replica has %v, synced %v", got, n.repl.synced)
				}
				if full := n.repl.first > 0; full != tt.full {
					t.Errorf("full resync: %v", full)
				}
			})
		})
	}
}

func TestWaitCountsAcknowledgements(t *testing.T) {
	cut := func(names ...string) histories.Fault {
		return histories.Fault{F: histories.Partition, From: []string{"redis-1"}, To: names}
	}
	tests := []struct {
		name   string
		fault  histories.Fault
		need   int
		want   int64
		within time.Duration
	}{
		{"both replicas acknowledge at once", histories.Fault{}, 2, 2, 5 * time.Millisecond},
		{"one of two is enough if one is asked for", cut("redis-2"), 1, 1, 5 * time.Millisecond},
		{"with one cut off the time runs out", cut("redis-2"), 2, 1, 110 * time.Millisecond},
		{"with both cut off nobody acknowledges", cut("redis-2", "redis-3"), 1, 0, 110 * time.Millisecond},
		{"a frozen replica does not acknowledge", histories.Fault{F: histories.Pause, Targets: []string{"redis-3"}}, 2, 1, 110 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{}, replicated)
			r.direct(func(ctx context.Context) {
				lock := r.Env().Lock[0]
				r.must(ctx, lock, "PING")
				if tt.fault.F != "" {
					r.inject(ctx, tt.fault)
				}
				err := lock.Pinned(ctx, func(c env.Redis) error {
					r.must(ctx, c, "SET", "k", "1")
					asked := r.Now()
					got := r.must(ctx, c, "WAIT", tt.need, 100)
					if took := r.Now() - asked; got != tt.want || took > tt.within {
						t.Errorf("WAIT %d answered %v after %v", tt.need, got, took)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWhatPersistenceKeeps(t *testing.T) {
	tests := []struct {
		persistence, kill, start string
		early, late              any
	}{
		{"none", "process", "keep", nil, nil},
		{"everysec", "process", "keep", "1", "1"},
		{"everysec", "host", "keep", "1", nil},
		{"always", "host", "keep", "1", "1"},
		{"always", "host", "empty", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.persistence+" "+tt.kill+" "+tt.start, func(t *testing.T) {
			o := seeded(replicated, 1, nil)
			o.Topology = env.Topology{Lock: env.Single, Persistence: tt.persistence}
			r := newRig(t, Config{}, o)
			r.direct(func(ctx context.Context) {
				lock := r.Env().Lock[0]
				r.must(ctx, lock, "SET", "early", "1", "PX", 60000)
				r.sleep(ctx, 1500*time.Millisecond)
				r.must(ctx, lock, "SET", "late", "1")
				r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"master"}, Mode: tt.kill})
				r.inject(ctx, histories.Fault{F: histories.Start, Targets: []string{"old-master"}, Mode: tt.start})
				r.sleep(ctx, 100*time.Millisecond)
				early, late := r.must(ctx, r.at("redis-1"), "GET", "early"), r.must(ctx, r.at("redis-1"), "GET", "late")
				if early != tt.early || late != tt.late {
					t.Errorf("early %v, late %v", early, late)
				}
			})
		})
	}
}

func TestLoadingServerSaysSo(t *testing.T) {
	r := newRig(t, Config{}, seeded(replicated, 1, nil))
	r.direct(func(ctx context.Context) {
		r.sleep(ctx, time.Second)
		n := r.site.byName["redis-1"]
		n.kill("process")
		n.boot(false)
		if _, err := r.at("redis-1").Do(ctx, "GET", "k"); !strings.HasPrefix(outcome(nil, err), "LOADING") {
			t.Errorf("at once: %v", err)
		}
		r.sleep(ctx, 20*time.Millisecond)
		r.must(ctx, r.at("redis-1"), "GET", "k")
	})
}

func TestSubscribersHearPublishedMessages(t *testing.T) {
	r := newRig(t, Config{}, seeded(replicated, 1, runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		if e.Worker == 1 {
			e.Clock.Sleep(ctx, time.Second)
			n, err := e.Lock[0].Do(ctx, "PUBLISH", "c", "hello")
			note(e, w, outcome(n, err))
			return
		}
		next, stop, err := e.Lock[0].Subscribe(ctx, "c")
		if err != nil {
			t.Error(err)
			return
		}
		for range 2 {
			message, ok, err := next(ctx, 1500*time.Millisecond)
			note(e, w, e.Clock.Now().Round(100*time.Millisecond).String()+" "+message+" "+outcome("ok", err))
			_ = ok
		}
		stop()
	})))
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		r.AwaitWorkers(ctx, time.Minute)
	})
	want := []string{"0 1s hello ok", "1 ok", "0 2.5s  ok"}
	if got := r.notes(); len(got) != 3 || got[0] != want[0] && got[1] != want[0] || got[2] != want[2] {
		t.Errorf("notes %q", got)
	}
}
