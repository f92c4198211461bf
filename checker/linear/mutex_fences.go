package linear

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// fenceOrder checks that grants can have come in the order of their numbers.
// The needs fit a legal order; each grant is placed as early as the numbers
// below it allow, which leaves most room for those above. apart asks for more than
// one instant: where grants of one worker overlap, what it did within one instant
// may not allow their order.
func fenceOrder(needs []*lockNeed, ops []*histories.Op, spec histories.LockSpec, apart bool) *Contradiction {
	var fenced []*lockNeed
	for _, n := range needs {
		if n.acq != nil && n.acq.Outcome == histories.OK && n.acq.Fence.Known && !n.late {
			fenced = append(fenced, n)
		}
	}
	if len(fenced) < 2 {
		return nil
	}
	again := Reentries(ops, spec)
	slices.SortFunc(fenced, func(a, b *lockNeed) int {
		return cmp.Or(cmp.Compare(a.acq.Fence.N, b.acq.Fence.N), cmp.Compare(a.line(), b.line()))
	})
	var before *lockNeed
	var from int64 // the earliest moment for the next grant
	for i, n := range fenced {
		switch {
		case i > 0 && n.acq.Fence.N == fenced[i-1].acq.Fence.N && !again(fenced[i-1].acq, n.acq):
			return fenceClash(fenced[i-1], n, "one number for both")
		case i > 0 && (n.latest() < fenceLimit(before, n, from) || apart && n.latest() == from):
			return fenceClash(before, n, "but it came first")
		}
		if reach := n.reach(); before == nil || reach > from {
			before, from = n, max(from, reach)
		}
	}
	return nil
}

// fenceLimit is from, unless the worker that it waits for is n's own: a worker
// may be granted again what it has, if the lock allows it at all.
func fenceLimit(before, n *lockNeed, from int64) int64 {
	if before.who == n.who {
		return min(from, before.lo)
	}
	return from
}

// latest is the last moment at which the grant can have been made.
func (n *lockNeed) latest() int64 {
	if n.span {
		return n.lo
	}
	return n.hi
}

// reach is the moment before which no other worker can be granted the lock.
func (n *lockNeed) reach() int64 {
	if n.span {
		return n.hi
	}
	return n.lo
}

func fenceClash(low, high *lockNeed, how string) *Contradiction {
	return &Contradiction{
		Ops:  lockEvidence([]*lockNeed{low, high}),
		From: min(low.lo, high.lo),
		To:   max(low.lo, high.lo),
		Why: fmt.Sprintf("op %d carries number %d and op %d number %d, %s",
			low.acq.ID, low.acq.Fence.N, high.acq.ID, high.acq.Fence.N, how),
	}
}
