package checker

import (
	"cmp"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// staleWrites finds writes that took effect and were invoked after their
// worker's belief had ended.
//
//	A  acquire ok [═══════ until)      write ── ok
//
// A write belongs to the sell that is its Parent, and so do the grants of
// that sell. It is stale if none of these is believed any more at its
// invocation, and one has ended by release, notice or deadline. A death does
// not count: the moment of a kill is taken before it is sent, so a worker may
// write a little later. A write that the store refused is a design that works,
// and so is one that it took by a fencing token that was still the newest.
func (r *run) staleWrites(k *keyed) {
	if r.spec.None {
		return
	}
	writes := writesBySell(k)
	for _, w := range k.writes {
		if w.Replay || !r.tookEffect(k, w, writes[w.Parent]) {
			continue
		}
		if w.Parent == 0 {
			r.writeOfNoSell(k, w)
			continue
		}
		if h := r.endedBefore(w); h != nil {
			r.staleWrite(k, h, w)
		}
	}
}

// writeOfNoSell judges a write that names no sell by all that its worker has
// held. While that believes in nothing at all, the write is stale; while it holds
// the one lock that it ever took, it is not; else nobody can tell which of its
// locks the write needed.
func (r *run) writeOfNoSell(k *keyed, w *histories.Op) {
	h, locks := r.heldByWorkers().at(w.Process, w.Call)
	switch {
	case h == nil:
	case h.to >= w.Call && h.from < h.to:
		if locks > 1 {
			k.of(StaleWrite).advice = adviseSells
			k.of(StaleWrite).unknown = sprintf("%s: write %d names no sell, so nothing tells which of the locks of %s it needed", k.name, w.ID, workerName(w.Process))
		}
	case h.why == byRelease, h.why == byNotice, h.why == byDeadline:
		r.staleWrite(k, h, w)
	}
}

// writesBySell counts the writes of each sell that has one of unknown
// outcome.
func writesBySell(k *keyed) map[int64]int {
	count := map[int64]int{}
	for _, w := range k.writes {
		if w.Outcome == histories.Info {
			count[w.Parent] = 0
		}
	}
	if len(count) == 0 {
		return nil
	}
	for _, w := range k.writes {
		if n, ok := count[w.Parent]; ok {
			count[w.Parent] = n + 1
		}
	}
	return count
}

// tookEffect reports whether a write is known to have acted: it said so, or
// its outcome is unknown, it is the only write of its sell, and the audit has
// the order that is written after it. A second sell of that order, or one
// before it that this one found, may have written the row just as well.
func (r *run) tookEffect(k *keyed, w *histories.Op, writes int) bool {
	if w.Outcome != histories.Info {
		return w.Outcome == histories.OK
	}
	sell := r.op(w.Parent)
	if sell == nil || sell.Order == "" || sell.Outcome == histories.Fail || sell.Replay || writes != 1 {
		return false
	}
	o := k.books.find(sell.Order)
	return o != nil && o.rows > 0 && o.ok+o.unknown == 1 && w.Call <= k.audit.Time
}

// guarded reports whether the store took a late write by its fencing token,
// and nobody had been granted the lock since under another than a smaller one: the
// token, not the belief, is what such a write needs, and it was still the newest.
//
//	A (5)  [═══ until)        write 5 ── ok      right: 5 is the newest
//	A (5)  [═══ until)        write 5 ── ok      right: 4 is older, however late
//	B (4)             [══════════                it was told
//	A (5)  [═══ until)        write 5 ── ok      stale: the store should have
//	B (6)             [══════════                known 6
func (r *run) guarded(h *hold, w *histories.Op) bool {
	return w.Fence.Known && w.Fence == h.acquire.Fence && r.grantBetween(h, w, func(x *hold) bool {
		return !x.acquire.Fence.Known || x.acquire.Fence.N >= w.Fence.N
	}) == nil
}

func (r *run) staleWrite(k *keyed, h *hold, w *histories.Op) {
	if r.guarded(h, w) {
		return
	}
	to := w.Return
	if w.Outcome == histories.Info {
		to = w.Call
	}
	v := Violation{Property: StaleWrite, From: h.to, To: to, Ops: []int64{w.ID}}
	r.add(k, v, func(v *Violation) {
		v.Workers = []histories.Process{w.Process}
		v.Evidence = evidence(h.acquire, h.release, r.nextGrant(h, w), w)
		v.Summary = sprintf("%s wrote to %s at %s, %s after its hold on the lock had ended (%s)",
			workerName(w.Process), k.name, moment(w.Call), length(w.Call-h.ended()), r.howEnded(h))
		v.Faults = r.during(h.from, v.To)
		v.Cause, v.Because = r.whyStale(h, w)
	})
}

func (r *run) howEnded(h *hold) string {
	switch h.why {
	case byRelease:
		return "it had released it"
	case byNotice:
		return "it had been told that the lock was gone"
	}
	return "its deadline had passed"
}

// nextGrant is the acquire of another worker that was granted between the end
// of a hold and a write: it makes a stale write plain, but need not exist.
func (r *run) nextGrant(h *hold, w *histories.Op) *histories.Op {
	return r.grantBetween(h, w, func(*hold) bool { return true })
}

// grantBetween is the first of these that fits; nil if none does.
func (r *run) grantBetween(h *hold, w *histories.Op, fits func(*hold) bool) *histories.Op {
	holds := r.keyOf(h.acquire.Key).holds
	from, _ := slices.BinarySearchFunc(holds, h.to, func(x hold, t int64) int { return cmp.Compare(x.from, t) })
	for i := range holds[from:] {
		x := &holds[from+i]
		switch {
		case x.from > w.Call:
			return nil
		case x.worker() != h.worker() && fits(x):
			return x.acquire
		}
	}
	return nil
}
