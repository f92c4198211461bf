package linear

import (
	"fmt"

	"github.com/lockcheck/lockcheck/histories"
)

// stock decides whether the sells, reads, restocks and cancels of one stock
// key fit some legal order that starts with initial units. ops are sorted by
// Call; other operations are passed over. covered is nil if the answer is
// exact: then c is nil if such an order exists, else the smallest
// contradiction that was found. Otherwise covered says why this history is
// beyond the exact check; then c is nil and says nothing. steps bounds the search.
//
// The idea: lay all units on a line, from the first sold to the last. A sale
// that says how many were left owns a known piece of the line; all others are
// interchangeable if they are of one size. So the only thing left open is how
// far along the line sales have come at each moment, and keeping that as
// small as possible is best for everything that comes later. docs/checking.md
// has the argument in full. Where sizes differ, or units come back, a search
// over the few states that can differ decides instead (stock_frontier.go).
func Stock(ops []*histories.Op, initial int64, steps int) (c *Contradiction, covered error) {
	ops = stockOps(ops)
	if oneSize(ops) {
		s := stockSweep{initial: initial}
		if c = s.run(ops); c != nil {
			c.Vanished = unitsVanished(ops, initial, c)
			c.Ops = smallestStock(ops, initial, c)
		}
		return c, nil
	}
	return frontierStock(ops, initial, steps)
}

// stockOps leaves out what says nothing: failures other than sold-out, sells
// that found their order taken before, reads without an answer.
func stockOps(ops []*histories.Op) []*histories.Op {
	var out []*histories.Op
	for i, op := range ops {
		if !SaysSomething(op) {
			if out == nil {
				out = append(make([]*histories.Op, 0, len(ops)), ops[:i]...)
			}
			continue
		}
		if out != nil {
			out = append(out, op)
		}
	}
	if out == nil {
		return ops
	}
	return out
}

func SaysSomething(op *histories.Op) bool {
	switch op.F {
	case histories.Sell:
		return op.Outcome == histories.OK && !op.Replay || op.Outcome == histories.Info || op.Outcome == histories.Fail && op.Error == histories.SoldOut
	case histories.Read:
		return op.Outcome == histories.OK && op.Value.Known
	case histories.Restock, histories.Cancel:
		return op.Outcome != histories.Fail
	}
	return false
}

// claims reports whether the sale says which units it took; or the restock or
// cancel, to which level it brought the stock.
func claims(op *histories.Op) bool {
	return Change(op) != 0 && op.Outcome == histories.OK && op.Left.Known
}

// blind reports whether the sale took some units and does not say which.
func blind(op *histories.Op) bool {
	return op.F == histories.Sell && op.Outcome == histories.OK && !op.Left.Known
}

// oneSize reports whether units never come back and all sells that do not
// say which units they took are of one size.
func oneSize(ops []*histories.Op) bool {
	var size int64
	for _, op := range ops {
		switch {
		case op.F == histories.Restock || op.F == histories.Cancel:
			return false
		case op.F == histories.Sell && op.Outcome != histories.Fail && !claims(op):
			if size != 0 && op.Qty != size {
				return false
			}
			size = op.Qty
		}
	}
	return true
}

// observed is the stock that a read, or a refusal, saw.
func observed(op *histories.Op) (int64, bool) {
	if op.F == histories.Read {
		return op.Value.N, true
	}
	return op.Seen.N, op.Outcome == histories.Fail && op.Seen.Known
}

// Impossible says what no stock of initial units can answer, whatever else
// happened; "" if nothing is wrong with op by itself.
func Impossible(op *histories.Op, initial int64) string {
	if v, ok := observed(op); ok {
		switch {
		case v < 0:
			return fmt.Sprintf("op %d saw %d left", op.ID, v)
		case v > initial:
			return fmt.Sprintf("op %d saw %d left of %d", op.ID, v, initial)
		case op.Outcome == histories.Fail && v >= op.Qty:
			return fmt.Sprintf("op %d was refused %d although it saw %d left", op.ID, op.Qty, v)
		}
	}
	if claims(op) {
		switch left := op.Left.N; {
		case left < 0:
			return fmt.Sprintf("op %d sold %d and left %d", op.ID, op.Qty, left)
		case left > initial-op.Qty:
			return fmt.Sprintf("op %d sold %d of %d and left %d", op.ID, op.Qty, initial, left)
		}
	}
	return ""
}
