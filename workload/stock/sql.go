package stock

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Tables make the tables of the SQL designs: stock has a row for each stock key; orders
// takes whatever it is given, so that an order taken twice shows; orders_once
// takes an order id once. fences has the last number granted for a lock key.
var Tables = []string{
	"CREATE TABLE IF NOT EXISTS stock (k VARCHAR(64) PRIMARY KEY, stock BIGINT, version BIGINT)",
	"CREATE TABLE IF NOT EXISTS orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, k VARCHAR(64), order_id VARCHAR(96), qty BIGINT, customer VARCHAR(64), KEY (k))",
	"CREATE TABLE IF NOT EXISTS orders_once (order_id VARCHAR(96) PRIMARY KEY, k VARCHAR(64), qty BIGINT, customer VARCHAR(64), KEY (k))",
	"CREATE TABLE IF NOT EXISTS fences (k VARCHAR(64) PRIMARY KEY, fence BIGINT)",
}

// transact runs f in a transaction. An error of f means that nothing was
// committed; an error of the commit leaves everything in doubt.
func transact(ctx context.Context, t *Till, f func(env.Tx) error) error {
	var failed error
	err := t.Env.SQL.Tx(ctx, func(tx env.Tx) error {
		failed = f(tx)
		return failed
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrSoldOut), errors.Is(err, ErrFenced), errors.Is(err, ErrChanged), errors.Is(err, ErrTaken):
		return err
	case failed != nil, !env.Unknown(err):
		return untouched(err)
	}
	return doubt(err)
}

// querier is a database or a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) ([][]any, error)
}

// sqlNumber is the number that a query for one number answers.
func sqlNumber(ctx context.Context, q querier, query string, args ...any) (int64, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return 0, fmt.Errorf("%d rows, want one number: %s", len(rows), query)
	}
	return number(rows[0][0], nil)
}

const (
	selectStock          = "SELECT stock FROM stock WHERE k = ?"
	selectStockForUpdate = "SELECT stock FROM stock WHERE k = ? FOR UPDATE"
	takeStock            = "UPDATE stock SET stock = stock - ? WHERE k = ? AND stock >= ?"
	setStock             = "UPDATE stock SET stock = ? WHERE k = ?"
)

// readSQL reads the stock by q, with the statement that says whether the row
// is locked.
func readSQL(ctx context.Context, t *Till, q querier, key, query string) (int64, error) {
	return t.Read(ctx, key, func() (int64, error) { return sqlNumber(ctx, q, query, key) })
}

// lookSQL is look with the stock in the database.
func lookSQL(ctx context.Context, t *Till, q querier, p Purchase) (seen int64, r Receipt, err error) {
	seen, err = readSQL(ctx, t, q, p.Key, selectStock)
	if err != nil {
		return 0, Receipt{}, err
	}
	if seen < p.Qty {
		r, err = soldOut(seen)
		return seen, r, err
	}
	return seen, Receipt{}, t.Work(ctx, p)
}

// takeSQL takes units off the stock if there are enough, and answers what is
// left. In a transaction the row stays locked until its end.
func takeSQL(ctx context.Context, tx env.Tx, p Purchase) (int64, error) {
	changed, err := tx.Exec(ctx, takeStock, p.Qty, p.Key, p.Qty)
	if err != nil {
		return 0, err
	}
	if changed == 0 {
		return 0, ErrSoldOut
	}
	return sqlNumber(ctx, tx, selectStock, p.Key)
}

// insertOrder appends the order to a table.
func insertOrder(ctx context.Context, tx env.Tx, table string, p Purchase) error {
	_, err := tx.Exec(ctx, "INSERT INTO "+table+" (k, order_id, qty, customer) VALUES (?, ?, ?, ?)", p.Key, p.Order, p.Qty, p.Customer)
	return err
}

// duplicate says whether an insert was refused because the key is there.
func duplicate(err error) bool {
	reply, ok := errors.AsType[env.ServerError](err)
	return ok && reply.Code() == "1062"
}

// pending is a write that takes effect at the commit of its transaction.
type pending struct {
	left histories.Num
	end  func(histories.Num, error)
}

// begin records the write when it is made …
func (w *pending) begin(t *Till, e histories.Event) { w.end = t.Writing(e) }

// … and how the transaction ended.
func (w *pending) finish(err error) {
	if w.end != nil {
		if err != nil {
			w.left = histories.Num{}
		}
		w.end(w.left, err)
	}
}
