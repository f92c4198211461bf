package stock

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// versionTries bounds how often a sale is begun again because another came
// first.
const versionTries = 4

// VersionLock is the optimistic lock of the database: the row has a version,
// and the write says which version it was worked out from. If another has
// written meanwhile, no row matches, and the sale begins again, a few times
// at most.
//
// It is right under every fault that is played here, as RowLock is. It costs what the second article says: on a
// busy article most tries are for nothing, and some customers are turned away
// though there is stock.
func VersionLock(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	for range versionTries {
		r, err := versionTry(ctx, t, p)
		if !errors.Is(err, ErrChanged) {
			return r, err
		}
	}
	return Receipt{}, fmt.Errorf("%w: others came first, %d times", env.ErrBusy, versionTries)
}

func versionTry(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	var version int64
	seen, err := t.Read(ctx, p.Key, func() (seen int64, err error) {
		seen, version, err = stockAndVersion(ctx, t, p.Key)
		return seen, err
	})
	switch {
	case err != nil:
		return Receipt{}, err
	case seen < p.Qty:
		return soldOut(seen)
	}
	if err := t.Work(ctx, p); err != nil {
		return Receipt{}, err
	}
	var w pending
	w.begin(t, histories.Event{Key: p.Key, Qty: p.Qty})
	w.left = histories.N(seen - p.Qty)
	err = transact(ctx, t, func(tx env.Tx) error {
		changed, err := tx.Exec(ctx, "UPDATE stock SET stock = ?, version = ? WHERE k = ? AND version = ?", seen-p.Qty, version+1, p.Key, version)
		if err != nil {
			return err
		}
		if changed == 0 {
			return ErrChanged
		}
		if err := insertOrder(ctx, tx, "orders", p); err != nil {
			return err
		}
		return t.Step(ctx, "commit")
	})
	w.finish(err)
	return Receipt{Left: w.left}, err
}

func stockAndVersion(ctx context.Context, t *Till, key string) (stock, version int64, err error) {
	rows, err := t.Env.SQL.Query(ctx, "SELECT stock, version FROM stock WHERE k = ?", key)
	if err != nil {
		return 0, 0, err
	}
	if len(rows) != 1 || len(rows[0]) != 2 {
		return 0, 0, fmt.Errorf("%d rows for %s, want one", len(rows), key)
	}
	if stock, err = number(rows[0][0], nil); err == nil {
		version, err = number(rows[0][1], nil)
	}
	return stock, version, err
}

var _ Sale = VersionLock
