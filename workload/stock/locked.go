package stock

import (
	"context"

	"github.com/lockcheck/lockcheck/histories"
)

// Locked is the sale that both articles make: take the lock, read the stock,
// check it, do the work, write by DECRBY, append the order, and release
// whatever happened.
//
// With a lock that holds until the release it never sells too much. It trusts
// the lock entirely: when the lease ends early, two workers may pass the same
// check, and both orders stand. A crash between write and order leaks units.
func Locked(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	if _, r, err := look(ctx, t, p); err != nil {
		return r, err
	}
	return take(ctx, t, p, nil)
}

// look is the first half of every sale that checks before it writes: read
// the stock, refuse if there is too little, do the work.
func look(ctx context.Context, t *Till, p Purchase) (seen int64, r Receipt, err error) {
	seen, err = read(ctx, t, p.Key)
	if err != nil {
		return 0, Receipt{}, err
	}
	if seen < p.Qty {
		r, err = soldOut(seen)
		return seen, r, err
	}
	return seen, Receipt{}, t.Work(ctx, p)
}

// take is the second half as the articles have it: DECRBY, however many
// there are, and then the order.
func take(ctx context.Context, t *Till, p Purchase, check func() error) (Receipt, error) {
	left, err := decrement(ctx, t, p, check)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Left: left}, appendOrder(ctx, t, p)
}

func decrement(ctx context.Context, t *Till, p Purchase, check func() error) (histories.Num, error) {
	return t.Write(ctx, histories.Event{Key: p.Key, Qty: p.Qty}, check, func() (histories.Num, error) {
		return known(number(t.Env.Stock.Do(ctx, "DECRBY", p.Key, p.Qty)))
	})
}

// known is what a write answered, if it answered.
func known(n int64, err error) (histories.Num, error) {
	if err != nil {
		return histories.Num{}, err
	}
	return histories.N(n), nil
}

var _ Sale = Locked
