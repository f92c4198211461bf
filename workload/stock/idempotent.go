package stock

import "context"

// Idempotent is the second article's safety net: Locked, plus a look under
// the lock whether this order has been taken before. If it has, the customer
// is told so and nothing is sold again.
//
// With a lock that holds it never takes an order twice. The mark is set after
// the sale, in a step of its own: when a lease ends early, or a worker dies in
// between, the same order can still be taken twice.
func Idempotent(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	if taken, err := orderTaken(ctx, t, p); err != nil || taken {
		return Receipt{Replay: taken}, err
	}
	if _, r, err := look(ctx, t, p); err != nil {
		return r, err
	}
	r, err := take(ctx, t, p, nil)
	if err != nil {
		return r, err
	}
	markTaken(ctx, t, p)
	return r, nil
}

func orderTaken(ctx context.Context, t *Till, p Purchase) (bool, error) {
	mark, err := t.Env.Stock.Do(ctx, "GET", "order:"+p.Order)
	return mark != nil && err == nil, untouched(err)
}

// markTaken comes after the order itself: whatever becomes of the mark, the
// sale has been made, and the customer is told so.
func markTaken(ctx context.Context, t *Till, p Purchase) {
	_, _ = t.Env.Stock.Do(ctx, "SET", "order:"+p.Order, p.Qty)
}

var _ Sale = Idempotent
