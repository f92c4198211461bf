package stock

import "context"

// Unlocked is the anti-pattern that the first article begins with: read,
// check, work, DECRBY, and no lock around it. It oversells without any fault,
// as soon as two workers read the same last unit.
func Unlocked(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	if _, r, err := look(ctx, t, p); err != nil {
		return r, err
	}
	return take(ctx, t, p, nil)
}

var _ Sale = Unlocked
