package lock

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// StockLockBackoff is StockLock as the second article would have it retried
// on a busy day: the delay doubles with each try and half of it is drawn at
// random, so that waiting clients neither hammer the server nor come back all
// at once. (The article fears that an expired key lingers until the server's
// periodic sweep; Redis in fact expires a key when it is looked at, so the
// back-off saves requests, not time.)
//
// It promises and breaks as StockLock does.
type StockLockBackoff struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*StockLockBackoff)(nil)

// NewStockLockBackoff uses TTL, RetryDelay (the first), Jitter (none: no
// randomness) and Wait.
func NewStockLockBackoff(e *env.Env, o Options) env.Lock { return &StockLockBackoff{e, o} }

// longestDelay bounds the doubling.
const longestDelay = 200 * time.Millisecond

// Acquire implements env.Lock.
func (l *StockLockBackoff) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &plainLease{l.e, "stock:lock:" + key, token(l.e)}
	end := l.e.Clock.Now() + l.o.Wait
	for delay := l.o.RetryDelay; ; delay = min(2*delay, longestDelay) {
		ok, err := setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
		if ok || err != nil {
			return lease, err
		}
		if l.e.Clock.Now() >= end {
			return lease, env.ErrBusy
		}
		if err := pause(ctx, l.e, delay/2, min(l.o.Jitter, delay/2)); err != nil {
			return lease, err
		}
	}
}
