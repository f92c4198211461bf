package lock

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// RedlockForgetful is a known-bad Redlock, made of two mistakes found in
// client libraries and set-ups: the share for clock drift is added to the
// deadline instead of taken off, and the time that acquiring took is not taken
// off at all; and its servers keep nothing, so that one that restarts within
// a TTL grants again what it had granted.
//
//	servers  [──── TTL ────)              B
//	A        [──────────── believes ──────┼──)
//	B                      acquire [══════╪════
//
// It breaks without any fault as soon as a lease ends by itself while someone
// waits for it, by about the drift.
type RedlockForgetful struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*RedlockForgetful)(nil)

// NewRedlockForgetful uses TTL, Drift, Retries, RetryDelay and Jitter.
func NewRedlockForgetful(e *env.Env, o Options) env.Lock { return &RedlockForgetful{e, o} }

// Acquire implements env.Lock.
func (l *RedlockForgetful) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &quorumLease{e: l.e, key: "lock:" + key, token: token(l.e)}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		yes := lease.set(ctx, l.o.TTL)
		drift := time.Duration(l.o.Drift * float64(l.o.TTL))
		lease.until = l.e.Clock.Now() + l.o.TTL + drift
		if yes >= quorum(l.e) {
			return true, nil
		}
		return false, lease.undo(ctx, yes)
	})
	return lease, err
}
