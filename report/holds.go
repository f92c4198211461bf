package report

import (
	"sort"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// hold is a belief of a worker with the lease that the server gave for it.
type hold struct {
	checker.Hold
	// Lease bounds the moment (ns) at which the server would let the lock go
	// if nobody renewed or released it: the server took the request between
	// its call and its return. Both are 0 if there is no TTL.
	Lease [2]int64
}

// holdsOf are all holds of a history, by start.
func holdsOf(h *histories.History) []hold {
	extends := extendsOf(h)
	var list []hold
	for _, b := range checker.Holds(h) {
		k := hold{Hold: b}
		if ttl := int64(h.Header.Lock.Lease(b.Acquire)); ttl > 0 {
			last := lastBefore(extends[lockID{b.Acquire.Process, b.Acquire.Key}], b)
			k.Lease = [2]int64{last.Call + ttl, last.Return + ttl}
		}
		list = append(list, k)
	}
	return list
}

// lockID names one lock as one worker sees it.
type lockID struct {
	worker histories.Process
	key    string
}

// extendsOf are the renewals that were granted, by call.
func extendsOf(h *histories.History) map[lockID][]*histories.Op {
	list := map[lockID][]*histories.Op{}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.F == histories.Extend && op.Outcome == histories.OK {
			id := lockID{op.Process, op.Key}
			list[id] = append(list[id], op)
		}
	}
	return list
}

// lastBefore is the operation that last moved the lease of a hold: a renewal
// within it, else the acquire.
func lastBefore(extends []*histories.Op, b checker.Hold) *histories.Op {
	n := sort.Search(len(extends), func(i int) bool { return extends[i].Call > b.To })
	if n > 0 && extends[n-1].Call >= b.Acquire.Return {
		return extends[n-1]
	}
	return b.Acquire
}
