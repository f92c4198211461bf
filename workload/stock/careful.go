package stock

import (
	"context"
	_ "embed"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

//go:embed careful.lua
var carefulSource string

var carefulScript = env.NewScript("careful", carefulSource)

// Careful trusts its lock with speed, not with safety: before it writes it
// looks whether its lease has ended, and the write itself is conditional. One
// script sets the stock and appends the order only if the stock is still what
// was read.
//
// It promises that nothing is sold twice, whatever becomes of the lock, as
// long as the store keeps what it acknowledged. When the lock fails, the
// slower worker's sale fails.
func Careful(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	seen, r, err := look(ctx, t, p)
	if err != nil {
		return r, err
	}
	left, err := t.Write(ctx, histories.Event{Key: p.Key, Qty: p.Qty}, t.Held(lease), func() (histories.Num, error) {
		did, n, err := pair(t.Env.Stock.Eval(ctx, carefulScript, []string{p.Key, Orders(p.Key)}, seen, p.Qty, OrderRow(p.Order, p.Qty)))
		switch {
		case err != nil:
			return histories.Num{}, err
		case did == 0:
			return histories.Num{}, ErrChanged
		}
		return histories.N(n), nil
	})
	return Receipt{Left: left}, err
}

var _ Sale = Careful
