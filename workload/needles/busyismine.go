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

// busyIsMine asks again when a request is not answered, and takes "busy" after the
// second such silence for its own earlier request that has acted. It breaks where
// both replies were lost and another has the lock.
var busyIsMine = Needle{
	Name:     "busy-is-mine",
	Mistake:  "\"busy\" after two requests without an answer is taken for a grant",
	Rate:     4.4e-3, // 7 of 1610 runs, seeds as in BenchmarkSearches
	Property: checker.DoubleHold, Meets: true, Nemesis: "loss", Variant: "lost-replies", Interval: 3 * time.Second, kind: env.Single,
	defaults: workload.Spec{Work: "1ms-20ms,0.3%:75%ttl-95%ttl", Think: "300ms-800ms", SKUs: 6, Wait: 4 * time.Second},
	spec:     histories.LockSpec{Deadline: true},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock { return &claiming{e, o, mistaken} }
	},
}

type claiming struct {
	e        *env.Env
	o        lock.Options
	mistaken bool
}

func (l *claiming) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := newLease(l.e, key)
	silent := 0
	var last error
	err := polled(ctx, l.e, l.o, func() (bool, error) {
		if silent == 0 {
			s.until = l.e.Clock.Now() + l.o.TTL
		}
		ok, err := set(ctx, l.e.Lock[0], s.key, s.token, l.o.TTL)
		switch {
		case env.Unknown(err):
			last = err
			if silent++; silent < 3 {
				return false, nil
			}
			return false, err
		case ok || err != nil || silent == 0:
			return ok, err
		}
		return l.mine(ctx, s, silent, last)
	})
	if err != nil && silent > 0 {
		err = last // an earlier request may have acted
	}
	return s, err
}

// mine decides whether a busy lock is this worker's own, after requests without
// an answer.
func (l *claiming) mine(ctx context.Context, s *lease, silent int, last error) (bool, error) {
	if l.mistaken && silent == 2 {
		return true, nil
	}
	value, err := l.e.Lock[0].Do(ctx, "GET", s.key)
	if err != nil {
		return false, last
	}
	return value == s.token, nil
}
