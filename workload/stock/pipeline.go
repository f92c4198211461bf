package stock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Pipeline is the whole architecture of the first article's §7, one line of
// defence behind the other: a stock cache inside the process, a lock, DECRBY
// with roll-back in Redis, and a queue; Consume, at the other end of the queue,
// writes the order and takes the stock in the database.
//
// The customer is told "sold" when the queue has the order. It promises that
// the database never sells too much and takes no order twice: there the units
// are taken conditionally and the order id is unique. Between the customers
// and the database it promises less: a crash between DECRBY and the queue
// leaks units in Redis, and if Redis forgets sales, customers are told "sold"
// for units that the database then refuses.
//
// The cache counts what this process has sold, not what it is about to sell:
// a reservation that comes to nothing must not turn another customer away.
func Pipeline(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	cache := "sold:" + p.Key
	if t.Env.Local.Add(cache, 0)+p.Qty > t.Initial {
		return Receipt{}, ErrSoldOut
	}
	r, err := reserveAndQueue(ctx, t, p)
	switch {
	case err == nil:
		t.Env.Local.Add(cache, p.Qty)
	case errors.Is(err, ErrSoldOut):
		t.Env.Local.Add(cache, t.Initial)
	}
	return r, err
}

// reserveAndQueue is what happens under the lock.
func reserveAndQueue(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	left, err := reserve(ctx, t, p)
	if err != nil {
		return Receipt{}, err
	}
	if err := t.Step(ctx, "before-order"); err != nil {
		return Receipt{}, doubt(err)
	}
	order, err := json.Marshal(p)
	if err != nil {
		return Receipt{}, doubt(err)
	}
	err = t.Env.Queue.Publish(ctx, string(order))
	if err != nil && !env.Unknown(err) {
		// The queue surely has not got it.
		if err := rollBack(ctx, t, p); err != nil {
			return Receipt{}, doubt(err)
		}
		return Receipt{}, untouched(err)
	}
	return Receipt{Left: left}, doubt(err)
}

// Consume takes one order from the queue, waiting for it for limit at most,
// and writes it into the database, once: an order that is delivered again is
// found there. An order that the database has no stock for is put aside.
func Consume(ctx context.Context, t *Till, limit time.Duration) (did bool, err error) {
	body, ack, ok, err := t.Env.Queue.Consume(ctx, limit)
	if err != nil || !ok {
		return false, err
	}
	var p Purchase
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		return false, fmt.Errorf("order %.80q: %w", body, err)
	}
	var left histories.Num
	switch err := takeOnce(ctx, t, p, &left); {
	case err == nil, errors.Is(err, ErrTaken), errors.Is(err, ErrSoldOut):
		return true, ack(ctx)
	default:
		return true, err // it will be delivered again
	}
}

var _ Sale = Pipeline
