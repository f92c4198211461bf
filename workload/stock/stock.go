// Package stock says how stock is kept and sold: one file for each way of
// selling, Lua beside them in .lua files. Some are right with a good lock,
// some need none, some are known to be bad whatever the lock: the doc comment
// of each says which.
//
// A way of selling is a Sale: a function that makes one Purchase at a Till.
// The Till has the worker's world, its lock and its shelves, and records each
// step (acquire, read, write, release) as the sale goes. What a Sale touches
// of the world it touches through the Till and the Env in it (a test of
// package workload holds that).
//
// Start with Locked, the sale that both articles make; Till and its errors
// are in till.go. The locks are in package lock, the catalogue that puts
// locks and sales together in package workload.
package stock

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Purchase is what a customer wants.
type Purchase struct {
	Key      string        // of the stock: "sku-2#7", batch 7 of a SKU
	LockKey  string        // of the lock that guards it: "stock:sku-2"
	Qty      int64         // units
	Order    string        // order id: the same id means the same intent
	Customer string        // who buys
	Work     time.Duration // how long the business step takes
}

// Receipt is what the customer is told.
type Receipt struct {
	Left   histories.Num // stock after it, if it sold
	Seen   histories.Num // stock seen, if it was sold out
	Replay bool          // sold, because the same order had been taken before
}

// Source is the source of this package: the catalogue quotes its comments.
//
//go:embed *.go
var Source embed.FS

// Sale makes one purchase. Its error is nil (sold), ErrSoldOut or
// env.ErrBusy (refused), one that wraps ErrUntouched (stopped before it
// changed anything), or else classified by env.Unknown.
type Sale func(ctx context.Context, t *Till, p Purchase) (Receipt, error)

// Errors of sales.
var (
	// ErrSoldOut: fewer units were left than were wanted; nothing changed.
	ErrSoldOut = errors.New("sold out")
	// ErrUntouched goes around an error (%w: %w) that stopped a sale before
	// its first write: whatever that error is, stock and orders are as they were.
	ErrUntouched = errors.New("nothing sold")
	// ErrLeaseOver: the lease showed that it had ended, so its worker did
	// not write.
	ErrLeaseOver = errors.New("lease over")
	// ErrFenced: the store has seen a larger number and refused the write.
	ErrFenced = errors.New("fenced off")
	// ErrChanged: the stock was no longer what had been read, so the store
	// refused the write.
	ErrChanged = errors.New("stock has changed")
)

// soldOut is the answer of a shop that has seen n units and no more.
func soldOut(n int64) (Receipt, error) {
	return Receipt{Seen: histories.N(n)}, ErrSoldOut
}

// Orders is the name of the Redis list with the orders of a stock key. The
// braces keep both in one slot of a Redis Cluster.
func Orders(key string) string { return "orders:{" + key + "}" }

// OrderRow is how an order stands in that list.
func OrderRow(id string, qty int64) string { return id + ":" + strconv.FormatInt(qty, 10) }

// number reads a reply that should be a number. A missing key counts as 0,
// as it does in the languages of the articles.
func number(reply any, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	switch v := reply.(type) {
	case nil:
		return 0, nil
	case int64:
		return v, nil
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: answer %.40v, want a number", env.ErrDoubt, reply)
}

// read reads the stock in Redis.
func read(ctx context.Context, t *Till, key string) (int64, error) {
	return t.Read(ctx, key, func() (int64, error) {
		return number(t.Env.Stock.Do(ctx, "GET", key))
	})
}

// appendOrder appends the order in Redis, as a step of its own after the
// stock was written: whatever goes wrong now, the sale is in doubt.
func appendOrder(ctx context.Context, t *Till, p Purchase) error {
	if err := t.Step(ctx, "before-order"); err != nil {
		return doubt(err)
	}
	_, err := t.Env.Stock.Do(ctx, "RPUSH", Orders(p.Key), OrderRow(p.Order, p.Qty))
	return doubt(err)
}

// doubt marks the error of a step after another that acted. It hides what
// the error was: that this step did nothing no longer matters.
func doubt(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %v", env.ErrDoubt, err)
}

// untouched marks an error that came before the first write.
func untouched(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUntouched, err)
}

// Unknown reports whether a sale, or a step of one, that ended with err may
// have changed anything, or may yet.
func Unknown(err error) bool {
	for _, definite := range []error{ErrUntouched, ErrSoldOut, ErrFenced, ErrChanged, ErrTaken} {
		if errors.Is(err, definite) {
			return false
		}
	}
	return env.Unknown(err)
}
