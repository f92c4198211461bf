package workload

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	const atOnce = 500
	for some := range slices.Chunk(s.stockKeys(), atOnce) {
		args := []any{"MSET"}
		for _, key := range some {
			args = append(args, key, s.Stock)
		}
		if _, err := e.Stock.Do(ctx, args...); err != nil {
			return fmt.Errorf("put the initial stock in: %w", err)
		}
	}
	return nil
}

func (s Spec) stockKeys() []string {
	var keys []string
	for sku := range s.SKUs {
		for batch := range s.Batches {
			keys = append(keys, StockKey(sku, batch))
		}
	}
	return keys
}

// Audit looks at stock and orders when all is quiet: one event per stock
// key, in the order of keys. e is the director's Env.
func Audit(ctx context.Context, e *env.Env, s Spec, keys []string) ([]histories.Event, error) {
	events := make([]histories.Event, 0, len(keys))
	for _, key := range keys {
		value, orders, err := auditRedis(ctx, e.Stock, key)
		if err != nil {
			return events, fmt.Errorf("audit %s: %w", key, err)
		}
		events = append(events, histories.Event{
			Time: int64(e.Clock.Now()), Process: histories.Auditor, Type: histories.OK, F: histories.Audit,
			Key: key, Value: histories.N(value), Orders: orders,
		})
	}
	return events, nil
}

// auditRedis reads one stock key and its orders. A key that is gone counts
// as 0: nobody can sell of it any more.
func auditRedis(ctx context.Context, r env.Redis, key string) (int64, []histories.Order, error) {
	value, err := r.Do(ctx, "GET", key)
	if err != nil {
		return 0, nil, err
	}
	n := int64(0)
	if text, ok := value.(string); ok {
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			return 0, nil, fmt.Errorf("stock is %.40q: want a number", text)
		}
	}
	rows, err := r.Do(ctx, "LRANGE", stock.Orders(key), 0, -1)
	if err != nil {
		return 0, nil, err
	}
	list, _ := rows.([]any)
	var orders []histories.Order
	for _, row := range list {
		o, err := parseOrder(row)
		if err != nil {
			return 0, nil, err
		}
		orders = append(orders, o)
	}
	return n, orders, nil
}

// parseOrder reads what stock.OrderRow writes.
func parseOrder(row any) (histories.Order, error) {
	text, _ := row.(string)
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return histories.Order{}, fmt.Errorf("order row is %.40v: want order:quantity", row)
	}
	qty, err := strconv.ParseInt(text[i+1:], 10, 64)
	if err != nil {
		return histories.Order{}, fmt.Errorf("order row is %.40v: want order:quantity", row)
	}
	return histories.Order{ID: text[:i], Qty: qty}, nil
}
