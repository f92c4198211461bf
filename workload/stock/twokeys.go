package stock

import "context"

// giftWrap is the lock key of the article that goes with every order.
const giftWrap = "stock:sku-0"

// TwoKeys is a known-bad sale: it needs two locks, its article's and that of
// the gift wrap, and takes them in no fixed order: one half of the workers has
// the wrap first. Reported for Redisson, and mended elsewhere by one order for
// all.
//
//	A  acquire article ── waits for the wrap ─────────── gives up
//	B      acquire wrap ── waits for the article ─────── gives up
//
// Nothing is ever sold wrongly. It breaks without any fault: each holds what
// the other waits for, until their patience ends, and hardly anybody buys.
func TwoKeys(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	keys := []string{p.LockKey, giftWrap}
	switch {
	case p.LockKey == giftWrap:
		keys = keys[:1]
	case t.Env.Worker%2 == 1:
		keys[0], keys[1] = keys[1], keys[0]
	}
	for _, key := range keys {
		lease, err := t.Acquire(ctx, key)
		if err != nil {
			return Receipt{}, err
		}
		defer t.Release(ctx, lease)
	}
	if _, r, err := look(ctx, t, p); err != nil {
		return r, err
	}
	return take(ctx, t, p, nil)
}

var _ Sale = TwoKeys
