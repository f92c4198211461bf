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

	seen, err := read(ctx, t, p.Key)
	if err != nil {
		return Receipt{}, err
	}
	if seen < p.Qty {
		return soldOut(seen)
	}
	if err := t.Work(ctx, p); err != nil {
		return Receipt{}, err
	}
	left, err := decrement(ctx, t, p)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Left: left}, appendOrder(ctx, t, p)
}

// decrement takes units off the stock in Redis, however many there are.
func decrement(ctx context.Context, t *Till, p Purchase) (histories.Num, error) {
	return t.Write(ctx, histories.Event{Key: p.Key, Qty: p.Qty}, nil, func() (histories.Num, error) {
		return left(number(t.Env.Stock.Do(ctx, "DECRBY", p.Key, p.Qty)))
	})
}

// left is what a write answered, if it answered.
func left(n int64, err error) (histories.Num, error) {
	if err != nil {
		return histories.Num{}, err
	}
	return histories.N(n), nil
}

// Unlocked is the anti-pattern that the first article begins with: read,
// check, work, DECRBY, and no lock around it. It oversells without any fault,
// as soon as two workers read the same last unit.
func Unlocked(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	seen, err := read(ctx, t, p.Key)
	if err != nil {
		return Receipt{}, err
	}
	if seen < p.Qty {
		return soldOut(seen)
	}
	if err := t.Work(ctx, p); err != nil {
		return Receipt{}, err
	}
	left, err := decrement(ctx, t, p)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Left: left}, appendOrder(ctx, t, p)
}

var _, _ Sale = Locked, Unlocked
