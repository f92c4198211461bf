package stock

import (
	"context"

	"github.com/lockcheck/lockcheck/histories"
)

// Reserve is the third line of defence in the first article's architecture,
// standing alone: DECRBY without a lock; below zero, put the units back and
// refuse.
//
// It never sells too much while the server keeps what it acknowledged:
// DECRBY is atomic, and only those who end at zero or above sell. It breaks
// where a step gets lost between two others: a crash or an unanswered
// roll-back leaks units, a crash before the order too, and a failover can
// bring sold units back. Buyers of several units at once can make it refuse
// somebody for whom there was one left, so its default is one unit.
func Reserve(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	left, err := reserve(ctx, t, p)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Left: left}, appendOrder(ctx, t, p)
}

// reserve works and takes units off; below zero it puts them back.
func reserve(ctx context.Context, t *Till, p Purchase) (left histories.Num, err error) {
	if err := t.Work(ctx, p); err != nil {
		return histories.Num{}, err
	}
	left, err = decrement(ctx, t, p, nil)
	if err != nil || left.N >= 0 {
		return left, err
	}
	if err := rollBack(ctx, t, p); err != nil {
		return histories.Num{}, doubt(err)
	}
	return histories.Num{}, ErrSoldOut
}

// rollBack puts back what a purchase took.
func rollBack(ctx context.Context, t *Till, p Purchase) error {
	if err := t.Step(ctx, "before-rollback"); err != nil {
		return err
	}
	_, err := t.Write(ctx, histories.Event{Key: p.Key, Note: "roll-back"}, nil, func() (histories.Num, error) {
		return known(number(t.Env.Stock.Do(ctx, "INCRBY", p.Key, p.Qty)))
	})
	return err
}

var _ Sale = Reserve
