package stock

import (
	"context"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Pooled is Locked with the stock in a database: read, check, work, and a
// transaction that sets what was worked out and inserts the order. It trusts
// its lock entirely (see GetLockPool for one that does not deserve it).
func Pooled(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	seen, r, err := lookSQL(ctx, t, t.Env.SQL, p)
	if err != nil {
		return r, err
	}
	left := histories.N(seen - p.Qty)
	e := histories.Event{Key: p.Key, Qty: p.Qty, Value: left}
	_, err = t.Write(ctx, e, nil, func() (histories.Num, error) {
		return left, transact(ctx, t, func(tx env.Tx) error {
			if _, err := tx.Exec(ctx, setStock, left.N, p.Key); err != nil {
				return err
			}
			if err := insertOrder(ctx, tx, "orders", p); err != nil {
				return err
			}
			return t.Step(ctx, "commit")
		})
	})
	return Receipt{Left: left}, err
}

var _ Sale = Pooled
