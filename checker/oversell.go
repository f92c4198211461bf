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
