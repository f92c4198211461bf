package lock

import (
	"context"

	"github.com/lockcheck/lockcheck/workload/env"
)

// GetLockPool is a known-bad lock: MySQL's GET_LOCK, whose locks belong to a
// connection, used through a pool of connections. The statements of a sale run
// on whichever connection is free.
//
// It breaks without any fault: the release goes out on a connection that does
// not hold the lock, so the lock stays with a connection of the pool, and
// the worker that is lent that connection next is granted it at once, since one
// connection may take its lock twice.
type GetLockPool struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*GetLockPool)(nil)

// NewGetLockPool uses Retries, RetryDelay and Jitter.
func NewGetLockPool(e *env.Env, o Options) env.Lock { return &GetLockPool{e, o} }

// Acquire implements env.Lock.
func (l *GetLockPool) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &pooledLease{l.e, key, token(l.e)}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		rows, err := l.e.SQL.Query(ctx, "SELECT GET_LOCK(?, 0)", key)
		return err == nil && one(rows), err
	})
	return lease, err
}

// one says whether a statement answered the number 1.
func one(rows [][]any) bool {
	return len(rows) == 1 && len(rows[0]) == 1 && rows[0][0] == int64(1)
}

type pooledLease struct {
	e          *env.Env
	key, token string
}

func (s *pooledLease) Token() string { return s.token }

func (s *pooledLease) Release(ctx context.Context) error {
	rows, err := s.e.SQL.Query(ctx, "SELECT RELEASE_LOCK(?)", s.key)
	if err == nil && !one(rows) {
		err = env.ErrNotOwner
	}
	return err
}
