// Package sample makes large histories, and writes operations as a history, for
// tests of the checker.
package sample

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockcheck/lockcheck/histories"
)

// Large says what a generated large history is like.
type Large struct {
	Ops, Workers, Keys int
	Unknown            int  // percent of unknown outcome
	Told               bool // sales say what they left
	TryLock            bool // an acquire may be refused at once
}

// Locks makes acquires and releases of a correct lock with 50 workers or so,
// spread over keys: each key is held by one worker after the other, while the
// others' acquires are open (or, with TryLock, are answered busy).
func (b Large) Locks() []histories.Op {
	r := rand.New(rand.NewPCG(1, uint64(b.Ops)))
	now := make([]int64, b.Keys)
	asked := make([][]int64, b.Keys) // by worker: when it can next ask for a key
	for k := range asked {
		asked[k] = make([]int64, b.Workers)
	}
	ops := make([]histories.Op, 0, b.Ops)
	for i := 0; len(ops)+2 <= b.Ops; i++ {
		k, w := i%b.Keys, r.IntN(b.Workers)
		key := fmt.Sprintf("stock:sku-%d", k)
		call := max(asked[k][w], now[k]-int64(r.IntN(50_000)))
		granted := now[k] + 1000 + int64(r.IntN(1000))
		if b.TryLock && r.IntN(3) == 0 {
			ops = append(ops, histories.Op{
				ID: int64(len(ops) + 1), Process: histories.Process(w), F: histories.Acquire, Key: key, Qty: 1,
				Call: now[k], Return: now[k] + 500, Outcome: histories.Fail, Error: histories.Busy,
			})
			asked[k][w] = now[k] + 500
			continue
		}
		acquire := histories.Op{
			ID: int64(len(ops) + 1), Process: histories.Process(w), F: histories.Acquire, Key: key, Qty: 1,
			Call: call, Return: granted, Outcome: histories.OK, Token: fmt.Sprintf("t-%d", i),
		}
		released := granted + 1000 + int64(r.IntN(5000))
		release := histories.Op{
			ID: acquire.ID + 1, Process: acquire.Process, F: histories.Release, Key: key, Qty: 1,
			Call: released, Return: released + 1000, Outcome: histories.OK, Token: acquire.Token,
		}
		if r.IntN(100) < b.Unknown {
			acquire.Outcome = histories.Info
		}
		if r.IntN(100) < b.Unknown {
			release.Outcome = histories.Info
		}
		ops = append(ops, acquire, release)
		asked[k][w] = release.Return
		now[k] = released + int64(r.IntN(1000))
	}
	return ops
}

// Sales makes sells of single units and a few reads by workers that do not
// wait for each other.
func (b Large) Sales() []histories.Op {
	r := rand.New(rand.NewPCG(2, uint64(b.Ops)))
	left := make([]int64, b.Keys)
	for k := range left {
		left[k] = int64(b.Ops)
	}
	asked := make([]int64, b.Workers)
	ops := make([]histories.Op, 0, b.Ops)
	now := int64(0)
	for i := range b.Ops {
		k, w := r.IntN(b.Keys), r.IntN(b.Workers)
		now += 100
		call := max(asked[w], now-int64(r.IntN(4000)))
		at := max(call, now)
		op := histories.Op{
			ID: int64(i + 1), Process: histories.Process(w), F: histories.Sell, Key: fmt.Sprintf("sku-%d", k), Qty: 1,
			Order: fmt.Sprintf("o-%d", i), Call: call, Return: at + 1 + int64(r.IntN(4000)), Outcome: histories.OK,
		}
		asked[w] = op.Return
		now = max(now, at)
		switch n := r.IntN(100); {
		case n < b.Unknown:
			op.Outcome = histories.Info
			if r.IntN(2) == 0 {
				left[k]--
			}
		case n < b.Unknown+10:
			op.F, op.Order, op.Value = histories.Read, "", histories.N(left[k])
		default:
			left[k]--
			if b.Told {
				op.Left = histories.N(left[k])
			}
		}
		ops = append(ops, op)
	}
	return ops
}
