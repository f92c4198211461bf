package checker

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lockcheck/lockcheck/histories"
)

// mismatch: the books of a key do not balance. Two ledgers are compared.
//
// Store against store: the units that left the stock (initial + restocked −
// audited) against the units in the order rows that the audit found. Both
// are exact once everything is quiet. What widens the comparison is only what
// may have moved stock without a row and may do so by right: restocks and cancels
// of unknown outcome. An unknown sell that can act no more explains nothing: its
// order has a row, or its units are gone for nobody (see leaked). What may act
// after the audit, or was not answered by then, widens it both ways; what was
// called after it is not in it. See balance.
//
// Promises against store: an order that was accepted before the audit, and not
// cancelled, must be among the rows. A store that lost both its row and its stock write in a
// failover balances by itself, but not with what the customers were told.
func (r *run) mismatch(k *keyed) {
	if k.audit == nil {
		r.notAudited(k)
		return
	}
	lost := r.lostOrders(k)
	if !k.audit.Value.Known {
		r.notAudited(k)
		return
	}
	if k.undecided(StockMismatch) {
		return
	}
	s := r.balance(k)
	off := s.gone - s.booked
	k.books.doubt = max(off-s.across, 0)
	switch {
	case off > s.high+lost: // a lost order may have taken its units or not
		r.leaked(k, &s, lost)
	case off < s.low:
		r.invented(k, s.gone, s.booked, -off)
	}
}

// notAudited answers unknown for a key with sales that the audits passed over.
// A history without any audit was not made to be asked; nor is who trusts it.
func (r *run) notAudited(k *keyed) {
	if k.books.sells > 0 && len(r.h.Audits) > 0 && !r.opt.Trust {
		k.of(StockMismatch).advice = adviseAudit
		k.of(StockMismatch).unknown = sprintf("the stock of %s was not audited", k.name)
	}
}

// lostOrders reports accepted orders that the store no longer has, and
// answers how many units they are.
func (r *run) lostOrders(k *keyed) int64 {
	b := k.books
	if !b.listed {
		return 0
	}
	v := Violation{Property: StockMismatch}
	var ops []*histories.Op
	for i := range b.orders {
		o := &b.orders[i]
		if o.kept < 0 || o.rows > 0 || o.undone > 0 {
			continue
		}
		v.Units += o.units()
		v.Orders = append(v.Orders, o.id)
		ops = append(ops, k.stock[o.kept])
	}
	if len(ops) == 0 {
		return 0
	}
	slices.SortStableFunc(ops, func(a, b *histories.Op) int { return cmp.Compare(a.Return, b.Return) })
	v.From, v.To = ops[0].Return, k.audit.Time
	r.blame(&v, ops)
	r.add(k, v, func(v *Violation) {
		v.Summary = sprintf("%s of %s that had been accepted %s not in the store: %s", count(len(ops), "order"), k.name, isAre(len(ops)), few(v.Orders))
		v.Orders = v.Orders[:min(len(v.Orders), maxCulprits)]
		v.Faults = r.during(ops[0].Call, v.To)
		v.Cause, v.Because = r.whyLost(ops[0].Call, v.To)
	})
	return v.Units
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (r *run) blame(v *Violation, ops []*histories.Op) {
	for _, op := range ops[:min(len(ops), maxCulprits)] {
		v.Ops = append(v.Ops, op.ID)
		if !slices.Contains(v.Workers, op.Process) {
			v.Workers = append(v.Workers, op.Process)
		}
	}
	if v.Evidence == nil {
		v.Evidence = v.Ops
	}
}

// untilAudit are the stock operations that the audit may have seen.
func (k *keyed) untilAudit() []*histories.Op {
	n := sort.Search(len(k.stock), func(i int) bool { return k.stock[i].Call > k.books.audited })
	return k.stock[:n]
}

// actedTwice are unknown sells whose order is in the store because of another
// sell: if they took stock as well, the order took it twice.
func (r *run) actedTwice(k *keyed) []*histories.Op {
	var ops []*histories.Op
	for _, op := range k.untilAudit() {
		if op.F != histories.Sell || op.Outcome != histories.Info || op.Order == "" {
			continue
		}
		if o := k.books.find(op.Order); o.rows > 0 && o.ok > 0 {
			ops = append(ops, op)
		}
	}
	return ops
}

// invented: the orders have more units than left the stock. Of two sales that took
// the same unit the later one wrote over the other.
func (r *run) invented(k *keyed, gone, booked, units int64) {
	v := Violation{Property: StockMismatch, Units: units, From: k.audit.Time, To: k.audit.Time}
	overwriters, first := sameUnits(k.untilAudit())
	again, cancel := k.cancelledAgain()
	suspects := overwriters
	if len(suspects) == 0 {
		suspects = again
	}
	if len(suspects) > 0 {
		v.From = min(v.From, suspects[0].Return)
		r.blame(&v, suspects)
	}
	r.add(k, v, func(v *Violation) {
		v.Summary = sprintf("the books of %s do not balance: %s, the orders have %d: %s too many in the stock",
			k.name, leftStock(gone), booked, count(units, "unit"))
		switch {
		case len(overwriters) == 0 && len(again) > 0:
			v.Evidence = evidence(cancel, again[0])
			v.Because = sprintf("op %d cancelled order %s, which op %d had cancelled before: its units may have come back twice", again[0].ID, again[0].Order, cancel.ID)
		case len(overwriters) > 0:
			v.Evidence = r.saleEvidence(first, overwriters[0])
			v.Cause, v.Because = r.whyOversold(k, first, overwriters[0])
		default:
			v.Cause, v.Because = r.whyLost(0, v.To)
		}
		v.Faults = r.during(v.From, v.To)
	})
}

// cancelledAgain are cancels of orders that had been cancelled before and were sold
// once, and the cancel before the first of them.
func (k *keyed) cancelledAgain() (again []*histories.Op, first *histories.Op) {
	before := map[string]*histories.Op{}
	for _, op := range k.untilAudit() {
		if op.F != histories.Cancel || op.Order == "" || op.Outcome == histories.Fail {
			continue
		}
		switch o := k.books.find(op.Order); {
		case before[op.Order] == nil:
			before[op.Order] = op
		case o.took+o.unknown <= 1:
			if again = append(again, op); first == nil {
				first = before[op.Order]
			}
		}
	}
	return again, first
}

// sameUnits finds sells that took a unit which another had taken, by what they say
// was left: of each two the one that was answered later. They come by time, and with
// them the rival of the first.
//
//	A  5 ──▶ 3   units 5 and 4
//	B  5 ──▶ 4   unit 5
func sameUnits(ops []*histories.Op) (later []*histories.Op, first *histories.Op) {
	var sells []*histories.Op
	for _, op := range ops {
		switch {
		case op.F == histories.Restock || op.F == histories.Cancel:
			return nil, nil // stock may come back to a number by right
		case op.F == histories.Sell && op.Outcome == histories.OK && op.Left.Known && !op.Replay:
			sells = append(sells, op)
		}
	}
	byReturn := func(a, b *histories.Op) int { return cmp.Compare(a.Return, b.Return) }
	slices.SortStableFunc(sells, func(a, b *histories.Op) int {
		return cmp.Or(cmp.Compare(a.Left.N, b.Left.N), byReturn(a, b))
	})
	rival := map[*histories.Op]*histories.Op{}
	for i, top := 1, 0; i < len(sells); i++ {
		a, b := sells[top], sells[i]
		if b.Left.N < a.Left.N+a.Qty {
			if byReturn(a, b) > 0 {
				a, b = b, a
			}
			if rival[b] == nil {
				later = append(later, b)
				rival[b] = a
			}
		}
		if sells[i].Left.N+sells[i].Qty > sells[top].Left.N+sells[top].Qty {
			top = i
		}
	}
	slices.SortStableFunc(later, byReturn)
	if len(later) > 0 {
		first = rival[later[0]]
	}
	return later, first
}
