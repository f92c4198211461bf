package needles

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// forcedRelease sends a release without an answer again, and the third time without
// the comparison, so that nothing stays locked. It breaks where two replies in a row are
// lost and the next customer is in by then.
var forcedRelease = Needle{
	Name:     "forced-release",
	Mistake:  "the third try of a release deletes the key without comparing",
	Rate:     7.2e-4, // 2 of 2770 runs, seeds as in BenchmarkSearches
	Property: checker.DoubleHold, Meets: true, Nemesis: "loss", Variant: "lost-replies", Interval: 3 * time.Second, kind: env.Single,
	defaults: workload.Spec{SKUs: 3, Work: "1ms-20ms,0.7%:40%ttl-80%ttl", Think: "100ms-300ms"},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock { return &forcing{e, o, mistaken} }
	},
}

type forcing struct {
	e        *env.Env
	o        lock.Options
	mistaken bool
}

func (l *forcing) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := &forced{plain{l.e, key, "lock:" + key, token(l.e)}, l.mistaken}
	return s, polled(ctx, l.e, l.o, func() (bool, error) { return set(ctx, l.e.Lock[0], s.key, s.value, l.o.TTL) })
}

type forced struct {
	plain
	mistaken bool
}

func (s *forced) Release(ctx context.Context) (err error) {
	for try := range 3 {
		if try == 2 && s.mistaken {
			_, err = s.e.Lock[0].Do(ctx, "DEL", s.key)
			return err
		}
		if err = s.plain.Release(ctx); certain(err) {
			break
		}
	}
	return err
}
