package checker

import (
	"cmp"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// promise is one accepted order, with the operation that tells of it.
type promise struct {
	op    *histories.Op // nil if only a row tells of it
	order string
	units int64
	at    int64 // when it was accepted, as far as known
}

// promises are the accepted orders: the sells that said ok together with the
// rows of the audit, each order once, by the time of their acceptance. Rows
// that nameless sells cover are told by these.
func (b *books) promises(k *keyed) []promise {
	var all []promise
	covered := b.covered
	alone := func(id string, units int64) {
		by := min(units, covered)
		if covered -= by; units > by {
			all = append(all, promise{order: id, units: units - by, at: histories.Never})
		}
	}
	alone("", b.noID)
	for i := range b.orders {
		o := &b.orders[i]
		switch {
		case !o.accepted():
		case o.first < 0:
			alone(o.id, o.units())
		default:
			p := promise{op: k.stock[o.first], order: o.id, units: o.units()}
			if p.at = p.op.Return; p.op.Outcome != histories.OK {
				p.at = p.op.Call
			}
			all = append(all, p)
		}
	}
	for _, op := range b.nameless {
		all = append(all, promise{op: op, units: units(op.Qty), at: op.Return})
	}
	slices.SortStableFunc(all, func(x, y promise) int { return cmp.Compare(x.at, y.at) })
	return all
}

// sold is the number of units in accepted orders.
func (b *books) sold() int64 {
	sum := b.noID - b.covered
	for i := range b.orders {
		if o := &b.orders[i]; o.accepted() {
			sum += o.units()
		}
	}
	for _, op := range b.nameless {
		sum += units(op.Qty)
	}
	return sum
}

// limit is the largest number of units that can have existed.
func (b *books) limit() int64 { return max(b.had+b.maybeHad, 0) }
