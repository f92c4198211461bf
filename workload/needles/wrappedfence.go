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

// wrappedFence counts its fencing token up to 123. It takes 124 grants of one
// key to begin again at 0.
var wrappedFence = Needle{
	Name:     "wrapped-fence",
	Mistake:  "the fencing token begins again at 0 after 124 grants",
	Rate:     3.6e-4, // 1 of 2801 runs, seeds as in BenchmarkSearches
	Property: checker.FenceRegression, Nemesis: "none", kind: env.Single,
	defaults: workload.Spec{SKUs: 2, Think: "60ms-100ms", Work: "1ms-10ms", TimeLimit: 6200 * time.Millisecond},
	spec:     histories.LockSpec{Deadline: true, Fenced: true},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock { return &wrapping{e, o, mistaken} }
	},
}

type wrapping struct {
	e        *env.Env
	o        lock.Options
	mistaken bool
}

// numbered is a lease with a fencing token.
type numbered struct {
	*lease
	fence int64
}

func (s *numbered) Fence() int64 { return s.fence }

var numberScript = env.NewScript("number",
	`if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("INCR", KEYS[2]) end return 0`)

func (l *wrapping) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := &numbered{lease: newLease(l.e, key)}
	err := polled(ctx, l.e, l.o, func() (bool, error) {
		s.until = l.e.Clock.Now() + l.o.TTL
		n, err := l.e.Lock[0].Eval(ctx, numberScript, []string{s.key, "fence:" + key}, s.token, l.o.TTL.Milliseconds())
		s.fence, _ = n.(int64)
		return s.fence > 0, err
	})
	if l.mistaken {
		s.fence %= 124
	}
	return s, err
}
