package checker

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// books are the accounts of one stock key: what its operations say on the one
// side, what the audit found in the store on the other.
type books struct {
	had       int64 // initial units and ok restocks
	maybeHad  int64 // units of restocks of unknown outcome
	orders    []order
	byID      orderIndex
	nameless  []*histories.Op // accepted sells without an order id
	unnamed   int64           // units of unknown sells without an order id
	sells     int             // of any outcome
	accepted  int             // sells that said ok
	listed    bool            // the audit lists orders, if it has any
	cancelled int64           // units of cancels of unknown outcome

	settled, open int // unknown sells that the audit settled, and that it did not
}

// maxUnits bounds quantities, so that no sum of them overflows: a history may
// say anything.
const maxUnits = 1 << 40

func units(n int64) int64 { return min(max(n, -maxUnits), maxUnits) }

// order is what is known of one order id.
type order struct {
	id      string
	tag     uint32 // of its id's hash
	qty     int64  // units of one sell, as its operation or else its row says
	rowQty  int64  // units of all its rows
	rows    int32  // in the audit
	took    int32  // sells that said ok and were no replay
	ok      int32  // sells that said ok, replays included
	unknown int32  // sells of unknown outcome
	cancels int32  // that said ok or may have acted
	first   int32  // into keyed.stock: the first accepted sell, else the first unknown one; -1: none
	last    int32  // into keyed.stock: the last sell that was accepted or is unknown
}

// accepted reports whether the shop has promised the units of this order.
func (o *order) accepted() bool { return (o.ok > 0 || o.rows > 0) && o.cancels == 0 }

// units are those that one order is for, however often it took effect.
func (o *order) units() int64 {
	if o.qty > 0 {
		return o.qty
	}
	return o.rowQty / int64(max(o.rows, 1))
}

// keepBooks reads the operations and the audit of a key.
func (r *run) keepBooks(k *keyed) *books {
	b := &books{had: units(r.h.Header.StockOf(k.name)), listed: r.listsOrders}
	b.makeRoom(k)
	for i, op := range k.stock {
		switch op.F {
		case histories.Sell:
			b.sell(op, int32(i))
		case histories.Restock:
			if op.Outcome == histories.OK {
				b.had += units(op.Qty)
			} else if op.Outcome == histories.Info {
				b.maybeHad += units(op.Qty)
			}
		case histories.Cancel:
			if op.Outcome != histories.Fail {
				b.cancel(op)
			}
		}
	}
	if k.audit != nil {
		for _, row := range k.audit.Orders {
			o := b.order(row.ID)
			o.rows = bump(o.rows)
			o.rowQty += units(max(row.Qty, 1))
		}
	}
	r.settleSells(k, b)
	return b
}

func bump(n int32) int32 { return min(n, math.MaxInt32-1) + 1 }

func (b *books) sell(op *histories.Op, at int32) {
	b.sells++
	switch {
	case op.Outcome == histories.Fail:
		return
	case op.Outcome == histories.OK:
		b.accepted++
	}
	if op.Order == "" {
		if op.Outcome == histories.OK && !op.Replay {
			b.nameless = append(b.nameless, op)
		} else if op.Outcome == histories.Info {
			b.unnamed += units(op.Qty)
		}
		return
	}
	o := b.order(op.Order)
	o.last = at
	if op.Outcome == histories.Info {
		o.unknown = bump(o.unknown)
		if o.first < 0 {
			o.first, o.qty = at, units(op.Qty)
		}
		return
	}
	if o.ok == 0 {
		o.first = at
	}
	o.qty = max(o.qty, units(op.Qty))
	o.ok = bump(o.ok)
	if !op.Replay {
		o.took = bump(o.took)
	}
}

func (b *books) cancel(op *histories.Op) {
	o := b.order(op.Order)
	o.cancels = bump(o.cancels)
	if op.Outcome == histories.Info {
		b.cancelled += max(units(op.Qty), o.units())
	}
}

// promise is one accepted order, with the operation that tells of it.
type promise struct {
	op    *histories.Op // nil if only a row tells of it
	order string
	units int64
	at    int64 // when it was accepted, as far as known
}

// promises are the accepted orders: the sells that said ok together with the
// rows of the audit, each order once, by the time of their acceptance.
func (b *books) promises(k *keyed) []promise {
	var all []promise
	for i := range b.orders {
		o := &b.orders[i]
		if !o.accepted() {
			continue
		}
		p := promise{order: o.id, units: o.units(), at: histories.Never}
		if o.first >= 0 {
			p.op = k.stock[o.first]
			if p.at = p.op.Return; p.op.Outcome != histories.OK {
				p.at = p.op.Call
			}
		}
		all = append(all, p)
	}
	for _, op := range b.nameless {
		all = append(all, promise{op: op, units: units(op.Qty), at: op.Return})
	}
	slices.SortStableFunc(all, func(x, y promise) int { return cmp.Compare(x.at, y.at) })
	return all
}

// sold is the number of units in accepted orders.
func (b *books) sold() int64 {
	var sum int64
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
