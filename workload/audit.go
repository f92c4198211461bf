package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// Setup puts the initial stock in, before the workers start. e is the
// director's Env.
func Setup(ctx context.Context, e *env.Env, r Resolved) error {
	if err := r.books().Setup(ctx, e, r); err != nil {
		return fmt.Errorf("put the initial stock in: %w", err)
	}
	return nil
}

// Audit looks at stock and orders when all is quiet: one event per stock
// key, in the order of keys. What dead workers left in a queue is done first:
// an order that waits for its consumer is late, not lost. e is the director's
// Env.
func Audit(ctx context.Context, e *env.Env, r Resolved, keys []string) ([]histories.Event, error) {
	passSteps(e)
	if err := drain(ctx, r.Of, &stock.Till{Env: e, Initial: r.Stock}, auditTries); err != nil {
		return nil, fmt.Errorf("do what the workers left undone: %w", err)
	}
	events := make([]histories.Event, 0, len(keys))
	for _, key := range keys {
		units, orders, err := auditKey(ctx, e, r.books(), key)
		if err != nil {
			return events, fmt.Errorf("audit %s: %w", key, err)
		}
		events = append(events, histories.Event{
			Time: int64(e.Clock.Now()), Process: histories.Auditor, Type: histories.OK, F: histories.Audit,
			Key: key, Value: histories.N(units), Orders: orders,
		})
	}
	return events, nil
}

// auditTries bounds how often something is tried again: a connection of the
// director may have broken with its server long before it is next used.
const auditTries = 12

func auditKey(ctx context.Context, e *env.Env, b Books, key string) (units int64, orders []histories.Order, err error) {
	for try := range auditTries {
		if units, orders, err = b.Audit(ctx, e, key); err == nil {
			return units, orders, nil
		}
		if e.Clock.Sleep(ctx, time.Duration(try)*100*time.Millisecond) != nil {
			break
		}
	}
	return 0, nil, err
}
