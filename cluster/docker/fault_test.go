//go:build unix

package docker

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

func tick(worker int) func(histories.Event) bool {
	return func(e histories.Event) bool { return e.F == "tick" && e.Process == histories.Process(worker) }
}

// trouble is an attempt of a worker that ended badly.
func trouble(text string) func(histories.Event) bool {
	return func(e histories.Event) bool { return strings.Contains(e.Error, text) }
}

// faultCases are faults of each kind, what must show while they last, and how
// they end. They are played one after another in one system.
var faultCases = []struct {
	name  string
	fault histories.Fault
	bites func(context.Context, *scene, time.Duration) // after the moment of the fault
	end   histories.Fault
}{
	{
		name:  "a killed process resets connections and refuses new ones",
		fault: histories.Fault{F: histories.Kill, Targets: []string{"redis-1"}, Mode: "process"},
		bites: func(ctx context.Context, s *scene, at time.Duration) {
			s.await(ctx, "refused", at, trouble(env.ErrRefused.Error()))
		},
		end: histories.Fault{F: histories.Start, Targets: []string{"redis-1"}, Mode: "empty"},
	},
	{
		name:  "a frozen server answers nothing",
		fault: histories.Fault{F: histories.Pause, Targets: []string{"redis-1"}},
		bites: func(ctx context.Context, s *scene, at time.Duration) {
			s.await(ctx, "time-out", at, trouble(env.ErrTimeout.Error()))
		},
		end: histories.Fault{F: histories.Resume, Targets: []string{"redis-1"}},
	},
	{
		name:  "workers that are cut off get no answer, the others do",
		fault: histories.Fault{F: histories.Partition, From: []string{"half-workers"}, To: []string{"locks"}},
		bites: func(ctx context.Context, s *scene, at time.Duration) {
			s.await(ctx, "time-out", at, func(e histories.Event) bool { return e.Process == 0 && trouble("timeout")(e) })
			s.await(ctx, "grant to the other half", at, func(e histories.Event) bool {
				return e.Process == 1 && of(histories.Acquire, histories.OK)(e)
			})
		},
		end: histories.Fault{F: histories.Heal},
	},
	{
		name:  "requests arrive whose replies are cut off",
		fault: histories.Fault{F: histories.Partition, From: []string{"locks"}, To: []string{"worker-0"}, OneWay: true},
		bites: func(ctx context.Context, s *scene, at time.Duration) {
			lost := s.await(ctx, "time-out", at, func(e histories.Event) bool { return e.Process == 0 && e.Type == histories.Info && e.Op > 0 })
			asked := s.await(ctx, "its invocation", 0, func(e histories.Event) bool {
				return e.Op == lost.Op && e.F == lost.F && e.Type == histories.Invoke
			})
			// The server did it: the lock is there that nobody knows of, or
			// the one that was released is another's by now or nobody's.
			v, err := s.Env().Lock[0].Do(ctx, "GET", asked.Key)
			if err != nil || lost.F == histories.Acquire && v == nil || lost.F == histories.Release && v == strconv.FormatInt(lost.Op, 10) {
				s.Errorf("after a lost reply to %s, %s is %v, %v", lost.F, asked.Key, v, err)
			}
		},
		end: histories.Fault{F: histories.Heal},
	},
	{
		name:  "lost packets make outcomes unknown",
		fault: histories.Fault{F: histories.Loss, From: []string{"locks"}, To: []string{"workers"}, Rate: 0.3},
		bites: func(ctx context.Context, s *scene, at time.Duration) {
			s.await(ctx, "time-out", at, trouble(env.ErrTimeout.Error()))
		},
		end: histories.Fault{F: histories.Heal},
	},
	{
		name:  "a server's clock that jumps ends leases",
		fault: histories.Fault{F: histories.Skew, Targets: []string{"redis-1"}, Offset: time.Hour},
		bites: func(ctx context.Context, s *scene, _ time.Duration) {
			if v, err := s.Env().Lock[0].Do(ctx, "EXISTS", "hour"); v != int64(0) || err != nil {
				s.Errorf("a lease of an hour minus a second lives on: %v, %v", v, err)
			}
		},
		end: histories.Fault{F: histories.Heal},
	},
	{
		name:  "a worker's clock jumps, its monotonic one does not",
		fault: histories.Fault{F: histories.Skew, Targets: []string{"worker-1"}, Offset: -time.Hour},
		bites: func(ctx context.Context, s *scene, at time.Duration) {
			wall := func(w int) time.Time { return time.Unix(0, s.await(ctx, "tick", at, tick(w)).Value.N) }
			if off := wall(0).Sub(wall(1)); (off - time.Hour).Abs() > time.Minute {
				s.Errorf("the clocks are %s apart, want an hour", off)
			}
		},
		end: histories.Fault{F: histories.Heal},
	},
	{
		name:  "drifting clocks drift apart",
		fault: histories.Fault{F: histories.Skew, Targets: []string{"worker-0", "redis-1"}, Drift: 0.5},
		end:   histories.Fault{F: histories.Heal},
	},
	{
		name:  "a stopped worker does nothing",
		fault: histories.Fault{F: histories.Pause, Targets: []string{"worker-0"}},
		bites: func(ctx context.Context, s *scene, at time.Duration) {
			s.await(ctx, "tick of the other", s.Now(), tick(1))
			stopped := s.Now()
			_ = s.Sleep(ctx, 100*time.Millisecond)
			if n := len(s.record.find(stopped, tick(0))); n > 0 {
				s.Errorf("%d ticks of a stopped worker", n)
			}
		},
		end: histories.Fault{F: histories.Resume, Targets: []string{"worker-0"}},
	},
	{
		name:  "renewals stand still while the worker works",
		fault: histories.Fault{F: histories.Pause, Targets: []string{"worker-0"}, Step: "renewal"},
		bites: func(ctx context.Context, s *scene, at time.Duration) {
			still := s.Now() + 30*time.Millisecond // one may be under way
			s.await(ctx, "its work", still, func(e histories.Event) bool { return e.Process == 0 && e.F == histories.Acquire })
			_ = s.Sleep(ctx, 100*time.Millisecond)
			if n := len(s.record.find(still, tick(0))); n > 0 {
				s.Errorf("%d ticks of renewals that stand still", n)
			}
		},
		end: histories.Fault{F: histories.Resume, Targets: []string{"worker-0"}, Step: "renewal"},
	},
	{
		name:  "the work stands still while renewals go on",
		fault: histories.Fault{F: histories.Pause, Targets: []string{"worker-0"}, Step: histories.StepWork},
		bites: func(ctx context.Context, s *scene, _ time.Duration) {
			still := s.Now() + 30*time.Millisecond // one request may be under way
			s.await(ctx, "renewals", still, tick(0))
			_ = s.Sleep(ctx, 100*time.Millisecond)
			if n := len(s.record.find(still, func(e histories.Event) bool { return e.Process == 0 && e.Op > 0 })); n > 0 {
				s.Errorf("%d events of work that stands still", n)
			}
		},
		end: histories.Fault{F: histories.Resume, Targets: []string{"worker-0"}, Step: histories.StepWork},
	},
	{
		name:  "the reply to a grant gets lost",
		fault: histories.Fault{F: histories.Loss, Targets: []string{"worker-0"}, Step: histories.Acquire},
		bites: func(ctx context.Context, s *scene, at time.Duration) {
			lost := s.await(ctx, "time-out", at, func(e histories.Event) bool { return e.Process == 0 && e.Type == histories.Info && e.Op > 0 })
			if n := len(s.record.find(at, func(e histories.Event) bool { return e.Op == lost.Op && e.F == histories.Acquire })); n == 0 {
				s.Errorf("a %s timed out, and no acquire", lost.F)
			}
			s.await(ctx, "the event of the loss", at, of(histories.Loss, histories.Info))
		},
		end: histories.Fault{F: histories.Heal},
	},
	{
		name:  "the connections of a worker are ended",
		fault: histories.Fault{F: histories.Kill, Targets: []string{"locks"}, To: []string{"worker-0"}, Mode: "connection"},
		end:   histories.Fault{F: histories.Heal},
	},
	{
		name:  "a step takes longer",
		fault: histories.Fault{F: histories.Delay, Targets: []string{"worker-0"}, Step: "before-release", For: 300 * time.Millisecond},
		bites: func(ctx context.Context, s *scene, at time.Duration) {
			grant := s.await(ctx, "grant", s.Now(), func(e histories.Event) bool { return e.Process == 0 && of(histories.Acquire, histories.OK)(e) })
			release := s.await(ctx, "release", time.Duration(grant.Time), func(e histories.Event) bool { return e.Op == grant.Op && e.F == histories.Release })
			if held := time.Duration(release.Time - grant.Time); held < 300*time.Millisecond {
				s.Errorf("held for %s only", held)
			}
		},
		end: histories.Fault{F: histories.Heal},
	},
	{
		name:  "a worker crashes between two steps",
		fault: histories.Fault{F: histories.Crash, Targets: []string{"worker-0"}, Step: "before-release"},
		bites: func(ctx context.Context, s *scene, at time.Duration) {
			kill := s.await(ctx, "kill", at, of(histories.Kill, histories.Info))
			after := s.record.find(time.Duration(kill.Time), func(e histories.Event) bool { return e.Process == 0 })
			if len(after) > 0 {
				s.Errorf("after its death: %+v", after)
			}
		},
		end: histories.Fault{F: histories.Start, Targets: []string{"worker-0"}},
	},
	{
		name:  "memory pressure throws keys away",
		fault: histories.Fault{F: histories.Evict, Targets: []string{"redis-1"}},
		end:   histories.Fault{F: histories.Heal},
	},
}

func TestFaultsBiteAndHeal(t *testing.T) {
	play(t, cluster.Options{Topology: env.Topology{Lock: env.Single}, Workers: 2, CallTimeout: 250 * time.Millisecond}, quick,
		func(ctx context.Context, s *scene) {
			for _, c := range faultCases {
				t.Run(c.name, func(t *testing.T) {
					s := *s
					s.T = t
					s.grant(ctx)
					if _, err := s.Env().Lock[0].Do(ctx, "SET", "hour", "x", "PX", time.Hour.Milliseconds()-1000); err != nil {
						t.Fatal(err)
					}
					at := s.Now()
					s.must(ctx, c.fault)
					if c.bites != nil {
						c.bites(ctx, &s, at)
					}
					if k, _ := c.fault.Kind(); k.Ends != "" || c.end.F != histories.Heal {
						s.must(ctx, c.end)
					} else if _, err := s.Inject(ctx, c.end); err != nil { // there may be nothing to heal
						t.Error(err)
					}
					if err := s.Healthy(ctx, 10*time.Second); err != nil {
						t.Error(err)
					}
					healed := s.Now()
					for w := range 2 {
						s.await(ctx, "work goes on", healed, func(e histories.Event) bool {
							return int(e.Process) == w && e.F == histories.Acquire && e.Type == histories.OK
						})
						s.await(ctx, "ticks go on", healed, tick(w))
					}
				})
			}
		})
}

// Where injection is disabled, there is nothing to prove: proofs are what was
// seen, not what was done.
func TestInertFaultsHaveNoProof(t *testing.T) {
	needEngine(t).Inert = true
	defer func() { shared.Inert = false }()
	play(t, cluster.Options{Topology: env.Topology{Lock: env.Sentinel}, Workers: 2}, quick,
		func(ctx context.Context, s *scene) {
			s.grant(ctx)
			faults := []histories.Fault{
				{F: histories.Partition, From: []string{"master"}, To: []string{"replicas"}},
				{F: histories.Loss, From: []string{"master"}, To: []string{"replicas"}, Rate: 0.3},
				{F: histories.Failover, Targets: []string{"master"}},
				{F: histories.Kill, Targets: []string{"worker-0"}},
			}
			for _, c := range faultCases {
				faults = append(faults, c.fault)
			}
			for _, f := range faults {
				e, err := s.Inject(ctx, f)
				if err != nil || e.Proof != "" {
					t.Errorf("%s of %v%v without injection: proof %q, error %v", f.F, f.Targets, f.From, e.Proof, err)
				}
			}
			s.grant(ctx)
		})
}

func TestFaultsThatCannotBeHadAreRefused(t *testing.T) {
	play(t, cluster.Options{Topology: env.Topology{Lock: env.Single}, Workers: 1}, quick,
		func(ctx context.Context, s *scene) {
			for _, f := range []histories.Fault{
				{F: histories.Failover, Targets: []string{"master"}},
				{F: histories.Kill, Targets: []string{"replicas"}},
				{F: histories.Kill, Targets: []string{"sentinels"}},
				{F: histories.Kill, Targets: []string{"sql"}},
				{F: histories.Kill, Targets: []string{"redis-7"}},
				{F: histories.Kill, Targets: []string{"worker-7"}},
				{F: histories.Partition, From: []string{"workers"}, To: []string{"workers"}},
				{F: histories.Delay, Targets: []string{"redis-1"}, For: time.Second},
				{F: "flood", Targets: []string{"redis-1"}},
			} {
				if e, err := s.Inject(ctx, f); !errors.Is(err, cluster.ErrUnavailable) {
					t.Errorf("%s %v: %+v, %v; want %v", f.F, f.Targets, e, err, cluster.ErrUnavailable)
				}
			}
		})
}

// Cuts and losses between servers are made at the receiver.
func TestServersAreCutOffFromEachOther(t *testing.T) {
	play(t, cluster.Options{Topology: env.Topology{Lock: env.Sentinel}, Workers: 2}, quick,
		func(ctx context.Context, s *scene) {
			s.must(ctx, histories.Fault{F: histories.Loss, From: []string{"master"}, To: []string{"replicas"}, Rate: 0.3})
			s.must(ctx, histories.Fault{F: histories.Heal})
			s.must(ctx, histories.Fault{F: histories.Partition, From: []string{"master"}, To: []string{"redis-2"}, OneWay: true})
			e := s.Env()
			if _, err := e.Lock[0].Do(ctx, "SET", "k", "v"); err != nil {
				t.Error(err)
			}
			err := e.Lock[0].Pinned(ctx, func(r env.Redis) error {
				if _, err := r.Do(ctx, "SET", "k", "w"); err != nil {
					return err
				}
				n, err := r.Do(ctx, "WAIT", 2, 300)
				if n != int64(1) {
					t.Errorf("%v replicas have it, want 1", n)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			s.must(ctx, histories.Fault{F: histories.Heal})
			if err := s.Healthy(ctx, 20*time.Second); err != nil {
				t.Error(err)
			}
		})
}
