package lock

import (
	"context"
	"errors"

	"github.com/lockcheck/lockcheck/workload/env"
)

// RenewForever is a known-bad lock with a watchdog that nobody stops: it goes
// on until a renewal is refused, and the release leaves it to that. Reported
// for clients of DynamoDB's lock, and for Redisson.
//
//	A  acquire ── renew ── release (does not arrive) ── renew ── renew ── …
//	B                        refused ── refused ── refused ── …
//
// It promises one holder per key for as long as the work takes. It breaks when
// a release is lost on its way: the lease that nobody uses any more is renewed
// for as long as the process lives.
type RenewForever struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*RenewForever)(nil)

// NewRenewForever uses TTL, Renew, Retries, RetryDelay and Jitter.
func NewRenewForever(e *env.Env, o Options) env.Lock { return &RenewForever{e, o} }

// Acquire implements env.Lock.
func (l *RenewForever) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &plainLease{l.e, "lock:" + key, token(l.e)}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		return setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
	})
	if err == nil {
		l.e.Clock.Every(ctx, l.o.Renew, func(ctx context.Context) bool {
			return l.e.Step(ctx, "renewal") == nil && l.renew(ctx, key, lease)
		})
	}
	return lease, err
}

func (l *RenewForever) renew(ctx context.Context, key string, lease *plainLease) (again bool) {
	end := l.e.Extending(key, lease.token)
	err := renewIfMine(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
	end(0, err)
	return !errors.Is(err, env.ErrNotOwner)
}
