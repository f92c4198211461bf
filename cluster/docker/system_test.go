//go:build unix

package docker

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

var quick = testSpec{Keys: 8, TTL: 2 * time.Second, Hold: 2 * time.Millisecond}

func TestWorkersOfAllProcessesAreHeard(t *testing.T) {
	play(t, cluster.Options{Topology: env.Topology{Lock: env.Single, Stock: true}, Workers: 3, PerHost: 2}, quick,
		func(ctx context.Context, s *scene) {
			if diff := cmp.Diff([]string{"redis-1", "stock-1"}, s.Nodes()); diff != "" {
				t.Error("nodes:", diff)
			}
			if !strings.HasPrefix(s.Source(), "Redis ") && !strings.HasPrefix(s.Source(), "Valkey ") {
				t.Errorf("source is %q", s.Source())
			}
			for w := range 3 {
				s.await(ctx, "worker "+strconv.Itoa(w), 0, func(e histories.Event) bool {
					return e.Process == histories.Process(w) && e.F == histories.Release && e.Type == histories.OK
				})
			}
			if len(s.system.hosts) != 2 {
				t.Errorf("%d processes for 3 workers, 2 to a host", len(s.system.hosts))
			}
			if e := s.Env(); e.Stock == nil || e.Stock == e.Lock[0] {
				t.Error("the stock is not on a Redis of its own")
			}
		})
}

// The times of all processes are on one clock: a worker's event that the
// director has seen is not from the future, nor from long ago.
func TestAllProcessesShareOneClock(t *testing.T) {
	play(t, cluster.Options{Topology: env.Topology{Lock: env.Single}, Workers: 2}, quick,
		func(ctx context.Context, s *scene) {
			for range 20 {
				before := s.Now()
				e := s.await(ctx, "tick", before, func(e histories.Event) bool { return e.F == "tick" })
				if now := s.Now(); time.Duration(e.Time) > now || time.Duration(e.Time) < before {
					t.Fatalf("event of %s seen between %s and %s", time.Duration(e.Time), before, now)
				}
			}
		})
}

// Memory pressure on a master that has replicas takes keys at once, those
// without a ttl too.
func TestAnEvictionTakesKeysOfEveryKind(t *testing.T) {
	play(t, cluster.Options{Topology: env.Topology{Lock: env.Sentinel}, Workers: 1}, quick,
		func(ctx context.Context, s *scene) {
			const keys = 40
			set, exists := []any{"MSET"}, []any{"EXISTS"}
			for i := range keys {
				name := fmt.Sprint("kept-", i)
				set, exists = append(set, name, "x"), append(exists, name)
			}
			lock := s.Env().Lock[0]
			if _, err := lock.Do(ctx, set...); err != nil {
				t.Fatal(err)
			}
			s.must(ctx, histories.Fault{F: histories.Evict, Targets: []string{"master"}})
			left, err := lock.Do(ctx, exists...)
			if n, ok := left.(int64); err != nil || !ok || n == keys || n == 0 {
				t.Errorf("%v of %d keys without a ttl are left, %v; want some", left, keys, err)
			}
			s.must(ctx, histories.Fault{F: histories.Heal})
		})
}

// What a failover loses, by hand: a lock that only the master knows of.
func TestFailoverLosesALock(t *testing.T) {
	play(t, cluster.Options{Topology: env.Topology{Lock: env.Sentinel}, Workers: 1}, quick,
		func(ctx context.Context, s *scene) {
			e := s.Env()
			s.grant(ctx)
			s.must(ctx, histories.Fault{F: histories.Partition, From: []string{"master"}, To: []string{"replicas"}})
			if v, err := e.Lock[0].Do(ctx, "SET", "lost", "token", "NX", "PX", 60_000); v != "OK" || err != nil {
				t.Fatalf("SET: %v, %v", v, err)
			}
			killed := s.must(ctx, histories.Fault{F: histories.Kill, Targets: []string{"key:lost"}})
			if diff := cmp.Diff([]string{"redis-1"}, killed.Targets); diff != "" {
				t.Error("the server that has the key:", diff)
			}
			s.must(ctx, histories.Fault{F: histories.Heal})
			promoted := s.await(ctx, "promotion", 0, of(histories.Promoted, histories.Info))
			s.grant(ctx) // the workers have followed
			var got any
			err := wait.Until(ctx, 10*time.Second, func(ctx context.Context) (err error) {
				got, err = e.Lock[0].Do(ctx, "GET", "lost")
				return err
			})
			if err != nil || got != nil {
				t.Errorf("%v has the lock that it never heard of: %v, %v", promoted.Targets, got, err)
			}
			s.must(ctx, histories.Fault{F: histories.Start, Targets: []string{"old-master"}})
			demoted := s.await(ctx, "demotion", 0, of(histories.Demoted, histories.Info))
			if diff := cmp.Diff(killed.Targets, demoted.Targets); diff != "" {
				t.Error("demoted:", diff)
			}
			if err := s.Healthy(ctx, 20*time.Second); err != nil {
				t.Error(err)
			}
		})
}

// After whatever was done, the next run finds redis-1 as master, everybody
// well, and nothing in it.
func TestNextCellIsAsGoodAsNew(t *testing.T) {
	o := cluster.Options{Topology: env.Topology{Lock: env.Sentinel, Persistence: "always"}, Workers: 1}
	play(t, o, quick, func(ctx context.Context, s *scene) {
		s.grant(ctx)
		if _, err := s.Env().Lock[0].Do(ctx, "SET", "left", "behind"); err != nil {
			t.Error(err)
		}
		s.must(ctx, histories.Fault{F: histories.Failover, Targets: []string{"master"}})
		s.must(ctx, histories.Fault{F: histories.Pause, Targets: []string{"redis-3"}})
	})
	play(t, o, quick, func(ctx context.Context, s *scene) {
		if m, err := s.system.masters(ctx); err != nil || m[0].name != "redis-1" {
			t.Errorf("master is %v, %v", m, err)
		}
		if err := s.Healthy(ctx, time.Second); err != nil {
			t.Error(err)
		}
		if v, err := s.Env().Lock[0].Do(ctx, "GET", "left"); v != nil || err != nil {
			t.Errorf("GET: %v, %v", v, err)
		}
		s.grant(ctx)
	})
}

func TestWorkersThatDoNotEndAreKilledAndNamed(t *testing.T) {
	p := needEngine(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := p.Cell(ctx, cluster.Options{Topology: env.Topology{Lock: env.Single}, Workers: 2, Spec: []byte(`{"Keys":1,"TTL":1000000000}`)})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Run(ctx, func(ctx context.Context) error {
		if err := c.StartWorkers(ctx); err != nil {
			return err
		}
		killed, err := c.AwaitWorkers(ctx, 50*time.Millisecond) // nobody told them to end
		if diff := cmp.Diff([]string{"worker-0", "worker-1"}, killed); diff != "" {
			t.Error(diff)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A director that panics leaves no worker, and no frozen server.
func TestPanicLeavesNothing(t *testing.T) {
	p := needEngine(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := p.Cell(ctx, cluster.Options{Topology: env.Topology{Lock: env.Single}, Workers: 1, Spec: []byte(`{"Keys":1,"TTL":1000000000}`)})
	if err != nil {
		t.Fatal(err)
	}
	c := got.(*system)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic got lost")
			}
		}()
		_ = c.Run(ctx, func(ctx context.Context) error {
			if err := c.StartWorkers(ctx); err != nil {
				t.Error(err)
			}
			if _, err := c.Inject(ctx, histories.Fault{F: histories.Pause, Targets: []string{"redis-1"}}); err != nil {
				t.Error(err)
			}
			panic("director")
		})
	}()
	if c.hosts[0].state() != "" {
		t.Error("the worker process lives on")
	}
	if err := c.node("redis-1").ping(ctx, time.Second); err != nil {
		t.Error("redis-1:", err)
	}
}

// A worker whose lockcheck is dead, even a stopped one, is found by its mark
// and killed; a process of the same name without the mark is left alone.
func TestOrphansAreCleaned(t *testing.T) {
	self, args := testSelf(t)
	start := func(mark string) *exec.Cmd {
		cmd := exec.Command(self, args...)
		if mark != "" {
			cmd.Env = append(cmd.Environ(), mark)
		}
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stdin.Close() })
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	marked, bare := start(runMark+"=dead"), start("")
	if err := marked.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	err := wait.Until(t.Context(), 5*time.Second, func(context.Context) error {
		found := orphans(self)
		if !slices.Contains(found, marked.Process.Pid) || slices.Contains(found, bare.Process.Pid) {
			return syscall.ESRCH // exec takes a moment
		}
		return nil
	})
	if err != nil {
		t.Fatalf("orphans are %v, want %d and not %d", orphans(self), marked.Process.Pid, bare.Process.Pid)
	}
	removed, err := cleanProcesses(t.Context())
	if err != nil || !slices.Contains(removed, "worker process "+strconv.Itoa(marked.Process.Pid)) {
		t.Errorf("removed %v, %v", removed, err)
	}
	if err := bare.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("the process without the mark was hit:", err)
	}
}
