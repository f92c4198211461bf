package run_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/own"
)

// examples are the commands of the examples that live in virtual time.
var examples = map[string][]string{
	"php":    {"php", "../examples/php/lock.php"},
	"python": {"/usr/bin/python3", "../examples/python/lock.py"},
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

func TestTheExamplesAreDeterministicToTheByte(t *testing.T) {
	for name := range examples {
		for _, n := range []string{"none", "failover"} {
			t.Run(name+"/"+n, func(t *testing.T) {
				p := ownPlan(t, name, n, 3, 3*time.Second)
				began := time.Now()
				first := play(t, p)
				t.Logf("%v, %d bytes, %d lines", time.Since(began), len(first), bytes.Count(first, []byte("\n")))
				if second := play(t, p); !bytes.Equal(first, second) {
					t.Errorf("two runs of one seed differ %s", firstDifference(first, second))
				}
			})
		}
	}
}
