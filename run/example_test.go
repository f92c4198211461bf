package run_test

import (
	"context"
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

// A run on the simulation: what was recorded, and the verdict on it.
func ExampleRun() {
	design, _ := workload.Find("redis-lock")
	spec, err := design.Resolve(workload.Spec{Seed: 1, TimeLimit: 20 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	j, err := run.Run(context.Background(), sim.New(sim.Config{}), run.Plan{Spec: spec, Nemesis: "pause"}, run.Quick)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(j.History.Header.Design, "on", j.Source)
	fmt.Println("lock level:", j.Verdict.Levels[checker.LockLevel])
	fmt.Println(j.Verdict.First().Property, "because:", j.Verdict.First().Cause)
	// Output:
	// redis-lock on simulated Redis
	// lock level: invalid
	// double-hold because: lease ran out while working
}

// A search of many seeds ends at the first run that is broken.
func ExampleSearch() {
	design, _ := workload.Find("redlock")
	spec, err := design.Resolve(workload.Spec{TimeLimit: 20 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, tried, err := run.Search(context.Background(), sim.New(sim.Config{}), 50,
		func(i int) run.Plan {
			p := run.Plan{Spec: spec, Nemesis: "restart"}
			p.Spec.Seed = uint64(i + 1)
			return p
		},
		func(j *run.Judged) bool { return j.Verdict.Levels[checker.LockLevel] == checker.Invalid })
	if err != nil || found == nil {
		fmt.Println(tried, err)
		return
	}
	fmt.Println("seed", found.Plan.Spec.Seed, "because:", found.Verdict.First().Cause)
	// Output:
	// seed 1 because: server restarted empty
}
