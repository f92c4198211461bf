package locktest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/locktest"
)

// simulated plays scenes on the simulated cluster.
type simulated struct{}

func (simulated) Play(ctx context.Context, s locktest.Scene) error {
	c, err := sim.New(sim.Config{}).Cell(ctx, cluster.Options{
		Topology: s.Topology, Seed: 1, Program: s.Program, Workers: s.Workers, PerHost: s.PerHost,
	})
	if err != nil {
		return err
	}
	return c.Run(ctx, func(ctx context.Context) error {
		if err := s.Prepare(ctx, c.Env()); err != nil {
			return err
		}
		if err := c.StartWorkers(ctx); err != nil {
			return err
		}
		if s.Direct != nil {
			if err := s.Direct(ctx, director{c}); err != nil {
				return err
			}
		}
		killed, err := c.AwaitWorkers(ctx, 5*time.Minute)
		if len(killed) > 0 {
			err = errors.Join(err, errors.New("workers did not end in time"))
		}
		return err
	})
}

type director struct{ cluster.Cluster }

func (d director) Inject(ctx context.Context, f histories.Fault) error {
	_, err := d.Cluster.Inject(ctx, f)
	return err
}

// fails are the known-bad locks and the cases that they fail. All others
// pass, also those whose mistake is in the sale and not in the lock.
var fails = map[string][]string{
	"setnx-expire":    {"a worker that dies while acquiring leaves nothing forever"},
	"del-any":         {"only the owner releases"},
	"get-then-del":    {"a release that takes long deletes no other's lock"},
	"renew-resurrect": {"a renewal keeps the lease, and does not revive one"},
	"renew-blind":     {"one failed renewal is not the end"},
	"client-clock":    {"wall clocks of workers do not matter"},
	"retry-blind":     {"a lost answer costs a ttl at most"},
	"shared-owner": { // nobody is ever refused
		"one holder at a time", "only the owner releases", "a release that takes long deletes no other's lock",
		"a lease ends by itself", "a waiter that dies keeps nobody out", "re-entry as declared", "waiting can be cancelled", "wall clocks of workers do not matter",
	},
	"fail-open":         {"no grant while the server is away"},
	"async-failover":    {"no grant without the acknowledgements"},
	"redlock-forgetful": {"the shown deadline is honest"},
	"fair-queue":        {"a waiter that dies keeps nobody out"},
	"clocked-del":       {"a release that takes long deletes no other's lock"},
	"renew-forever":     {"no renewal after the release"},
	"wrong-key": { // no release acts
		"one holder at a time", "a waiter that dies keeps nobody out", "re-entry as declared", "waiting can be cancelled",
		"no grant while the server is away",
	},
	// A connection of the pool may take its lock twice.
	"get-lock-pool": {"one holder at a time", "re-entry as declared", "waiting can be cancelled"},
}

func TestEveryLockConformsButTheKnownBad(t *testing.T) {
	for _, d := range workload.Designs() {
		if d.Lock == nil {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			bad := fails[d.Name]
			if bad == nil {
				locktest.Run(t, simulated{}, d)
				return
			}
			findings, err := locktest.Check(t.Context(), simulated{}, d)
			if err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, f := range findings {
				failed = append(failed, f.Case)
				t.Logf("%s: %v", f.Case, f.Err)
			}
			if diff := cmp.Diff(bad, failed); diff != "" {
				t.Errorf("failed cases (-want +got):\n%s", diff)
			}
		})
	}
}
