package stock

import "context"

// OncePerUser is the finest grain of the first article's pit 3: a lock on
// customer and article keeps a customer's second click from being a second
// order. It does not guard the stock, which other customers buy at the same
// time under other locks; that is sold by one script (see Script).
//
// With a lock that holds, no customer orders twice; the stock is right
// whatever the lock does.
func OncePerUser(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	if taken, err := orderTaken(ctx, t, p); err != nil || taken {
		return Receipt{Replay: taken}, err
	}
	if err := t.Work(ctx, p); err != nil {
		return Receipt{}, err
	}
	r, err := sellByScript(ctx, t, p, nil)
	if err != nil {
		return r, err
	}
	markTaken(ctx, t, p)
	return r, nil
}

var _ Sale = OncePerUser
