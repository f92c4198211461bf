package lock

import (
	"context"
	"fmt"

	"github.com/lockcheck/lockcheck/workload/env"
)

// SetnxExpire is a known-bad lock: SETNX and EXPIRE are two commands. Seen in
// many libraries before SET had options, and still written today.
//
//	A  SETNX ── dies
//	B           busy … busy … busy, forever
//
// It breaks when a worker dies, or loses its connection, between the two: the
// key has no TTL and nobody ever gets the lock again.
type SetnxExpire struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*SetnxExpire)(nil)

// NewSetnxExpire uses TTL, Retries, RetryDelay and Jitter.
func NewSetnxExpire(e *env.Env, o Options) env.Lock { return &SetnxExpire{e, o} }

// Acquire implements env.Lock.
func (l *SetnxExpire) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &plainLease{l.e, "lock:" + key, token(l.e)}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		set, err := l.e.Lock[0].Do(ctx, "SETNX", lease.key, lease.token)
		if err != nil || set != int64(1) {
			return false, err
		}
		if err := l.e.Step(ctx, "before-expire"); err != nil {
			return false, fmt.Errorf("%w: %v", env.ErrDoubt, err)
		}
		if _, err := l.e.Lock[0].Do(ctx, "PEXPIRE", lease.key, milliseconds(l.o.TTL)); err != nil {
			return false, fmt.Errorf("%w: %v", env.ErrDoubt, err)
		}
		return true, nil
	})
	return lease, err
}
