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

// Books are where a design has its stock and its orders. e is the director's Env.
type Books interface {
	// Setup puts the initial stock in: r.Stock units of each of r.StockKeys.
	Setup(ctx context.Context, e *env.Env, r Resolved) error
	// Units is what a customer sees on the shelf.
	Units(ctx context.Context, e *env.Env, key string) (int64, error)
	// Audit reads the stock of a key and its orders.
	Audit(ctx context.Context, e *env.Env, key string) (units int64, orders []histories.Order, err error)
}

// books are where the design of a run has its stock and its orders.
func (r Resolved) books() Books {
	switch {
	case r.Of.Books != nil:
		return r.Of.Books
	case r.StockOn == OnSQL:
		return sqlBooks{orders: "orders"}
	}
	return redisBooks{}
}

// redisBooks are a number and a list per stock key.
type redisBooks struct{}

func (redisBooks) Setup(ctx context.Context, e *env.Env, r Resolved) error {
	return putStock(ctx, e.Stock, r.StockKeys(), r.Stock)
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

func (redisBooks) Units(ctx context.Context, e *env.Env, key string) (int64, error) {
	return countUnits(ctx, e.Stock, key)
}

func (b redisBooks) Audit(ctx context.Context, e *env.Env, key string) (int64, []histories.Order, error) {
	units, err := b.Units(ctx, e, key)
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

func (warehouseBooks) Setup(ctx context.Context, e *env.Env, r Resolved) error {
	keys := r.StockKeys()
	supplied := r.Stock / 2
	if err := putStock(ctx, e.Stock, keys, r.Stock-supplied); err != nil {
		return err
	}
	for i, key := range keys {
		keys[i] = stock.Supplied(key)
	}
	return putStock(ctx, e.Stock, keys, supplied)
}

func (warehouseBooks) Units(ctx context.Context, e *env.Env, key string) (int64, error) {
	own, err := countUnits(ctx, e.Stock, key)
	if err != nil {
		return 0, err
	}
	supplied, err := countUnits(ctx, e.Stock, stock.Supplied(key))
	return own + supplied, err
}

func (b warehouseBooks) Audit(ctx context.Context, e *env.Env, key string) (int64, []histories.Order, error) {
	_, orders, err := redisBooks{}.Audit(ctx, e, key)
	if err != nil {
		return 0, nil, err
	}
	units, err := b.Units(ctx, e, key)
	return units, orders, err
}

// sqlBooks are a row per stock key and a row per order.
type sqlBooks struct{ orders string }

func (sqlBooks) Setup(ctx context.Context, e *env.Env, r Resolved) error {
	for _, table := range stock.Tables {
		if _, err := e.SQL.Exec(ctx, table); err != nil {
			return err
		}
	}
	return e.SQL.Tx(ctx, func(tx env.Tx) error {
		for _, key := range r.StockKeys() {
			if _, err := tx.Exec(ctx, "INSERT INTO stock (k, stock, version) VALUES (?, ?, ?)", key, r.Stock, 0); err != nil {
				return err
			}
		}
		for _, key := range r.LockKeys() {
			if _, err := tx.Exec(ctx, "INSERT INTO fences (k, fence) VALUES (?, ?)", key, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

func (sqlBooks) Units(ctx context.Context, e *env.Env, key string) (int64, error) {
	rows, err := e.SQL.Query(ctx, "SELECT stock FROM stock WHERE k = ?", key)
	if err != nil || len(rows) != 1 {
		return 0, err
	}
	return sqlInt(rows[0][0])
}

func (b sqlBooks) Audit(ctx context.Context, e *env.Env, key string) (int64, []histories.Order, error) {
	units, err := b.Units(ctx, e, key)
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

func (pipelineBooks) Setup(ctx context.Context, e *env.Env, r Resolved) error {
	if err := (redisBooks{}).Setup(ctx, e, r); err != nil {
		return err
	}
	return sqlBooks{}.Setup(ctx, e, r)
}

func (pipelineBooks) Units(ctx context.Context, e *env.Env, key string) (int64, error) {
	return redisBooks{}.Units(ctx, e, key)
}

func (pipelineBooks) Audit(ctx context.Context, e *env.Env, key string) (int64, []histories.Order, error) {
	return sqlBooks{orders: "orders_once"}.Audit(ctx, e, key)
}
