package lock

import (
	"context"
	"errors"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// StaleUnlock is a known-bad lock: its owner is the session of the client, not
// the acquire, and a release that got no answer is sent again until there is
// one. Reported for etcd's mutex.
//
//	A  acquire ── release (acts, no answer) ── acquire ── works ──────────
//	A                                   the old release, again: deletes it
//	B                                              acquire ── works ──────
//
// It promises one holder per key as long as every release is answered. It
// breaks on a lost answer: the same session has the lock anew when the old
// release comes again, and that cannot tell the two apart.
type StaleUnlock struct {
	e       *env.Env
	o       Options
	session string
}

var _ env.Lock = (*StaleUnlock)(nil)

// NewStaleUnlock uses TTL, Retries, RetryDelay and Jitter.
func NewStaleUnlock(e *env.Env, o Options) env.Lock { return &StaleUnlock{e, o, token(e)} }

// Acquire implements env.Lock.
func (l *StaleUnlock) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &sessionLease{plainLease{l.e, "lock:" + key, l.session}, key}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		return setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
	})
	return lease, err
}

type sessionLease struct {
	plainLease
	lockKey string
}

// releaseAgain is how long a release waits before it is sent again.
const releaseAgain = 200 * time.Millisecond

func (s *sessionLease) Release(ctx context.Context) error {
	again := s.e.Releasing(s.lockKey, s.token)
	err := s.plainLease.Release(ctx)
	if answered(err) {
		return err
	}
	s.e.Clock.Every(ctx, releaseAgain, func(ctx context.Context) bool {
		end := again()
		err := s.plainLease.Release(ctx)
		end(err)
		return !answered(err)
	})
	return err
}

// answered says whether a release was told how it went.
func answered(err error) bool { return err == nil || errors.Is(err, env.ErrNotOwner) }
