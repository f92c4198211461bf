package stock

import "context"

// Forgetful is the sale of the first article's pit 4: the release stands
// after the business step, not in a finally. A customer who is refused leaves
// the lock behind, a zombie until its TTL.
//
// Nothing is sold twice; it costs everybody else the rest of the TTL.
func Forgetful(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	if _, r, err := look(ctx, t, p); err != nil {
		return r, err
	}
	r, err := take(ctx, t, p, nil)
	if err != nil {
		return r, err
	}
	t.Release(ctx, lease)
	return r, nil
}

var _ Sale = Forgetful
