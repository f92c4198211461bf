package stock

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// bookkeeping is what the transaction still has to do after the part that is
// locked.
const bookkeeping = 50 * time.Millisecond

// UnlockBeforeCommit is a known-bad sale: lock and release stand inside a
// method that as a whole is one transaction, so the release goes out before
// the commit. Reported for Spring's @Transactional around Redisson.
//
//	A  BEGIN, acquire, read 1, UPDATE 0, release ──────── COMMIT
//	B                                     acquire, read 1 …
//
// The lock holds throughout. The next holder reads the row as it was before:
// it breaks without any fault, and a slow commit makes it certain.
func UnlockBeforeCommit(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	var r Receipt
	var w pending
	err := transact(ctx, t, func(tx env.Tx) (err error) {
		if r, err = takeUnderLock(ctx, t, tx, p); err != nil {
			return err
		}
		if err := t.Env.Clock.Sleep(ctx, bookkeeping); err != nil {
			return err
		}
		// The write takes effect now, not when it was made.
		w.begin(t, histories.Event{Key: p.Key, Qty: p.Qty, Value: r.Left})
		w.left = r.Left
		return t.Step(ctx, "commit")
	})
	w.finish(err)
	return r, err
}

// takeUnderLock is the locked part: it looks right.
func takeUnderLock(ctx context.Context, t *Till, tx env.Tx, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	seen, r, err := lookSQL(ctx, t, tx, p)
	if err != nil {
		return r, err
	}
	if _, err := tx.Exec(ctx, setStock, seen-p.Qty, p.Key); err != nil {
		return Receipt{}, err
	}
	return Receipt{Left: histories.N(seen - p.Qty)}, insertOrder(ctx, tx, "orders", p)
}

var _ Sale = UnlockBeforeCommit
