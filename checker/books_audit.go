package checker

import (
	"github.com/lockcheck/lockcheck/histories"
)

// balance compares the stock that the audit of a key found with the orders.
//
//	          ┌ audit
//	─ ok ─┤   │      it must have seen this
//	     ├────┼─ ok  it may have seen this
//	          │ ├──  it cannot have seen this
//
// What it must have seen counts. What it may have seen, and may have seen in
// the stock but not in the orders or the other way round, widens the
// comparison: gone less booked may be anything from low, 0 or less, to high,
// 0 or more.
type balance struct {
	gone, booked int64 // units that left the stock, units in orders
	low, high    int64
	across       int64 // of high: units of sells that said ok when the audit had begun to look

	half []*histories.Op // unknown sells without a row that can act no more: they may have stopped after the stock
}

func (r *run) balance(k *keyed) balance {
	b := k.books
	s := balance{gone: b.hadThen - units(k.audit.Value.N), booked: b.inRows + b.rowless}
	if !b.listed {
		b.bookSells(&s)
	}
	for _, op := range k.stock {
		switch qty := units(op.Qty); {
		case op.Call > b.audited:
			return s
		case op.Outcome == histories.Fail || b.seen(op):
		case op.F == histories.Sell:
			r.mayHaveSold(k, op, &s)
		case op.F == histories.Restock, op.F == histories.Cancel && op.Order == "":
			s.low -= qty
		case op.F == histories.Cancel:
			qty = b.find(op.Order).mayGiveBack(op)
			s.low -= qty
			s.high += qty
		}
	}
	return s
}

// bookSells takes the orders from the sells that said ok, where the audit
// lists none. An order that was cancelled may have been sold again: how much
// is left of it only the sum of both tells. Of one that was accepted twice the
// second sell may have found the first; that it did not is a violation of its
// own.
func (b *books) bookSells(s *balance) {
	for i := range b.orders {
		switch o := &b.orders[i]; {
		case o.undone > 0:
			s.booked += o.net
			s.low -= o.spare
			if o.mixed && b.whole { // which of its sells each cancel undid is not known
				s.low -= o.qty * int64(o.undone)
				s.high += o.qty * int64(o.undone)
			}
		case o.net > 0:
			s.booked += o.net
			if o.took > 1 {
				s.low -= o.net
			}
		case o.kept >= 0: // a replay, of a sell in doubt
			s.booked += o.units()
		}
	}
}

// mayHaveSold widens the comparison by a sell that the audit may have seen. If
// its order has a row it is settled, and explains nothing more; nor does one
// without a row that can act no more, for then the units have gone and no order
// will come. Only while it may act is it in doubt.
func (r *run) mayHaveSold(k *keyed, op *histories.Op, s *balance) {
	b, qty := k.books, units(op.Qty)
	switch {
	case op.Outcome == histories.OK && op.Replay:
		return
	case op.Outcome == histories.OK:
		s.low -= qty
		s.high += qty
		s.across += qty
		return
	case r.mayAct(op, b.audited):
		s.low -= qty
		s.high += qty
		return
	case op.Order == "":
		s.high += qty
		return
	}
	switch o := b.find(op.Order); {
	case o.rows > 0:
	case b.listed:
		s.half = append(s.half, op)
	case o.kept < 0, o.undone > 0:
		s.high += qty
	case o.took == 0: // a replay was accepted: of what, one of these says
		s.high += max(qty-o.units(), 0)
	}
}
