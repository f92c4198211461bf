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

// books are where a design has its stock and its orders.
type books interface {
	// setup puts the initial stock in.
	setup(ctx context.Context, e *env.Env, s Spec) error
	// units is what a customer sees on the shelf.
	units(ctx context.Context, e *env.Env, key string) (int64, error)
	// audit reads the stock of a key and its orders.
	audit(ctx context.Context, e *env.Env, key string) (units int64, orders []histories.Order, err error)
}

// ledger is where the design of a Spec has its books.
func (s Spec) ledger() books {
	d, _ := Find(s.Design)
	switch {
	case d.books != nil:
		return d.books
	case s.StockOn == OnSQL:
		return sqlBooks{orders: "orders"}
	}
	return redisBooks{}
}

// redisBooks are a number and a list per stock key.
type redisBooks struct{}

func (redisBooks) setup(ctx context.Context, e *env.Env, s Spec) error {
	return putStock(ctx, e.Stock, s.stockKeys(), s.Stock)
}

// putStock sets keys to a number of units each.
func putStock(ctx context.Context, r env.Redis, keys []string, units int64) error {
	const atOnce = 500
	for some := range slices.Chunk(keys, atOnce) {
		args := []any{"MSET"}
		for _, key := range some {
			args = append(args, key, units)
		}
		if _, err := r.Do(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func (redisBooks) units(ctx context.Context, e *env.Env, key string) (int64, error) {
	return countUnits(ctx, e.Stock, key)
}

func (b redisBooks) audit(ctx context.Context, e *env.Env, key string) (int64, []histories.Order, error) {
	units, err := b.units(ctx, e, key)
	if err != nil {
		return 0, nil, err
	}
	rows, err := e.Stock.Do(ctx, "LRANGE", stock.Orders(key), 0, -1)
	if err != nil {
		return 0, nil, err
	}
	list, _ := rows.([]any)
	orders := []histories.Order{} // none is an answer, too
	for _, row := range list {
		o, err := parseOrder(row)
		if err != nil {
			return 0, nil, err
		}
		orders = append(orders, o)
	}
	return units, orders, nil
}

// countUnits reads a number. A key that is gone counts as 0: nobody can sell
// of it any more.
func countUnits(ctx context.Context, r env.Redis, key string) (int64, error) {
	value, err := r.Do(ctx, "GET", key)
	text, ok := value.(string)
	if err != nil || !ok {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
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

// warehouseBooks are redisBooks with part of the stock at a supplier.
type warehouseBooks struct{}

func (warehouseBooks) setup(ctx context.Context, e *env.Env, s Spec) error {
	keys := s.stockKeys()
	supplied := s.Stock / 2
	if err := putStock(ctx, e.Stock, keys, s.Stock-supplied); err != nil {
		return err
	}
	for i, key := range keys {
		keys[i] = stock.Supplied(key)
	}
	return putStock(ctx, e.Stock, keys, supplied)
}

func (warehouseBooks) units(ctx context.Context, e *env.Env, key string) (int64, error) {
	own, err := countUnits(ctx, e.Stock, key)
	if err != nil {
		return 0, err
	}
	supplied, err := countUnits(ctx, e.Stock, stock.Supplied(key))
	return own + supplied, err
}

func (b warehouseBooks) audit(ctx context.Context, e *env.Env, key string) (int64, []histories.Order, error) {
	_, orders, err := redisBooks{}.audit(ctx, e, key)
	if err != nil {
		return 0, nil, err
	}
	units, err := b.units(ctx, e, key)
	return units, orders, err
}

// sqlBooks are a row per stock key and a row per order.
type sqlBooks struct{ orders string }

func (sqlBooks) setup(ctx context.Context, e *env.Env, s Spec) error {
	for _, table := range stock.Tables {
		if _, err := e.SQL.Exec(ctx, table); err != nil {
			return err
		}
	}
	return e.SQL.Tx(ctx, func(tx env.Tx) error {
		for _, key := range s.stockKeys() {
			if _, err := tx.Exec(ctx, "INSERT INTO stock (k, stock, version) VALUES (?, ?, ?)", key, s.Stock, 0); err != nil {
				return err
			}
		}
		for _, key := range s.lockKeys() {
			if _, err := tx.Exec(ctx, "INSERT INTO fences (k, fence) VALUES (?, ?)", key, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

func (sqlBooks) units(ctx context.Context, e *env.Env, key string) (int64, error) {
	rows, err := e.SQL.Query(ctx, "SELECT stock FROM stock WHERE k = ?", key)
	if err != nil || len(rows) != 1 {
		return 0, err
	}
	return sqlInt(rows[0][0])
}

func (b sqlBooks) audit(ctx context.Context, e *env.Env, key string) (int64, []histories.Order, error) {
	units, err := b.units(ctx, e, key)
	if err != nil {
		return 0, nil, err
	}
	rows, err := e.SQL.Query(ctx, "SELECT order_id, qty FROM "+b.orders+" WHERE k = ?", key)
	if err != nil {
		return 0, nil, err
	}
	orders := []histories.Order{} // none is an answer, too
	for _, row := range rows {
		qty, err := sqlInt(row[1])
		if err != nil {
			return 0, nil, err
		}
		orders = append(orders, histories.Order{ID: fmt.Sprint(row[0]), Qty: qty})
	}
	return units, orders, nil
}

// sqlInt reads a number that a driver may hand over as text.
func sqlInt(v any) (int64, error) {
	if n, ok := v.(int64); ok {
		return n, nil
	}
	return strconv.ParseInt(fmt.Sprint(v), 10, 64)
}

// pipelineBooks: customers buy of Redis, the truth is in the database.
type pipelineBooks struct{}

func (pipelineBooks) setup(ctx context.Context, e *env.Env, s Spec) error {
	if err := (redisBooks{}).setup(ctx, e, s); err != nil {
		return err
	}
	return sqlBooks{}.setup(ctx, e, s)
}

func (pipelineBooks) units(ctx context.Context, e *env.Env, key string) (int64, error) {
	return redisBooks{}.units(ctx, e, key)
}

func (pipelineBooks) audit(ctx context.Context, e *env.Env, key string) (int64, []histories.Order, error) {
	return sqlBooks{orders: "orders_once"}.audit(ctx, e, key)
}
