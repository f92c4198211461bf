package stock

import (
	"context"

	"github.com/lockcheck/lockcheck/histories"
)

// FenceWriteOnly is a known-bad sale: the store looks at the number of the
// grant when it is written to, and only then. This is what the texts on fencing
// tokens seem to ask for.
//
//	A (5)  read 1 ── paused beyond the TTL ── SET 0: 5 is the largest yet
//	B (6)                           read 1 ─────────── SET 0: 6 is larger
//
// It promises that a worker that comes late is refused. It breaks where the
// newer one has read and not yet written: the store has not seen its number,
// and both orders stand. Fenced shows the number with the read too.
func FenceWriteOnly(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	seen, r, err := look(ctx, t, p)
	if err != nil {
		return r, err
	}
	fence, left := lease.Fence(), histories.N(seen-p.Qty)
	e := histories.Event{Key: p.Key, Qty: p.Qty, Value: left, Fence: fence}
	left, err = t.Write(ctx, e, nil, func() (histories.Num, error) {
		keys := []string{p.Key, Orders(p.Key), "fence:" + p.LockKey}
		return known(admitted(t.Env.Stock.Eval(ctx, fencedWrite, keys, fence.N, left.N, OrderRow(p.Order, p.Qty))))
	})
	return Receipt{Left: left}, err
}

var _ Sale = FenceWriteOnly
