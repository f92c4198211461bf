package stock

import "context"

// Nested is the sale of the first article's pit 5: it takes the lock, and
// the step inside takes the same lock again.
//
// With a lock that is not re-entrant the worker waits for itself, gives up,
// and sells nothing ever. With a re-entrant one it sells, and must leave as
// often as it entered.
func Nested(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)
	return Locked(ctx, t, p)
}

var _ Sale = Nested
