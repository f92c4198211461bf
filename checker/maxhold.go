package checker

import "github.com/lockcheck/lockcheck/histories"

// longHolds finds holds that last longer than the lock's users promise to need
// it. A worker may hang while something else renews its lease: nobody else gets
// the lock, nothing else is broken, and no lease ever ends it.
//
//	A  acquire ok [══ extend ══ extend ══ extend ══ extend ═ …
//	              └──── max-hold ────┘
//
// The time counts in which its worker believed and the lease was in force.
func (r *run) longHolds(k *keyed) {
	if r.spec.MaxHold <= 0 {
		return
	}
	extends := extendsOf(k)
	for i := range k.holds {
		h := &k.holds[i]
		if end := r.inForce(h, extends[h.worker()]); end > histories.Later(h.from, r.spec.MaxHold) {
			r.longHold(k, h, end, extends[h.worker()])
		}
	}
}

func (r *run) longHold(k *keyed, h *hold, end int64, extends []*histories.Op) {
	v := Violation{Property: MaxHold, From: histories.Later(h.from, r.spec.MaxHold), To: end, Ops: []int64{h.acquire.ID}}
	r.add(k, v, func(v *Violation) {
		v.Workers = []histories.Process{h.worker()}
		last := lastWithin(extends, v.From, end)
		v.Evidence = evidence(h.acquire, last, h.release)
		v.Summary = sprintf("%s held %s for %s, %s, longer than %s", workerName(h.worker()), k.name,
			length(end-h.from), span(h.from, end), length(int64(r.spec.MaxHold)))
		v.Faults = r.during(h.from, end)
		if last != nil {
			v.Because = sprintf("its lease was still renewed, at %s for instance", moment(last.Call))
		}
		if pause := r.pauseOf(h.worker(), h.from, end); pause != nil {
			v.Because = joined(v.Because, faultStory(pause))
		}
	})
}

// lastWithin is the last operation called in [from, to], nil if there is none.
func lastWithin(ops []*histories.Op, from, to int64) *histories.Op {
	var last *histories.Op
	for _, op := range ops {
		if op.Call >= from && op.Call <= to {
			last = op
		}
	}
	return last
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
