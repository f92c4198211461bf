package lock

import (
	"context"

	"github.com/lockcheck/lockcheck/workload/env"
)

// WrongKey is a known-bad lock: its connection has a prefix for keys, which the
// acquire adds and the release forgets. Reported for .NET's DistributedLock.
//
//	A  SET app:lock:k ── works ── release: looks at lock:k, finds nothing
//	B                                refused ── … ── TTL ends ── acquire
//
// It promises what RedisLock does, and two never hold it at once. It breaks
// without any fault: no release ever acts, every lock lasts until its TTL, and
// hardly anybody buys.
type WrongKey struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*WrongKey)(nil)

// NewWrongKey uses TTL, Retries, RetryDelay and Jitter.
func NewWrongKey(e *env.Env, o Options) env.Lock { return &WrongKey{e, o} }

// Acquire implements env.Lock.
func (l *WrongKey) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &plainLease{l.e, "lock:" + key, token(l.e)}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		return setIfMissing(ctx, l.e.Lock[0], "app:"+lease.key, lease.token, l.o.TTL)
	})
	return lease, err
}
