package stock

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

//go:embed fenced_read.lua
var fencedReadSource string

//go:embed fenced_write.lua
var fencedWriteSource string

var (
	fencedRead  = env.NewScript("fenced-read", fencedReadSource)
	fencedWrite = env.NewScript("fenced-write", fencedWriteSource)
)

// Fenced shows the number of its grant to the store with the read and with
// the write. The store remembers the largest number it has seen for a lock and
// refuses smaller ones: a worker that comes late finds that someone newer has
// been there. The reader must show it too, or the late write would fall
// between the newer one's read and write:
//
//	A (5)  read 3 ── paused ─────────────── SET 2: refused
//	B (6)                    read 3 (store: 6) ───────── SET 2
//
// It promises that no two grants work from the same stock, as long as each
// grant has a larger number than the one before. Where numbers can be given
// twice (see FencedRedis), it promises nothing.
func Fenced(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	fence, largest := lease.Fence(), "fence:"+p.LockKey
	seen, err := t.Read(ctx, p.Key, func() (int64, error) {
		return admitted(t.Env.Stock.Eval(ctx, fencedRead, []string{p.Key, largest}, fence.N))
	})
	switch {
	case err != nil:
		return Receipt{}, err
	case seen < p.Qty:
		return soldOut(seen)
	}
	if err := t.Work(ctx, p); err != nil {
		return Receipt{}, err
	}
	left := histories.N(seen - p.Qty)
	e := histories.Event{Key: p.Key, Qty: p.Qty, Value: left, Fence: fence}
	left, err = t.Write(ctx, e, t.Held(lease), func() (histories.Num, error) {
		keys := []string{p.Key, Orders(p.Key), largest}
		return known(admitted(t.Env.Stock.Eval(ctx, fencedWrite, keys, fence.N, left.N, OrderRow(p.Order, p.Qty))))
	})
	return Receipt{Left: left}, err
}

// admitted reads the answer of a fenced script: a number, unless the store
// has seen a larger fence.
func admitted(reply any, err error) (int64, error) {
	did, n, err := pair(reply, err)
	if err == nil && did == 0 {
		err = fmt.Errorf("%w: the store has seen %d", ErrFenced, n)
	}
	return n, err
}

var _ Sale = Fenced
