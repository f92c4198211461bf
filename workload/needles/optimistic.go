package needles

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// optimisticRenewal moves its deadline when a single renewal is not answered: one lost
// reply, its author reckoned, does not mean that the server has not heard. It breaks where
// a holder is cut off in the middle of a long hold, for nearly as long as its lease.
var optimisticRenewal = Needle{
	Name:     "optimistic-renewal",
	Mistake:  "one renewal without an answer is taken for a renewal",
	Rate:     6.8e-4, // 2 of 2952 runs, seeds as in BenchmarkSearches
	Property: checker.DoubleHold, Meets: true, Nemesis: "partition", Variant: "clients-off", Interval: 3500 * time.Millisecond, kind: env.Single,
	renews: true,
	defaults: workload.Spec{
		TTL: 2 * time.Second, Renew: 600 * time.Millisecond, SKUs: 2, TimeLimit: 9 * time.Second,
		Work: "1ms-20ms,0.01%:130%ttl-180%ttl", Think: "100ms-300ms",
	},
	spec: histories.LockSpec{Deadline: true},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock { return &hopeful{e, o, mistaken} }
	},
}

type hopeful struct {
	e        *env.Env
	o        lock.Options
	mistaken bool
}

// extended is a lease whose deadline a task moves.
type extended struct {
	plain
	end      atomic.Int64 // ns
	released atomic.Bool
	stop     func()
}

func (s *extended) Until() time.Duration { return time.Duration(s.end.Load()) }

func (s *extended) Release(ctx context.Context) error {
	s.released.Store(true)
	if s.stop != nil {
		s.stop()
	}
	return s.plain.Release(ctx)
}

func (l *hopeful) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := &extended{plain: plain{l.e, key, "lock:" + key, token(l.e)}}
	err := polled(ctx, l.e, l.o, func() (bool, error) {
		s.end.Store(int64(l.e.Clock.Now() + l.o.TTL))
		return set(ctx, l.e.Lock[0], s.key, s.value, l.o.TTL)
	})
	if err == nil {
		silent := 0
		s.stop = l.e.Clock.Every(ctx, l.o.Renew, func(ctx context.Context) bool { return l.renew(ctx, s, &silent) })
	}
	return s, err
}

func (l *hopeful) renew(ctx context.Context, s *extended, silent *int) bool {
	if l.e.Step(ctx, "renewal") != nil || s.released.Load() {
		return false
	}
	until := l.e.Clock.Now() + l.o.TTL
	end := l.e.Extending(s.name, s.value)
	err := ifMine(ctx, l.e.Lock[0], renewScript, s.key, s.value, l.o.TTL.Milliseconds())
	if env.Unknown(err) {
		*silent++
	} else {
		*silent = 0
	}
	if err == nil || l.mistaken && *silent == 1 {
		s.end.Store(int64(until))
		err = nil
	}
	end(until, err)
	return !s.released.Load() && err != env.ErrNotOwner
}
