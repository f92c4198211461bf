package stock

import "context"

// Renewing sells like Overwriting, but renews its lease right before it
// writes and goes on only if the renewal said ok: right with a renewal that is
// refused once the lease has ended, wrong with one that takes the lock again
// (see RenewResurrect).
func Renewing(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	seen, r, err := look(ctx, t, p)
	if err != nil {
		return r, err
	}
	if err := t.Extend(ctx, lease); err != nil {
		return Receipt{}, err
	}
	return overwrite(ctx, t, p, seen)
}

var _ Sale = Renewing
