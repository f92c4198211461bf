package stock

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

//go:embed script.lua
var sellSource string

var sellScript = env.NewScript("sell", sellSource)

// Script sells without a lock: one Lua script checks, decrements and appends
// the order, and nothing can come between.
//
// It is right as long as the server keeps what it acknowledged. A failover
// or a restart from old data can bring sold units back.
func Script(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	if err := t.Work(ctx, p); err != nil {
		return Receipt{}, err
	}
	return sellByScript(ctx, t, p, nil)
}

func sellByScript(ctx context.Context, t *Till, p Purchase, check func() error) (Receipt, error) {
	var answer Receipt
	_, err := t.Write(ctx, histories.Event{Key: p.Key, Qty: p.Qty}, check, func() (histories.Num, error) {
		sold, n, err := pair(t.Env.Stock.Eval(ctx, sellScript, []string{p.Key, Orders(p.Key)}, p.Qty, OrderRow(p.Order, p.Qty)))
		switch {
		case err != nil:
			return histories.Num{}, err
		case sold == 0:
			answer.Seen = histories.N(n)
			return histories.Num{}, ErrSoldOut
		}
		answer.Left = histories.N(n)
		return answer.Left, nil
	})
	return answer, err
}

// pair reads the answer of a script: what it did, and a number. The error of
// a script that may have written before it failed is in doubt.
func pair(reply any, err error) (did, n int64, _ error) {
	if err != nil {
		if env.ScriptUnknown(err) {
			return 0, 0, doubt(err)
		}
		return 0, 0, err
	}
	if two, ok := reply.([]any); ok && len(two) == 2 {
		if did, err = number(two[0], nil); err == nil {
			n, err = number(two[1], nil)
		}
		return did, n, err
	}
	return 0, 0, fmt.Errorf("%w: script answered %.40v, want two numbers", env.ErrDoubt, reply)
}

var _ Sale = Script
