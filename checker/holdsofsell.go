package checker

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/lockcheck/lockcheck/histories"
)

// endedBefore is the hold of w's sell that ended last before w was invoked;
// nil if one still lasts or none has ended.
func (r *run) endedBefore(w *histories.Op) *hold {
	at := r.place.at(w.Parent)
	if at < 0 || r.byOwner.first == nil || r.byOwner.first[at] == 0 {
		return nil
	}
	x := r.byOwner.endsOf(at, w.Process)
	now, _ := slices.BinarySearchFunc(x, w.Call+1, byBegin)
	if now == 0 || x[now-1].open || x[now-1].until >= w.Call {
		return nil
	}
	before, _ := slices.BinarySearchFunc(x, w.Call, byBegin)
	if before == 0 {
		return nil
	}
	return x[before-1].last
}

// endedHold is, of the holds of one worker for one sell by their begin, what those
// up to one of them come to.
type endedHold struct {
	from  int64
	until int64 // the last moment that is believed in any
	open  bool  // one ended so that nothing can be said of a write after it
	last  *hold // the one that ended last
}

func byBegin(h endedHold, t int64) int { return cmp.Compare(h.from, t) }

// endsOf are the holds of a worker for the sell at a place. They are sorted once
// for each sell: one may have as many writes as holds.
func (x *ownerIndex) endsOf(at int, p histories.Process) []endedHold {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if x.ends == nil {
		x.ends = map[sellWorker][]endedHold{}
	}
	key := sellWorker{at, p}
	list, ok := x.ends[key]
	if !ok {
		list = x.sortedEnds(at, p)
		x.ends[key] = list
	}
	return list
}

type sellWorker struct {
	sell   int // place in History.Ops
	worker histories.Process
}

func (x *ownerIndex) sortedEnds(at int, p histories.Process) []endedHold {
	var holds []*hold
	for i := x.first[at]; i > 0; i = x.next[i-1] {
		if x.holds[i-1].worker() == p {
			holds = append(holds, x.holds[i-1])
		}
	}
	slices.SortStableFunc(holds, func(a, b *hold) int { return cmp.Compare(a.from, b.from) })
	list := make([]endedHold, len(holds))
	sofar := endedHold{until: math.MinInt64}
	for i, h := range holds {
		sofar.from = h.from
		if h.from < h.to {
			sofar.until = max(sofar.until, h.to)
		}
		switch h.why {
		case byDeath, bySaleOver, openEnd, byReacquire, byCleanUp:
			sofar.open = true
		}
		if sofar.last == nil || h.to > sofar.last.to {
			sofar.last = h
		}
		list[i] = sofar
	}
	return list
}

// ownerIndex finds the holds of a sell: a list through next, begun at first.
type ownerIndex struct {
	first []int32 // by place of the sell in History.Ops: index into holds, plus 1
	next  []int32
	holds []*hold

	mutex sync.Mutex // of ends
	ends  map[sellWorker][]endedHold
}

// linkHolds makes byOwner once all holds are known.
func (r *run) linkHolds() {
	total := 0
	for _, k := range r.keys {
		total += len(k.holds)
	}
	x := &r.byOwner
	if total == 0 {
		return
	}
	x.first = make([]int32, len(r.h.Ops))
	x.next = make([]int32, 0, total)
	x.holds = make([]*hold, 0, total)
	for _, k := range r.keys {
		for i := range k.holds {
			at := r.place.at(k.holds[i].acquire.Parent)
			if at < 0 {
				continue
			}
			x.holds = append(x.holds, &k.holds[i])
			x.next = append(x.next, x.first[at])
			x.first[at] = int32(len(x.holds))
		}
	}
}

// holdsOf yields the holds whose acquires belong to a sell.
func (r *run) holdsOf(sell int64) func(func(*hold) bool) {
	return func(yield func(*hold) bool) {
		at := r.place.at(sell)
		if at < 0 || r.byOwner.first == nil {
			return
		}
		for i := r.byOwner.first[at]; i > 0; i = r.byOwner.next[i-1] {
			if !yield(r.byOwner.holds[i-1]) {
				return
			}
		}
	}
}
