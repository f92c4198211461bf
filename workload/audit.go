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
func Setup(ctx context.Context, e *env.Env, s Spec) error {
	s, err := s.Resolved()
	if err != nil {
		return err
	}
	if err := s.ledger().setup(ctx, e, s); err != nil {
		return fmt.Errorf("put the initial stock in: %w", err)
	}
	return nil
}

// Audit looks at stock and orders when all is quiet: one event per stock
// key, in the order of keys. What dead workers left in a queue is done first:
// an order that waits for its consumer is late, not lost. e is the director's
// Env.
func Audit(ctx context.Context, e *env.Env, s Spec, keys []string) ([]histories.Event, error) {
	s, err := s.Resolved()
	if err != nil {
		return nil, err
	}
	d, _ := Find(s.Design)
	passSteps(e)
	if err := drain(ctx, d, &stock.Till{Env: e, Initial: s.Stock}, auditTries); err != nil {
		return nil, fmt.Errorf("do what the workers left undone: %w", err)
	}
	ledger := s.ledger()
	events := make([]histories.Event, 0, len(keys))
	for _, key := range keys {
		units, orders, err := auditKey(ctx, e, ledger, key)
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

func auditKey(ctx context.Context, e *env.Env, ledger books, key string) (units int64, orders []histories.Order, err error) {
	for try := range auditTries {
		if units, orders, err = ledger.audit(ctx, e, key); err == nil {
			return units, orders, nil
		}
		if e.Clock.Sleep(ctx, time.Duration(try)*100*time.Millisecond) != nil {
			break
		}
	}
	return 0, nil, err
}
