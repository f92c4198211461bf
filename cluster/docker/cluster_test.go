//go:build unix

package docker

import (
	"context"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

func TestRedisCluster(t *testing.T) {
	o := cluster.Options{Topology: env.Topology{Lock: env.RedisCluster}, Workers: 2}
	spec := testSpec{Keys: 40, TTL: 2 * time.Second, Hold: time.Millisecond}
	play(t, o, spec, func(ctx context.Context, s *scene) {
		e := s.Env().Lock[0]
		for range 10 {
			s.grant(ctx)
		}
		// WAIT counts what was written on the same connection, to the key's
		// own master.
		err := e.Pinned(ctx, func(r env.Redis) error {
			if _, err := r.Do(ctx, "SET", "pinned", "x"); err != nil {
				return err
			}
			n, err := r.Do(ctx, "WAIT", 1, 1000)
			if n != int64(1) {
				t.Errorf("%v replicas have it, want 1", n)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		script := env.NewScript("get", "return redis.call('GET', KEYS[1])")
		if v, err := e.Eval(ctx, script, []string{"pinned"}); v != "x" || err != nil {
			t.Errorf("script: %v, %v", v, err)
		}
		for range 2 {
			s.must(ctx, histories.Fault{F: histories.Evict, Targets: []string{"key:pinned"}})
			s.must(ctx, histories.Fault{F: histories.Heal})
			if _, err := e.Do(ctx, "SET", "pinned", "x"); err != nil {
				t.Error(err)
			}
		}
		master, err := backend{s.system}.ServerOf(ctx, "pinned")
		if err != nil {
			t.Fatal(err)
		}
		s.must(ctx, histories.Fault{F: histories.Failover, Targets: []string{"key:pinned"}})
		s.await(ctx, "promotion", 0, of(histories.Promoted, histories.Info))
		if v, err := e.Do(ctx, "GET", "pinned"); v != "x" || err != nil {
			t.Errorf("after the slot has moved: %v, %v", v, err)
		}
		now, err := backend{s.system}.ServerOf(ctx, "pinned")
		if err != nil || now == master {
			t.Errorf("the key is still on %s, %v", now, err)
		}
		s.must(ctx, histories.Fault{F: histories.Kill, Targets: []string{now}})
		killed := s.Now()
		s.await(ctx, "promotion", killed, of(histories.Promoted, histories.Info))
		err = wait.Until(ctx, 10*time.Second, func(ctx context.Context) error {
			_, err := e.Do(ctx, "GET", "pinned")
			return err
		})
		if err != nil {
			t.Error("the client has not followed:", err)
		}
	})
	play(t, o, spec, func(ctx context.Context, s *scene) {
		for i, n := range s.system.locks() {
			if role, err := n.role(ctx); (role == "master") != (i < clusterMasters) || err != nil {
				t.Errorf("%s is %s, %v", n.name, role, err)
			}
		}
		if v, err := s.Env().Lock[0].Do(ctx, "GET", "pinned"); v != nil || err != nil {
			t.Errorf("the next run finds %v, %v", v, err)
		}
		s.grant(ctx)
	})
}
