package stock

import "context"

// ReadBeforeLock is a known-bad sale: it looks at the order and the stock
// first, then waits for the lock, and sells by what it saw before. Reported
// for a shop whose second browser tab had loaded the cart before the first tab
// ordered it.
//
//	A  looks ── acquire ── sells, release
//	B    looks ─────────── waits ──────── acquire ── sells the same again
//
// The lock holds throughout; the decision was made outside it. It breaks
// without any fault: stale stock is written, and one order is taken twice.
func ReadBeforeLock(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	if taken, err := orderTaken(ctx, t, p); err != nil || taken {
		return Receipt{Replay: taken}, err
	}
	seen, err := read(ctx, t, p.Key)
	if err != nil {
		return Receipt{}, err
	}
	if seen < p.Qty {
		return soldOut(seen)
	}
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	if err := t.Work(ctx, p); err != nil {
		return Receipt{}, err
	}
	r, err := overwrite(ctx, t, p, seen)
	if err != nil {
		return r, err
	}
	markTaken(ctx, t, p)
	return r, nil
}

var _ Sale = ReadBeforeLock
