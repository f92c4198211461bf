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

// quarantineOnce bears a server that comes back empty: the worker that finds it so lets a whole
// lease pass before anybody gets a lock. A worker that has just waited for that
// does not wait again. The server must go twice within five leases, under a grant of
// the time between.
var quarantineOnce = Needle{
	Name:     "quarantine-once",
	Mistake:  "a server that comes back empty twice within five leases is waited for once",
	Rate:     1.9e-3, // 4 of 2116 runs, seeds as in BenchmarkSearches
	Property: checker.DoubleHold, Meets: true, Nemesis: "kill", Variant: "kill-process", Interval: 4 * time.Second, kind: env.Single,
	defaults: workload.Spec{
		TTL: 1500 * time.Millisecond, Workers: 3, SKUs: 2, Grace: 3 * time.Second, TimeLimit: 14 * time.Second, Wait: 500 * time.Millisecond,
		Work: "1ms-20ms,2%:70%ttl-95%ttl", Think: "100ms-300ms",
	},
	spec: histories.LockSpec{Deadline: true},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock {
			return &quarantined{e: e, o: o, mistaken: mistaken, waited: -time.Hour}
		}
	},
}

type quarantined struct {
	e        *env.Env
	o        lock.Options
	mistaken bool
	waited   time.Duration // when this worker last waited for a lease to pass
}

// openScript sets the lock on a server that knows its epoch: 1 set, 0 busy, -1 the
// server is empty.
var openScript = env.NewScript("open", `
if redis.call("EXISTS", KEYS[2]) == 0 then return -1 end
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
return 0`)

func (l *quarantined) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := newLease(l.e, key)
	err := polled(ctx, l.e, l.o, func() (bool, error) {
		s.until = l.e.Clock.Now() + l.o.TTL
		n, err := l.e.Lock[0].Eval(ctx, openScript, []string{s.key, "epoch"}, s.token, l.o.TTL.Milliseconds())
		if err == nil && n == int64(-1) {
			return false, l.quarantine(ctx)
		}
		return n == int64(1), err
	})
	return s, err
}

// quarantine lets a lease pass, then opens the server. One that restarts meanwhile loses
// the mark of who waits, and is not opened.
func (l *quarantined) quarantine(ctx context.Context) error {
	mark := token(l.e)
	if _, err := l.e.Lock[0].Do(ctx, "SET", "waits:"+mark, "1"); err != nil {
		return env.ErrBusy
	}
	again := l.e.Clock.Now()-l.waited < 5*l.o.TTL
	if !again || !l.mistaken {
		if l.e.Clock.Sleep(ctx, l.o.TTL) != nil {
			return env.ErrBusy
		}
	}
	l.waited = l.e.Clock.Now()
	_, _ = l.e.Lock[0].Eval(ctx, epochScript, []string{"waits:" + mark, "epoch"})
	return nil
}

var epochScript = env.NewScript("epoch",
	`if redis.call("EXISTS", KEYS[1]) == 1 then return redis.call("SET", KEYS[2], "1") end return 0`)
