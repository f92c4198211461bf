package checker

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lockcheck/lockcheck/histories"
)

// workerHolds are the holds of each worker on all keys.
type workerHolds map[histories.Process]*heldByWorker

// heldByWorker are the holds of one worker, by from: which of the first n lasts
// longest, and on how many keys they are.
type heldByWorker struct {
	holds  []*hold
	latest []*hold
	keys   []int
}

// heldByWorkers is made when the first write asks that names no sell.
func (r *run) heldByWorkers() workerHolds {
	r.gather.Do(func() {
		r.held = workerHolds{}
		for _, k := range r.keys {
			for i := range k.holds {
				h := &k.holds[i]
				if r.held[h.worker()] == nil {
					r.held[h.worker()] = &heldByWorker{}
				}
				r.held[h.worker()].holds = append(r.held[h.worker()].holds, h)
			}
		}
		for _, x := range r.held {
			x.sort()
		}
	})
	return r.held
}

func (x *heldByWorker) sort() {
	slices.SortStableFunc(x.holds, func(a, b *hold) int { return cmp.Compare(a.from, b.from) })
	keys := map[string]bool{}
	for i, h := range x.holds {
		last := h
		if i > 0 && x.latest[i-1].to > h.to {
			last = x.latest[i-1]
		}
		keys[h.acquire.Key] = true
		x.latest, x.keys = append(x.latest, last), append(x.keys, len(keys))
	}
}

// at is, of the holds of p that began by t, the one that lasts longest, and on
// how many keys they all are; nil if there is none.
func (held workerHolds) at(p histories.Process, t int64) (h *hold, keys int) {
	x := held[p]
	if x == nil {
		return nil, 0
	}
	i := sort.Search(len(x.holds), func(i int) bool { return x.holds[i].from > t })
	if i == 0 {
		return nil, 0
	}
	return x.latest[i-1], x.keys[i-1]
}
