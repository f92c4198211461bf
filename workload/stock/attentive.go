package stock

import "context"

// Attentive is Locked by a worker that listens to its lock: right before it
// writes it looks whether the lease has ended, by the deadline that the lock
// shows or a notice that it gave, and then does not write.
//
// It is as safe as the lock up to a small window: a worker that is paused, or
// a request that is delayed, between that look and the write acts late, and
// nothing at the store stops it.
func Attentive(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	if _, r, err := look(ctx, t, p); err != nil {
		return r, err
	}
	return take(ctx, t, p, t.Held(lease))
}

var _ Sale = Attentive
