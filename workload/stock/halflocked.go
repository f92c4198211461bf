package stock

import "context"

// HalfLocked is a known-bad sale: to save time it leaves the lock out where
// that seems safe, for whoever wants a single unit. Reported for a ticket shop
// that locked only for vouchers and seats.
//
//	A  (2 units)  acquire, read 2 ── works ──────── takes 2, release
//	B  (1 unit)              read 2 ── works ── takes 1
//
// The lock holds throughout, and protects those who take it from each other
// only. It breaks without any fault: two buyers of the last unit pass the same
// check.
func HalfLocked(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	if p.Qty > 1 {
		return Locked(ctx, t, p)
	}
	return Unlocked(ctx, t, p)
}

var _ Sale = HalfLocked
