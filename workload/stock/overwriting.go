package stock

import (
	"context"

	"github.com/lockcheck/lockcheck/histories"
)

// Overwriting is a known-bad sale: under a lock whose work may outlast its
// TTL it sets the stock to what it has worked out (read minus quantity) and
// never asks whether the lease still runs.
//
//	A  read 1 ── paused beyond the TTL ───────────── SET 0, order
//	B                        read 1, SET 0, order
//
// It breaks when a lease ends early: the stock ends at exactly 0 with two
// orders for one unit, or sales in between are undone.
func Overwriting(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	seen, r, err := look(ctx, t, p)
	if err != nil {
		return r, err
	}
	return overwrite(ctx, t, p, seen)
}

// overwrite sets the stock to seen minus what is bought, and then appends the
// order.
func overwrite(ctx context.Context, t *Till, p Purchase, seen int64) (Receipt, error) {
	left := seen - p.Qty
	e := histories.Event{Key: p.Key, Qty: p.Qty, Value: histories.N(left)}
	_, err := t.Write(ctx, e, nil, func() (histories.Num, error) {
		_, err := t.Env.Stock.Do(ctx, "SET", p.Key, left)
		return histories.N(left), err
	})
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Left: histories.N(left)}, appendOrder(ctx, t, p)
}

var _ Sale = Overwriting
