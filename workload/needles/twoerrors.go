package needles

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// twoErrors is a watchdog that bears one error and gives notice at the third; at
// exactly two in a row it ends without a word. The lease then runs out under a worker
// that goes on for long enough.
var twoErrors = Needle{
	Name:     "two-errors",
	Mistake:  "the watchdog stops without notice after two errors in a row",
	Rate:     1.2e-3, // 3 of 2583 runs, seeds as in BenchmarkSearches
	Property: checker.DoubleHold, Meets: true, Nemesis: "loss", Variant: "lost-replies", Interval: 4 * time.Second, kind: env.Single,
	renews: true,
	defaults: workload.Spec{
		TTL: 4 * time.Second, Renew: 800 * time.Millisecond, TimeLimit: 14 * time.Second, SKUs: 2,
		Work: "1ms-20ms,0.05%:110%ttl-170%ttl", Think: "100ms-300ms",
	},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock { return &watching{e, o, mistaken} }
	},
}

// watching is a watchdog. Without a mistake it gives notice when a renewal is
// refused, or when none was confirmed for most of a lease.
type watching struct {
	e         *env.Env
	o         lock.Options
	twoErrors bool // the mistake of twoErrors
}

// margin is what a watchdog keeps between its notice and the end of the lease.
const margin = 50 * time.Millisecond

func (l *watching) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := &renewed{plain: plain{l.e, key, "lock:" + key, token(l.e)}}
	var sent time.Duration
	err := polled(ctx, l.e, l.o, func() (bool, error) {
		sent = l.e.Clock.Now()
		return set(ctx, l.e.Lock[0], s.key, s.value, l.o.TTL)
	})
	if err != nil {
		return s, err
	}
	errors := 0
	s.stop = l.e.Clock.Every(ctx, l.o.Renew, func(ctx context.Context) bool {
		if l.e.Step(ctx, "renewal") != nil || s.released.Load() {
			return false
		}
		begun := l.e.Clock.Now()
		err := s.renew(ctx, l.o.TTL)
		if s.released.Load() {
			return false
		}
		if err == nil {
			sent, errors = begun, 0
			return true
		}
		errors++
		age := l.e.Clock.Now() - sent
		switch {
		case l.twoErrors && errors == 2:
			return false
		case certain(err) || age+l.o.Renew+time.Second+margin >= l.o.TTL:
			s.giveUp()
			return false
		}
		return true
	})
	return s, nil
}
