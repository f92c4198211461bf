package lock

import (
	"context"

	"github.com/lockcheck/lockcheck/workload/env"
)

// ClockedDel is a known-bad lock: its release looks at its own clock whether
// the lease still runs, and then deletes the key, whoever's it is. It is what
// people write who know that a plain DEL is wrong and have no script at hand.
//
//	A  acquire ── looks: 20 ms to go ── paused ──────── DEL
//	B                                  acquire ── works ─┊──────
//	C                                                    acquire (beside B)
//
// It promises one holder per key while nothing comes between the look and the
// DEL. It breaks when something does: a pause, or a slow network.
type ClockedDel struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*ClockedDel)(nil)

// NewClockedDel uses TTL, Retries, RetryDelay and Jitter.
func NewClockedDel(e *env.Env, o Options) env.Lock { return &ClockedDel{e, o} }

// Acquire implements env.Lock. It leaves nothing to clean up with: its release
// could not tell whose lock it deletes.
func (l *ClockedDel) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &clockedLease{timedLease{plainLease: plainLease{l.e, "lock:" + key, token(l.e)}}}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		lease.until = l.e.Clock.Now() + l.o.TTL
		return setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
	})
	if err != nil {
		return nil, err
	}
	return lease, nil
}

type clockedLease struct{ timedLease }

func (s *clockedLease) Release(ctx context.Context) error {
	if s.e.Clock.Now() >= s.until {
		return env.ErrNotOwner
	}
	if err := s.e.Step(ctx, "before-delete"); err != nil {
		return err
	}
	return (&anyLease{s.e, s.key}).Release(ctx)
}
