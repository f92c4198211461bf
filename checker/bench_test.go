package checker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// bigHistory says what a generated large history is like.
type bigHistory struct {
	ops, workers, keys int
	unknown            int // percent
	told               bool
	tryLock            bool
}

// locks makes acquires and releases of a correct lock with 50 workers or so,
// spread over keys: each key is held by one worker after the other, while the
// others' acquires are open (or, with tryLock, are answered busy).
func (b bigHistory) locks() []histories.Op {
	r := rand.New(rand.NewPCG(1, uint64(b.ops)))
	now := make([]int64, b.keys)
	asked := make([][]int64, b.keys) // by worker: when it can next ask for a key
	for k := range asked {
		asked[k] = make([]int64, b.workers)
	}
	ops := make([]histories.Op, 0, b.ops)
	for i := 0; len(ops)+2 <= b.ops; i++ {
		k, w := i%b.keys, r.IntN(b.workers)
		key := fmt.Sprintf("stock:sku-%d", k)
		call := max(asked[k][w], now[k]-int64(r.IntN(50_000)))
		granted := now[k] + 1000 + int64(r.IntN(1000))
		if b.tryLock && r.IntN(3) == 0 {
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
		if r.IntN(100) < b.unknown {
			acquire.Outcome = histories.Info
		}
		if r.IntN(100) < b.unknown {
			release.Outcome = histories.Info
		}
		ops = append(ops, acquire, release)
		asked[k][w] = release.Return
		now[k] = released + int64(r.IntN(1000))
	}
	return ops
}

// sales makes sells of single units and a few reads by workers that do not
// wait for each other.
func (b bigHistory) sales() []histories.Op {
	r := rand.New(rand.NewPCG(2, uint64(b.ops)))
	left := make([]int64, b.keys)
	for k := range left {
		left[k] = int64(b.ops)
	}
	asked := make([]int64, b.workers)
	ops := make([]histories.Op, 0, b.ops)
	now := int64(0)
	for i := range b.ops {
		k, w := r.IntN(b.keys), r.IntN(b.workers)
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
		case n < b.unknown:
			op.Outcome = histories.Info
			if r.IntN(2) == 0 {
				left[k]--
			}
		case n < b.unknown+10:
			op.F, op.Order, op.Value = histories.Read, "", histories.N(left[k])
		default:
			left[k]--
			if b.told {
				op.Left = histories.N(left[k])
			}
		}
		ops = append(ops, op)
	}
	return ops
}

// byKey hands each key's operations over as Check does.
func byKey(ops []histories.Op) map[string][]*histories.Op {
	keys := map[string][]*histories.Op{}
	sorted := pointers(ops)
	for _, op := range sorted {
		keys[op.Key] = append(keys[op.Key], op)
	}
	return keys
}

func pointers(ops []histories.Op) []*histories.Op {
	out := make([]*histories.Op, len(ops))
	for i := range ops {
		out[i] = &ops[i]
	}
	return finish(out)
}

var lease = histories.LockSpec{TTL: 10 * time.Second}

// BenchmarkExact shows how the exact checks grow: from 10⁵ to 10⁶ operations
// by less than 12 times, on one key and on a hundred.
func BenchmarkExact(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		for _, keys := range []int{1, 100} {
			big := bigHistory{ops: n, workers: 50, keys: keys, unknown: 5, told: true}
			b.Run(fmt.Sprintf("lock/ops=%d/keys=%d", n, keys), func(b *testing.B) {
				parts := byKey(big.locks())
				for b.Loop() {
					for _, ops := range parts {
						if c, covered := mutex(ops, lease, nil); c != nil || covered != nil {
							b.Fatal(c, covered)
						}
					}
				}
			})
			b.Run(fmt.Sprintf("stock/ops=%d/keys=%d", n, keys), func(b *testing.B) {
				parts := byKey(big.sales())
				for b.Loop() {
					for _, ops := range parts {
						if c, covered := stock(ops, int64(n)); c != nil || covered != nil {
							b.Fatal(c, covered)
						}
					}
				}
			})
		}
	}
}
