package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockcheck/lockcheck/workload/env"
)

// FencedSQL is a lease lock on Redis whose grants carry a growing number from
// a SQL row, taken after the lease. It shows its worker a deadline. The sale
// shows the number to the database that keeps stock and number both, and
// which refuses every number but the last one granted.
//
// It promises that nothing is sold twice whatever happens to Redis, to its
// clock or to the worker: the lease only keeps workers from getting in each
// other's way. At the lock level it breaks as Deadlined does.
type FencedSQL struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*FencedSQL)(nil)

// NewFencedSQL uses TTL, Retries, RetryDelay and Jitter. It uses the table
// fences, which has a row for each lock key that has been granted.
func NewFencedSQL(e *env.Env, o Options) env.Lock { return &FencedSQL{e, o} }

// Acquire implements env.Lock.
func (l *FencedSQL) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &fencedLease{timedLease: timedLease{plainLease: plainLease{l.e, "lock:" + key, token(l.e)}}}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		lease.until = l.e.Clock.Now() + l.o.TTL
		return setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
	})
	if err != nil {
		return lease, err
	}
	if lease.fence, err = l.number(ctx, key); err != nil {
		// The lease is ours but good for nothing.
		if e := lease.Release(ctx); e != nil && !errors.Is(e, env.ErrNotOwner) {
			return lease, fmt.Errorf("%w: no number (%v), not released (%v)", env.ErrDoubt, err, e)
		}
		return nil, fmt.Errorf("%w: no number: %v", env.ErrBusy, err)
	}
	return lease, nil
}

// number counts the grant.
func (l *FencedSQL) number(ctx context.Context, key string) (n int64, err error) {
	err = l.e.SQL.Tx(ctx, func(tx env.Tx) error {
		rows, err := tx.Query(ctx, "SELECT fence FROM fences WHERE k = ? FOR UPDATE", key)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return fmt.Errorf("no fence for %s", key)
		}
		last, _ := rows[0][0].(int64)
		n = last + 1
		_, err = tx.Exec(ctx, "UPDATE fences SET fence = ? WHERE k = ?", n, key)
		return err
	})
	return n, err
}
