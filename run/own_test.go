package run_test

import (
	"bytes"
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/own"
)

var ownSeeds = flag.Int("own-seeds", 2, "seeds that the examples are run with twice")

// examples are the commands of the examples that live in virtual time.
var examples = map[string][]string{
	"php":    {"php", "../examples/php/lock.php"},
	"python": {"/usr/bin/python3", "../examples/python/lock.py"},
	"ruby":   {"ruby", "../examples/ruby/lock.rb"},
}

// ownPlan is a cell of a program of somebody's own, on Sentinel.
func ownPlan(t testing.TB, name, nemesisName string, seed uint64, limit time.Duration) run.Plan {
	t.Helper()
	command := append([]string{}, examples[name]...)
	path, err := filepath.Abs(command[1])
	if err != nil {
		t.Fatal(err)
	}
	command[1] = path
	ready, err := sim.Introduce(t.Context(), command, env.Topology{Lock: env.Sentinel}, protocol.Hello{TTL: 5000, Wait: 2000})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := own.Design(name, command, env.Topology{Lock: env.Sentinel}, ready).Resolve(workload.Spec{Seed: seed, TimeLimit: limit, Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	return run.Plan{Spec: spec, Nemesis: nemesisName, TimeLimit: limit, Version: "test"}
}

// TestAPHPLockBreaksAsTheSameLockInGo: examples/php is redis-lock with phpredis.
func TestAPHPLockBreaksAsTheSameLockInGo(t *testing.T) {
	same, _ := workload.Find("redis-lock")
	for _, n := range []string{"none", "pause", "failover", "restart", "clock", "crash"} {
		t.Run(n, func(t *testing.T) {
			p := ownPlan(t, "php", n, 1, 30*time.Second)
			p.Spec.Workers = 10
			j, err := run.Run(t.Context(), sim.New(sim.Config{}), p, run.Quick)
			if err != nil {
				t.Fatal(err)
			}
			claim := same.Claim(n)
			for level, promise := range map[checker.Level]workload.Promise{
				checker.LockLevel: claim.Lock, checker.UseLevel: claim.Use, checker.BusinessLevel: claim.Business,
			} {
				got := j.Verdict.Levels[level]
				if promise == workload.Holds && got != checker.Valid || promise == workload.Breaks && got != checker.Invalid {
					t.Errorf("%s is %s, where redis-lock %s", level, got, promise)
				}
			}
		})
	}
}

func TestTheExamplesAreDeterministicToTheByte(t *testing.T) {
	for name := range examples {
		t.Run(name, func(t *testing.T) {
			p := ownPlan(t, name, nemesis.Mixed, 1, 4*time.Second)
			different := map[string]bool{}
			for range *ownSeeds {
				p.Spec.Seed++
				first := play(t, p)
				different[string(first)] = true
				if second := play(t, p); !bytes.Equal(first, second) {
					t.Errorf("two runs of seed %d differ %s", p.Spec.Seed, firstDifference(first, second))
				}
			}
			if len(different) != *ownSeeds {
				t.Errorf("%d seeds gave %d histories", *ownSeeds, len(different))
			}
		})
	}
}
