package stock

import (
	"context"
	"errors"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// ErrTaken: this order has been taken before; nothing changed.
var ErrTaken = errors.New("order taken before")

// Conditional sells without any lock: one transaction takes the units if
// there are enough and inserts the order, whose id is unique.
//
// It is right under every fault: the condition and the unique id are checked
// where the data is, at the moment it changes. A customer whose answer got lost
// may simply ask again.
func Conditional(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	if err := t.Work(ctx, p); err != nil {
		return Receipt{}, err
	}
	var w pending
	w.begin(t, histories.Event{Key: p.Key, Qty: p.Qty})
	err := takeOnce(ctx, t, p, &w.left)
	w.finish(err)
	if errors.Is(err, ErrTaken) {
		return Receipt{Replay: true}, nil
	}
	return Receipt{Left: w.left}, err
}

// takeOnce takes units and inserts the order in one transaction, unless the
// order is there already. The order comes first: it is what two attempts at
// one order meet at.
func takeOnce(ctx context.Context, t *Till, p Purchase, left *histories.Num) error {
	return transact(ctx, t, func(tx env.Tx) error {
		err := insertOrder(ctx, tx, "orders_once", p)
		if duplicate(err) {
			return ErrTaken
		}
		if err != nil {
			return err
		}
		n, err := takeSQL(ctx, tx, p)
		if err != nil {
			return err
		}
		*left = histories.N(n)
		return t.Step(ctx, "commit")
	})
}

var _ Sale = Conditional
