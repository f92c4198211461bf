package checker

import (
	"cmp"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// oversell: the units in accepted orders exceed the units that existed.
//
// Accepted are the sells that said ok together with the orders that the audit
// found, each order id once; orders that a cancel may have undone are left
// out. Stock is not asked: with absolute writes it can end at exactly 0 with
// two orders for one unit.
func (r *run) oversell(k *keyed) {
	if k.undecided(Oversell) {
		return
	}
	b := k.books
	over := b.sold() - b.limit()
	if over <= 0 {
		return
	}
	all, past := b.tooMany(k)
	v := Violation{Property: Oversell, Units: over}
	v.From, v.To = min(past[0].at, r.h.End), min(past[len(past)-1].at, r.h.End)
	v.Workers, v.Ops = culprits(past)
	rival := rivalOf(past[0], all)
	r.add(k, v, func(v *Violation) {
		v.Summary = sprintf("sold %d of %s of %s", b.sold(), count(b.limit(), "unit"), k.name)
		v.Evidence = r.saleEvidence(rival, past[0].op)
		v.Faults = r.during(since(rival, v.From), v.To)
		v.Cause, v.Because = r.whyOversold(k, rival, past[0].op)
		if v.Cause == CauseUnknown {
			v.Cause, v.Because = r.whySameUnit(k)
		}
		if v.Cause == CauseUnknown {
			v.Cause, v.Because = r.whyLost(firstChange(k.stock), v.To)
		}
	})
}

// tooMany are all promises, and those of them by which more was sold than
// existed.
func (b *books) tooMany(k *keyed) (all, past []promise) {
	var sold int64
	all = b.promises(k)
	for _, p := range all {
		if sold += p.units; sold > b.limit() {
			past = append(past, p)
		}
	}
	return all, past
}

// maxCulprits bounds the operations that one violation names.
const maxCulprits = 20

func culprits(promises []promise) (workers []histories.Process, ops []int64) {
	for _, p := range promises {
		if p.op == nil || len(ops) == maxCulprits {
			continue
		}
		ops = append(ops, p.op.ID)
		if !slices.Contains(workers, p.op.Process) {
			workers = append(workers, p.op.Process)
		}
	}
	return workers, ops
}

// rivalOf is the sale with which one sale too many makes a contradiction
// plain: one that says the same number of units was left after it, else one
// that was open at the same time, else the one before it.
func rivalOf(past promise, all []promise) *histories.Op {
	if past.op == nil {
		return nil
	}
	var overlapping, before *histories.Op
	for _, p := range all {
		switch x := p.op; {
		case x == nil || x == past.op:
		case past.op.Left.Known && x.Left == past.op.Left:
			return x
		case x.Call < past.op.Return && past.op.Call < x.Return:
			overlapping = x
		case p.at <= past.at:
			before = x
		}
	}
	if overlapping != nil {
		return overlapping
	}
	return before
}

func since(op *histories.Op, t int64) int64 {
	if op == nil {
		return t
	}
	return min(op.Call, t)
}

// saleEvidence lists two sales with what they read and wrote, in order of time.
func (r *run) saleEvidence(sales ...*histories.Op) []int64 {
	var ops []*histories.Op
	for _, sale := range sales {
		if sale == nil {
			continue
		}
		ops = append(ops, sale)
		for _, step := range r.steps(sale) {
			if step.F == histories.Read || step.F == histories.Write {
				ops = append(ops, step)
			}
		}
	}
	slices.SortStableFunc(ops, func(a, b *histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	return evidence(ops...)
}

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
	if c, covered := stock(all, r.h.Header.StockOf(k.name), r.firstSteps(len(all))); c != nil || covered != nil {
		return
	}
	for _, o := range maybe[:min(len(maybe), maxProofs, maxProofWork/len(all))] {
		without := slices.DeleteFunc(slices.Clone(all), func(op *histories.Op) bool {
			return op.F == histories.Sell && op.Order == o.id && op.Outcome == histories.Info
		})
		if c, covered := stock(without, r.h.Header.StockOf(k.name), r.firstSteps(len(all))); c != nil && covered == nil {
			r.duplicateOrder(k, o, 2)
		}
	}
}
