package needles

import (
	"context"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// shortToken draws its token from two thousand values: a holder that is late
// releases the lock of the next one if that drew the same.
var shortToken = Needle{
	Name:     "short-token",
	Mistake:  "the token that tells owners apart is one of 2048 values",
	Rate:     2.9e-3, // 6 of 2052 runs, seeds as in BenchmarkSearches
	Property: checker.ForeignRelease, Nemesis: "pause", Variant: "pause-holder", Interval: time.Second, kind: env.Single,
	defaults: workload.Spec{
		TTL: time.Second, SKUs: 1, RetryDelay: 10 * time.Millisecond, Wait: 2 * time.Second,
		Work: "1ms-20ms,20%:65%ttl-85%ttl",
	},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock { return &short{e, o, mistaken} }
	},
}

type short struct {
	e        *env.Env
	o        lock.Options
	mistaken bool
}

func (l *short) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := &plain{l.e, key, "lock:" + key, token(l.e)}
	if l.mistaken {
		s.value = strconv.Itoa(l.e.Rand.IntN(2048))
	}
	return s, polled(ctx, l.e, l.o, func() (bool, error) { return set(ctx, l.e.Lock[0], s.key, s.value, l.o.TTL) })
}
