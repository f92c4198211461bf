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

// stealsAfterThree waits three times for a random while, and then takes the lock
// from whichever worker has it: by then, its author reckoned, a lease must be over. The waits last
// three leases on average, and are shorter than one lease together only if all three
// are short. Nothing rare is seen before.
var stealsAfterThree = Needle{
	Name:     "steals-after-three",
	Mistake:  "after three random waits it takes the lock without looking whether it is free",
	Rate:     2.4e-3, // 6 of 2448 runs, seeds as in BenchmarkSearches
	Property: checker.DoubleHold, Nemesis: "none", kind: env.Single,
	defaults: workload.Spec{
		TTL: time.Second, TimeLimit: 8 * time.Second, RetryDelay: time.Millisecond, Jitter: 4 * time.Second,
		Work: "1ms-20ms,0.1%:80%ttl-95%ttl",
	},
	spec: histories.LockSpec{Deadline: true},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock { return &stealing{e, o, mistaken} }
	},
}

type stealing struct {
	e        *env.Env
	o        lock.Options
	mistaken bool
}

func (l *stealing) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := newLease(l.e, key)
	for try := 0; ; try++ {
		s.until = l.e.Clock.Now() + l.o.TTL
		if try == 3 && l.mistaken {
			_, err := l.e.Lock[0].Do(ctx, "SET", s.key, s.token, "PX", l.o.TTL.Milliseconds())
			return s, err
		}
		ok, err := set(ctx, l.e.Lock[0], s.key, s.token, l.o.TTL)
		switch {
		case ok || err != nil:
			return s, err
		case try == 3:
			return s, env.ErrBusy
		}
		pause := l.o.RetryDelay + time.Duration(l.e.Rand.Int64N(int64(l.o.Jitter)))
		if l.e.Clock.Sleep(ctx, pause) != nil {
			return s, env.ErrBusy
		}
	}
}
