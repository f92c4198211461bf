package checker

import (
	"github.com/lockcheck/lockcheck/histories"
)

// An unknown sell may act late, once, or never. After everything is quiet the
// audit knows which: the order is in the store or it is not.
//
// Found, and no other sell has asked for that order: the sell acted, once,
// some time between its call and the audit. The check of linearizability
// then takes it for a sell that said ok at the audit, with nothing said about
// what was left. Not found: for the accounts it did not happen. But the check
// of linearizability leaves it open all the same: a sell that died between
// its stock write and its order row has changed the stock and left no row,
// and a row may have been lost since.
//
// The history itself is never changed: patched operations are copies.

// settleSells counts the unknown sells that the audit settles.
func (r *run) settleSells(k *keyed, b *books) {
	for _, op := range k.stock {
		if op.F != histories.Sell || op.Outcome != histories.Info {
			continue
		}
		if r.settled(k, b, op) {
			b.settled++
		} else {
			b.open++
		}
	}
}

// settled reports whether the audit tells what became of an unknown sell.
func (r *run) settled(k *keyed, b *books, op *histories.Op) bool {
	if k.audit == nil || op.Order == "" || !b.listed || op.Call >= k.audit.Time {
		return false
	}
	o := b.find(op.Order)
	return o.happened() || o.rows == 0 && o.ok == 0 && r.lastsUntil(op) < k.audit.Time
}

// happened reports whether the only sell of an order is an unknown one, and
// the order is in the store once.
func (o *order) happened() bool { return o.rows == 1 && o.ok == 0 && o.unknown == 1 && o.cancels == 0 }

// lastsUntil is the last moment at which an unknown operation may act: a
// request may be late by max-delay after its worker has given up, or died.
func (r *run) lastsUntil(op *histories.Op) int64 {
	return histories.Later(r.ended(op), r.h.Header.MaxDelay)
}

// mayAct reports whether an unknown operation may still act at t: a request of
// it may be late, or its worker, that nobody killed, has never come back from it.
func (r *run) mayAct(op *histories.Op, t int64) bool {
	gone := op.Return != histories.Never || r.diesAt(op.Process, op.Call) != histories.Never
	return !gone || r.lastsUntil(op) >= t
}

// patched are the stock operations of a key, with the sells that the audit
// found to have happened as such, and cancels for as many units as they undo.
func (r *run) patched(k *keyed) []*histories.Op {
	if k.books.settled == 0 && !k.books.whole {
		return k.stock
	}
	ops := make([]*histories.Op, len(k.stock))
	for i, op := range k.stock {
		ops[i] = k.patch(op)
	}
	return ops
}

// patch is op, or what is known of it besides as a copy.
func (k *keyed) patch(op *histories.Op) *histories.Op {
	if op.Order == "" || op.Outcome == histories.Fail {
		return op
	}
	switch {
	case op.F == histories.Sell && op.Outcome == histories.Info && op.Call < k.books.audited:
		if o := k.books.find(op.Order); o.happened() {
			happened := *op
			happened.Outcome, happened.Return, happened.Qty = histories.OK, k.audit.Time, min(op.Qty, o.units())
			return &happened
		}
	case op.F == histories.Cancel && op.Whole:
		whole := *op
		whole.Qty = k.books.find(op.Order).back(op)
		return &whole
	}
	return op
}
