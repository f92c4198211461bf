package checker

import (
	"sort"

	"github.com/lockcheck/lockcheck/histories"
)

// extendsOf are the extends of a key that said ok, by worker, by Call.
func extendsOf(k *keyed) map[histories.Process][]*histories.Op {
	m := map[histories.Process][]*histories.Op{}
	for _, op := range k.locks {
		if op.F == histories.Extend && op.Outcome == histories.OK {
			m[op.Process] = append(m[op.Process], op)
		}
	}
	return m
}

// inForce is until when the lease under a hold was certainly in force, as far as
// its worker believed in it: a TTL after the call of the acquire, and of each
// extend that was answered before that was over.
func (r *run) inForce(h *hold, extends []*histories.Op) int64 {
	if r.spec.TTL <= 0 {
		return h.to
	}
	begun := h.acquire
	if h.resumed != nil {
		begun = h.resumed
	}
	end := histories.Later(begun.Call, r.spec.Lease(begun))
	i := sort.Search(len(extends), func(i int) bool { return extends[i].Call >= begun.Call })
	for _, op := range extends[i:] {
		if op.Call > min(end, h.to) {
			break
		}
		if op.Return <= end && (op.Token == "" || h.acquire.Token == "" || op.Token == h.acquire.Token) {
			end = max(end, histories.Later(op.Call, r.spec.Lease(op)))
		}
	}
	return min(end, h.to)
}
