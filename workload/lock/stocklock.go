package lock

import (
	"context"

	"github.com/lockcheck/lockcheck/workload/env"
)

// StockLock is the lease lock of the second article: SET NX PX with a fresh
// random token per acquire, a retry every 5 ms for at most 100 ms, release by
// comparing and deleting in one Lua script.
//
// (The article's acquire calls itself to retry and starts its stopwatch anew
// each time, so that it would in fact never give up; its text promises the
// 100 ms, and that is what is built here.)
//
// It promises and breaks as RedisLock does, but for the late release: the
// token is per acquire, so a release that lands late finds another value. Its
// TTL of 3 s is meant to be "wide enough" and its short patience gives busy
// answers where others wait.
type StockLock struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*StockLock)(nil)

// NewStockLock uses TTL, RetryDelay and Wait.
func NewStockLock(e *env.Env, o Options) env.Lock { return &StockLock{e, o} }

// Acquire implements env.Lock.
func (l *StockLock) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &plainLease{l.e, "stock:lock:" + key, token(l.e)}
	err := polled(ctx, l.e, l.o, func() (bool, error) {
		return setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
	})
	return lease, err
}
