package lock

import (
	"context"
	"strconv"

	"github.com/lockcheck/lockcheck/workload/env"
)

// AsyncFailover is a known-bad lock for replicated servers: it sends WAIT
// after SET NX, as WaitLock does, and does not look at how many replicas
// acknowledged. (Redisson had it so for years.)
//
// It looks safe and is RedisLock: a master that dies with the only copy of
// the key takes the lock with it.
type AsyncFailover struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*AsyncFailover)(nil)

// NewAsyncFailover uses TTL, Retries, RetryDelay, Jitter, Acks and AckWait.
func NewAsyncFailover(e *env.Env, o Options) env.Lock { return &AsyncFailover{e, o} }

// Acquire implements env.Lock.
func (l *AsyncFailover) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &plainLease{l.e, "lock:{" + key + "}", token(l.e)}
	err := counted(ctx, l.e, l.o, func() (ok bool, err error) {
		err = l.e.Lock[0].Pinned(ctx, func(r env.Redis) error {
			ok, err = setIfMissing(ctx, r, lease.key, lease.token, l.o.TTL)
			if ok {
				// The mistake: neither the count nor an error is looked at.
				_, _ = r.Do(ctx, "WAIT", strconv.Itoa(l.o.Acks), milliseconds(l.o.AckWait))
			}
			return err
		})
		return ok, err
	})
	return lease, err
}
