package stock

import (
	"context"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// RowLock is the pessimistic lock of the database: SELECT … FOR UPDATE as the
// first statement of the transaction, so that the row that decides is locked
// before it is read, and everything else until the commit. Both articles set
// it aside as too slow.
//
// It is right under every fault that is played here: a worker that dies or is
// cut off takes its transaction with it. (A server that fails over to a replica
// which lacks the last commits is not played.) It costs what the articles say: buyers of one article
// queue up for as long as the slowest works.
func RowLock(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	var r Receipt
	var w pending
	err := transact(ctx, t, func(tx env.Tx) error {
		seen, err := readSQL(ctx, t, tx, p.Key, selectStockForUpdate)
		if err != nil {
			return err
		}
		if seen < p.Qty {
			r.Seen = histories.N(seen)
			return ErrSoldOut
		}
		if err := t.Work(ctx, p); err != nil {
			return err
		}
		w.begin(t, histories.Event{Key: p.Key, Qty: p.Qty})
		w.left = histories.N(seen - p.Qty)
		if _, err := tx.Exec(ctx, setStock, seen-p.Qty, p.Key); err != nil {
			return err
		}
		if err := insertOrder(ctx, tx, "orders", p); err != nil {
			return err
		}
		return t.Step(ctx, "commit")
	})
	w.finish(err)
	r.Left = w.left
	return r, err
}

var _ Sale = RowLock
