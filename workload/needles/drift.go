package needles

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// driftAfterRetry takes a share of the TTL off its deadline for clocks that run
// apart, but only where the lock was free at once. The server's clock must run fast, a
// worker that had to wait must work to the very end of its lease, and another must
// ask in the last moments of it.
var driftAfterRetry = Needle{
	Name:     "drift-after-retry",
	Mistake:  "the allowance for clock drift is forgotten where the lock was busy at first",
	Rate:     2.8e-3, // 6 of 2112 runs, seeds as in BenchmarkSearches
	Property: checker.DoubleHold, Nemesis: "clock", Variant: "drift", Interval: 3 * time.Second, kind: env.Single,
	defaults: workload.Spec{
		TTL: time.Second, SKUs: 2, Drift: 0.06, RetryDelay: 20 * time.Millisecond, TimeLimit: 9 * time.Second,
		Work: "1ms-20ms,0.05%:97%ttl-103%ttl", Think: "100ms-300ms",
	},
	spec: histories.LockSpec{Deadline: true},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock { return &drifting{e, o, mistaken} }
	},
}

type drifting struct {
	e        *env.Env
	o        lock.Options
	mistaken bool
}

func (l *drifting) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := newLease(l.e, key)
	tries := 0
	err := polled(ctx, l.e, l.o, func() (bool, error) {
		s.until = l.e.Clock.Now() + l.o.TTL
		if tries++; tries == 1 || !l.mistaken {
			s.until -= time.Duration(l.o.Drift * float64(l.o.TTL))
		}
		return set(ctx, l.e.Lock[0], s.key, s.token, l.o.TTL)
	})
	return s, err
}
