package locktest_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/locktest"
)

// planted plays scenes whose workers run another script than they think.
type planted struct {
	script  string
	instead func(ctx context.Context, r env.Redis, keys []string, args []any) (any, error)
}

func (w planted) Play(ctx context.Context, s locktest.Scene) error {
	program := s.Program
	s.Program = func(ctx context.Context, spec []byte, e *env.Env, wire env.Wire) error {
		for i, r := range e.Lock {
			e.Lock[i] = tampered{r, w}
		}
		return program(ctx, spec, e, wire)
	}
	return simulated{}.Play(ctx, s)
}

type tampered struct {
	env.Redis
	planted
}

func (r tampered) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (any, error) {
	if script.Name == r.script {
		return r.instead(ctx, r.Redis, keys, args)
	}
	return r.Redis.Eval(ctx, script, keys, args...)
}

func TestTheSuiteFindsPlantedBugs(t *testing.T) {
	const (
		revives = "a late renewal in the background does not revive the lease"
		another = "a late renewal in the background keeps no other's lock"
	)
	for _, c := range []struct {
		name, design string
		world        planted
		want         []string
	}{
		{
			"a renewal that is a bare PEXPIRE", "watchdog",
			planted{"renew", func(ctx context.Context, r env.Redis, keys []string, args []any) (any, error) {
				return r.Do(ctx, "PEXPIRE", keys[0], args[1])
			}},
			[]string{another},
		},
		{
			"a renewal that sets the key again", "watchdog",
			planted{"renew", func(ctx context.Context, r env.Redis, keys []string, args []any) (any, error) {
				_, err := r.Do(ctx, "SET", keys[0], args[0], "PX", args[1])
				return int64(1), err
			}},
			[]string{revives, another, "a loss is told"},
		},
		{
			"a release that looks at no owner", "redis-lock",
			planted{"release", func(ctx context.Context, r env.Redis, keys []string, _ []any) (any, error) {
				return r.Do(ctx, "DEL", keys[0])
			}},
			[]string{"only the owner releases"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _ := workload.Find(c.design)
			findings, err := locktest.Check(t.Context(), c.world, d)
			if err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, f := range findings {
				failed = append(failed, f.Case)
				t.Logf("%s: %v", f.Case, f.Err)
			}
			if diff := cmp.Diff(c.want, failed); diff != "" {
				t.Errorf("failed cases (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADesignWithoutALockIsNotTested(t *testing.T) {
	d, _ := workload.Find("lua-stock")
	if _, err := locktest.Check(t.Context(), simulated{}, d); err == nil {
		t.Error("a design without a lock conforms")
	}
}
