package needles

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// deadSession has a session for each worker, a key with a TTL that a task renews.
// A worker whose session is alive keeps its locks. A waiter that gets the lock does not look
// whether its own session is: after a cut it may have ended, until the next
// renewal opens it again, and until then the next waiter walks in.
var deadSession = Needle{
	Name:     "dead-session",
	Mistake:  "a waiter does not look whether its own session is still alive",
	Rate:     7.8e-3, // 7 of 889 runs, seeds as in BenchmarkSearches
	Property: checker.DoubleHold, Meets: true, Nemesis: "partition", Variant: "clients-off", Interval: 3500 * time.Millisecond, kind: env.Single,
	renews: true,
	defaults: workload.Spec{
		TTL: 1500 * time.Millisecond, Renew: 500 * time.Millisecond, SKUs: 6, Grace: 4 * time.Second, Work: "1ms-20ms,0.01%:10%ttl-50%ttl", Think: "200ms-500ms", TimeLimit: 9 * time.Second,
	},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock {
			return &sessions{e: e, o: o, mistaken: mistaken, id: token(e)}
		}
	},
}

type sessions struct {
	e        *env.Env
	o        lock.Options
	mistaken bool
	id       string
	open     bool
	current  *renewed // the lease in use; nil: none
}

// takeScript takes a lock that is free, or whose session has ended. With a third key it
// also wants the taker's own session to be alive, and answers -1 if it is not.
var takeScript = env.NewScript("take", `
if KEYS[3] and redis.call("EXISTS", KEYS[3]) == 0 then return -1 end
local owner = redis.call("GET", KEYS[1])
if owner and redis.call("EXISTS", "session:" .. string.match(owner, "^[^/]+")) == 1 then return 0 end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1`)

// longest is how long a lock stays that nobody takes over, in sessions.
const longest = 2

func (l *sessions) Acquire(ctx context.Context, key string) (env.Lease, error) {
	if !l.open {
		l.open = true
		_ = l.alive(ctx)
		l.e.Clock.Every(ctx, l.o.Renew, l.renew)
	}
	s := &renewed{plain: plain{l.e, key, "lock:" + key, l.id + "/" + token(l.e)}}
	err := polled(ctx, l.e, l.o, func() (bool, error) {
		keys := []string{s.key, "lock:" + key}
		if !l.mistaken {
			keys = append(keys, "session:"+l.id)
		}
		n, err := l.e.Lock[0].Eval(ctx, takeScript, keys, s.value, (longest * l.o.TTL).Milliseconds())
		if err == nil && n == int64(-1) {
			_ = l.alive(ctx)
		}
		return n == int64(1), err
	})
	if err == nil {
		l.current = s
	}
	s.stop = func() { l.current = nil }
	return s, err
}

func (l *sessions) alive(ctx context.Context) error {
	_, err := l.e.Lock[0].Do(ctx, "SET", "session:"+l.id, "1", "PX", l.o.TTL.Milliseconds())
	return err
}

// renew keeps the session alive. A worker whose renewal fails gives its lock up.
func (l *sessions) renew(ctx context.Context) bool {
	if l.alive(ctx) != nil && l.current != nil {
		l.current.giveUp()
	}
	return true
}
