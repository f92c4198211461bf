package lock

import (
	"context"
	"fmt"

	"github.com/lockcheck/lockcheck/workload/env"
)

// SpinLock is the coroutine lock of the first article: SET NX with a TTL,
// polled every 10 ms up to a time limit. The coroutines of one process queue
// up first, so that only one of them polls the server for a key.
//
// It promises and breaks as StockLock does. The queue makes waiting cheap
// and fair inside a process; it protects nothing, for other processes know
// nothing of it, and it is left as soon as the lock is acquired, so that a
// coroutine that never releases costs the others a TTL and no more.
type SpinLock struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*SpinLock)(nil)

// NewSpinLock uses TTL, RetryDelay and Wait.
func NewSpinLock(e *env.Env, o Options) env.Lock { return &SpinLock{e, o} }

// Acquire implements env.Lock.
func (l *SpinLock) Acquire(ctx context.Context, key string) (env.Lease, error) {
	o := l.o
	start := l.e.Clock.Now()
	leave, ok, err := l.e.Local.Enter(ctx, key, o.Wait)
	if err != nil || !ok {
		return nil, fmt.Errorf("%w: others of this process wait", env.ErrBusy)
	}
	defer leave()
	o.Wait -= l.e.Clock.Now() - start
	owner := fmt.Sprintf("%s:%d:%s", l.e.Hostname, l.e.Worker, token(l.e))
	lease := &plainLease{l.e, "swoole_lock:" + key, owner}
	err = polled(ctx, l.e, o, func() (bool, error) {
		return setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, o.TTL)
	})
	return lease, err
}
