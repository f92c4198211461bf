package stock

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// Supplied is the name of the supplier's share of a stock key. The stock of
// the key is its own warehouse and the supplier's together.
func Supplied(key string) string { return key + "@supplier" }

// Asking the supplier takes a while: its interface is in another company.
const (
	supplierFast = 20 * time.Millisecond
	supplierSlow = 200 * time.Millisecond
)

// TwoWarehouses is the second article's purchasing agent: part of the stock
// is in a warehouse of its own, part at a supplier whose interface is slow.
// Both are looked at and both are taken from under one lock, own stock first.
//
// With a lock that holds until the release it never sells too much. It trusts
// the lock as Locked does and holds it for longer; between the two
// warehouses, a crash leaves half an order.
func TwoWarehouses(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	var own int64
	total, err := t.Read(ctx, p.Key, func() (total int64, err error) {
		own, total, err = bothWarehouses(ctx, t, p.Key)
		return total, err
	})
	switch {
	case err != nil:
		return Receipt{}, err
	case total < p.Qty:
		return soldOut(total)
	}
	if err := t.Work(ctx, p); err != nil {
		return Receipt{}, err
	}
	left, err := t.Write(ctx, histories.Event{Key: p.Key, Qty: p.Qty}, nil, func() (histories.Num, error) {
		return known(total-p.Qty, takeFromBoth(ctx, t, p, min(p.Qty, max(own, 0))))
	})
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Left: left}, appendOrder(ctx, t, p)
}

// bothWarehouses is what is in the own warehouse, and in both together.
func bothWarehouses(ctx context.Context, t *Till, key string) (own, total int64, err error) {
	own, err = number(t.Env.Stock.Do(ctx, "GET", key))
	if err != nil {
		return 0, 0, err
	}
	if err := askSupplier(ctx, t); err != nil {
		return 0, 0, err
	}
	supplied, err := number(t.Env.Stock.Do(ctx, "GET", Supplied(key)))
	return own, own + supplied, err
}

// takeFromBoth takes own units from the own warehouse and the rest from the
// supplier. After the first of the two, everything is in doubt.
func takeFromBoth(ctx context.Context, t *Till, p Purchase, own int64) error {
	if own > 0 {
		if _, err := t.Env.Stock.Do(ctx, "DECRBY", p.Key, own); err != nil {
			return err
		}
	}
	if own == p.Qty {
		return nil
	}
	err := askSupplier(ctx, t)
	if err == nil {
		_, err = t.Env.Stock.Do(ctx, "DECRBY", Supplied(p.Key), p.Qty-own)
	}
	if own > 0 {
		return doubt(err)
	}
	return err
}

func askSupplier(ctx context.Context, t *Till) error {
	d := supplierFast + time.Duration(t.Env.Rand.Int64N(int64(supplierSlow-supplierFast)))
	return t.Env.Clock.Sleep(ctx, d)
}

var _ Sale = TwoWarehouses
