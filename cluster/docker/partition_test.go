//go:build unix

package docker

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Half of the workers stay with the old master and one sentinel; the others, the
// replicas and two sentinels, who lose the master one after the other, go on
// without them. Twice in a row: the second master is cut off, too.
//
// Of the workers on either side one is enough: a client that had asked a
// sentinel of the other side may wait for its answer until that is healed.
func TestSplitBrainHasTwoMasters(t *testing.T) {
	play(t, cluster.Options{Topology: env.Topology{Lock: env.Sentinel}, Workers: 6}, quick,
		func(ctx context.Context, s *scene) {
			s.grant(ctx)
			at := s.Now()
			s.must(ctx, histories.Fault{F: histories.Partition, From: []string{"master"}, To: []string{"sentinel-2"}})
			if err := s.Sleep(ctx, 400*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			s.must(ctx, histories.Fault{
				F:    histories.Partition,
				From: []string{"master", "one-sentinel", "half-workers"},
				To:   []string{"replicas", "other-sentinels", "other-workers"},
			})
			promoted := s.await(ctx, "promotion", at, of(histories.Promoted, histories.Info))
			split := time.Duration(promoted.Time)
			for side, workers := range map[string][]int{"old": {0, 1, 2}, "new": {3, 4, 5}} {
				s.await(ctx, "a grant by the "+side+" master", split, func(e histories.Event) bool {
					return slices.Contains(workers, int(e.Process)) && e.F == histories.Acquire && e.Type == histories.OK
				})
			}
			if role, err := s.system.node("redis-1").role(ctx); role != "master" || err != nil {
				t.Errorf("the old master is %s, %v", role, err)
			}
			s.must(ctx, histories.Fault{F: histories.Heal})
			s.await(ctx, "demotion", split, of(histories.Demoted, histories.Info))
			if err := s.Healthy(ctx, 30*time.Second); err != nil {
				t.Error(err)
			}
			s.must(ctx, histories.Fault{F: histories.Partition, From: []string{"master"}, To: []string{"replicas", "sentinels"}})
		})
}
