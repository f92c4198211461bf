package lock

import (
	"context"
	"sync/atomic"

	"github.com/lockcheck/lockcheck/workload/env"
)

// RenewBlind is a known-bad lock with a watchdog: the first renewal that
// fails, for whatever reason, is the last one, and nobody is told. Reported
// for Redisson, for cron libraries, for leader election.
//
//	A  acquire ── renew ── renew: error ─ (silence) ── works on ─────────
//	B                                        TTL ends, acquire ── believes
//
// It breaks when one renewal goes wrong and the work lasts longer than what
// is left of the lease.
type RenewBlind struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*RenewBlind)(nil)

// NewRenewBlind uses TTL, Renew, Retries, RetryDelay and Jitter.
func NewRenewBlind(e *env.Env, o Options) env.Lock { return &RenewBlind{e, o} }

// Acquire implements env.Lock.
func (l *RenewBlind) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &blindlyRenewed{plainLease: plainLease{l.e, "lock:" + key, token(l.e)}, lockKey: key, o: l.o}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		return setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
	})
	if err == nil {
		lease.stop = l.e.Clock.Every(ctx, l.o.Renew, lease.renew)
	}
	return lease, err
}

type blindlyRenewed struct {
	plainLease
	lockKey  string
	o        Options
	stop     func()
	released atomic.Bool
}

func (s *blindlyRenewed) renew(ctx context.Context) (again bool) {
	if s.e.Step(ctx, "renewal") != nil || s.released.Load() {
		return false
	}
	end := s.e.Extending(s.lockKey, s.token)
	err := renewIfMine(ctx, s.e.Lock[0], s.key, s.token, s.o.TTL)
	end(0, err)
	return err == nil
}

func (s *blindlyRenewed) Release(ctx context.Context) error {
	s.released.Store(true)
	if s.stop != nil {
		s.stop()
	}
	return s.plainLease.Release(ctx)
}
