package stock

import (
	"context"
	"fmt"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// FencedByRow shows the number of its grant to the database, which keeps the
// last number granted beside the stock (see FencedSQL). One transaction locks
// the row with the number, compares, takes the units and inserts the order; any
// number but the last one granted is refused.
//
// It promises that nothing is sold twice, whatever becomes of the lease: as
// soon as another has been granted the lock, a late worker's number is old.
func FencedByRow(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	if _, r, err := lookSQL(ctx, t, t.Env.SQL, p); err != nil {
		return r, err
	}
	e := histories.Event{Key: p.Key, Qty: p.Qty, Fence: lease.Fence()}
	left, err := t.Write(ctx, e, t.Held(lease), func() (left histories.Num, err error) {
		err = transact(ctx, t, func(tx env.Tx) error {
			if err := newest(ctx, tx, p.LockKey, lease.Fence().N); err != nil {
				return err
			}
			n, err := takeSQL(ctx, tx, p)
			if err != nil {
				return err
			}
			left = histories.N(n)
			if err := insertOrder(ctx, tx, "orders", p); err != nil {
				return err
			}
			return t.Step(ctx, "commit")
		})
		return left, err
	})
	return Receipt{Left: left}, err
}

// newest refuses every number but the last one granted, and keeps it the last
// one until the transaction ends.
func newest(ctx context.Context, tx env.Tx, lockKey string, fence int64) error {
	last, err := sqlNumber(ctx, tx, "SELECT fence FROM fences WHERE k = ? FOR UPDATE", lockKey)
	if err == nil && last != fence {
		err = fmt.Errorf("%w: %d has been granted", ErrFenced, last)
	}
	return err
}

var _ Sale = FencedByRow
