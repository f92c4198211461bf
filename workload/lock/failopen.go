package lock

import (
	"context"
	"errors"

	"github.com/lockcheck/lockcheck/workload/env"
)

// FailOpen is a known-bad lock: when Redis does not answer it makes a lock
// up and goes on, because a sale without a lock seems better than no sale.
//
// It breaks when workers are cut off from the lock's server: they all believe
// that they hold, beside each other and beside whoever really does. A request
// that timed out may even have taken the lock for nobody.
type FailOpen struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*FailOpen)(nil)

// NewFailOpen uses TTL, Retries, RetryDelay and Jitter.
func NewFailOpen(e *env.Env, o Options) env.Lock { return &FailOpen{e, o} }

// Acquire implements env.Lock.
func (l *FailOpen) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &plainLease{l.e, "lock:" + key, token(l.e)}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		return setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
	})
	if err != nil && !errors.Is(err, env.ErrBusy) {
		return madeUp(lease.token), nil
	}
	return lease, err
}

// madeUp is a lease that no server knows.
type madeUp string

func (m madeUp) Token() string { return "made-up-" + string(m) }

func (m madeUp) Release(context.Context) error { return nil }
