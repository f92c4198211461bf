package checker

import (
	"github.com/lockcheck/lockcheck/histories"
)

// leaders are the latest-ending holds seen so far, of different workers. Two
// are enough to know the latest of another worker than a given one.
type leaders [3]*hold

// see takes in a hold.
func (l *leaders) see(h *hold) {
	for i, x := range l {
		if x != nil && x.worker() == h.worker() {
			if h.to <= x.to {
				return
			}
			copy(l[i:], l[i+1:])
			l[len(l)-1] = nil
			break
		}
	}
	for i, x := range l {
		if x == nil || h.to > x.to {
			copy(l[i+1:], l[i:])
			l[i] = h
			return
		}
	}
}

// other is the latest-ending hold of another worker than p, nil if there is none.
func (l *leaders) other(p histories.Process) *hold {
	for _, x := range l {
		if x != nil && x.worker() != p {
			return x
		}
	}
	return nil
}

// doubleHolds finds beliefs of two workers that overlap by more than zero
// time. Each hold that begins while another worker believes is one violation,
// against the hold that lasts longest: their overlap is the longest.
//
//	A  acquire ok [═══════════════════) release
//	B            acquire ok [═══════════════════)
//	                        └─ both ──┘
//
// Holds that touch do not overlap: B may be granted at the very instant at
// which A sends its release.
//
// Readers share a lock with each other, not with a writer.
func (r *run) doubleHolds(k *keyed) {
	var all, writers leaders
	for i := range k.holds {
		b := &k.holds[i]
		if b.from == b.to {
			continue
		}
		against := &all
		if b.reads() {
			against = &writers
		}
		if a := against.other(b.worker()); a != nil && a.to > b.from {
			r.doubleHold(k, a, b)
		}
		all.see(b)
		if !b.reads() {
			writers.see(b)
		}
	}
}

func (r *run) doubleHold(k *keyed, a, b *hold) {
	v := Violation{
		Property: DoubleHold, From: b.from, To: min(a.to, b.to),
		Ops: []int64{a.acquire.ID, b.acquire.ID},
	}
	r.add(k, v, func(v *Violation) {
		v.Workers = []histories.Process{a.worker(), b.worker()}
		v.Evidence = evidence(a.acquire, a.resumed, r.brokenBetween(k, a, b), b.acquire, b.resumed, a.release)
		v.Summary = sprintf("%s and %s both held %s for %s, %s",
			workerName(a.worker()), workerName(b.worker()), k.name, length(v.To-v.From), span(v.From, v.To))
		v.Faults = r.during(a.acquire.Call, v.To)
		v.Cause, v.Because = r.whyDoubleHold(k, a, b)
	})
}

// evidence lists operations, without those that are nil.
func evidence(ops ...*histories.Op) []int64 {
	var ids []int64
	for _, op := range ops {
		if op != nil {
			ids = append(ids, op.ID)
		}
	}
	return ids
}
