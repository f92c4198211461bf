package lock

import (
	"context"

	"github.com/lockcheck/lockcheck/workload/env"
)

// GetThenDel is a known-bad lock: the release checks the owner and deletes in
// two commands. The second article names the window; the first leaves it as
// an exercise.
//
//	A  … GET: mine            DEL
//	            TTL ends       ┊
//	B               acquire ───┊── believes, without the key
//
// It breaks when the lease ends between the two, so only for releases close
// to the TTL: rare, and seen in production all the same.
type GetThenDel struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*GetThenDel)(nil)

// NewGetThenDel uses TTL, Retries, RetryDelay and Jitter.
func NewGetThenDel(e *env.Env, o Options) env.Lock { return &GetThenDel{e, o} }

// Acquire implements env.Lock.
func (l *GetThenDel) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &twoStepLease{l.e, "lock:" + key, token(l.e)}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		return setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
	})
	return lease, err
}

type twoStepLease struct {
	e          *env.Env
	key, token string
}

func (s *twoStepLease) Token() string { return s.token }

func (s *twoStepLease) Release(ctx context.Context) error {
	owner, err := s.e.Lock[0].Do(ctx, "GET", s.key)
	if err != nil {
		return err
	}
	if owner != s.token {
		return env.ErrNotOwner
	}
	if err := s.e.Step(ctx, "before-delete"); err != nil {
		return err
	}
	deleted, err := s.e.Lock[0].Do(ctx, "DEL", s.key)
	if err == nil && deleted == int64(0) {
		err = env.ErrNotOwner
	}
	return err
}
