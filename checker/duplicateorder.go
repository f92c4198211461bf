package checker

import (
	"slices"

	"github.com/lockcheck/lockcheck/checker/linear"
	"github.com/lockcheck/lockcheck/histories"
)

// duplicateOrders: one order id took effect more than once: two rows in the
// store, or two sells that said ok without being replays, net of cancels.
// Where the audit lists no orders, the stock that sells say was left may
// prove that an unknown sell of the same order acted as well.
func (r *run) duplicateOrders(k *keyed) {
	b := k.books
	var maybe []*order
	for i := range b.orders {
		o := &b.orders[i]
		switch times := max(o.rows, o.took-o.cancels); {
		case times > 1:
			r.duplicateOrder(k, o, times)
		case !b.listed && o.took == 1 && o.unknown > 0 && o.cancels == 0:
			maybe = append(maybe, o)
		}
	}
	r.provenDuplicates(k, maybe)
}

func (r *run) duplicateOrder(k *keyed, o *order, times int32) {
	v := Violation{Property: DuplicateOrder, Orders: []string{o.id}, Units: o.units() * int64(times-1)}
	if o.first >= 0 {
		v.From = k.stock[o.last].Call
	} else if k.audit != nil {
		v.From = k.audit.Time
	}
	v.To = v.From
	r.add(k, v, func(v *Violation) {
		v.Summary = sprintf("order %s of %s took effect %d times", v.Orders[0], k.name, times)
		ops := k.sellsOf(v.Orders[0])
		r.blame(v, ops)
		if len(ops) > 0 {
			v.To = min(ops[len(ops)-1].Return, r.h.End)
			v.Faults = r.during(ops[0].Call, v.To)
		}
		v.Cause, v.Because = r.whyTwice(k, ops)
	})
}

// sellsOf are the sells of one order that acted or may have.
func (k *keyed) sellsOf(id string) []*histories.Op {
	var ops []*histories.Op
	for _, op := range k.stock {
		if op.F == histories.Sell && op.Order == id && op.Outcome != histories.Fail && len(ops) < maxCulprits {
			ops = append(ops, op)
		}
	}
	return ops
}

// whyTwice explains how one order took effect twice.
func (r *run) whyTwice(k *keyed, ops []*histories.Op) (Cause, string) {
	for i, op := range ops {
		if op.Outcome == histories.Info && i+1 < len(ops) {
			return RetriedBlind, sprintf("op %d had an unknown outcome, and %s tried the same order again with op %d", op.ID, workerName(ops[i+1].Process), ops[i+1].ID)
		}
	}
	switch {
	case len(ops) == 1:
		return RetriedBlind, sprintf("op %d acted more than once: something repeated a request that had no answer", ops[0].ID)
	case len(ops) > 1:
		return r.whyOversold(k, ops[0], ops[1])
	}
	return CauseUnknown, ""
}

// Proofs by exclusion judge a key anew each: these bound how many are tried,
// and the operations of all together.
const (
	maxProofs    = 16
	maxProofWork = 1 << 20
)

// provenDuplicates tries, for each order with one ok and one unknown sell,
// whether the history still fits an order if the unknown one never acted. If
// it does not, but does with it, both acted.
func (r *run) provenDuplicates(k *keyed, maybe []*order) {
	if len(maybe) == 0 || k.books.vague != nil {
		return
	}
	all := r.patched(k)
	if c, covered := linear.Stock(all, r.h.Header.StockOf(k.name), r.firstSteps(len(all))); c != nil || covered != nil {
		return
	}
	for _, o := range maybe[:min(len(maybe), maxProofs, maxProofWork/len(all))] {
		without := slices.DeleteFunc(slices.Clone(all), func(op *histories.Op) bool {
			return op.F == histories.Sell && op.Order == o.id && op.Outcome == histories.Info
		})
		if c, covered := linear.Stock(without, r.h.Header.StockOf(k.name), r.firstSteps(len(all))); c != nil && covered == nil {
			r.duplicateOrder(k, o, 2)
		}
	}
}
