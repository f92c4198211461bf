package checker

import (
	"slices"

	"github.com/lockcheck/lockcheck/checker/linear"
	"github.com/lockcheck/lockcheck/histories"
)

// grantFences looks at the numbers that come with grants: a grant that began
// after an earlier one had been answered must carry a larger number. Grants
// that overlap in time, or touch, may come in either order; but two grants
// with one number break the rule in any order.
func (r *run) grantFences(k *keyed) {
	r.fences(k, k.locks, func(op *histories.Op) bool { return op.F == histories.Acquire }, true)
}

// writeFences looks at the numbers that the store took: none may be smaller
// than one it had taken before. Equal ones are fine: several writes of one
// holder.
func (r *run) writeFences(k *keyed) {
	r.fences(k, k.writes, func(*histories.Op) bool { return true }, false)
}

// fences sweeps by Call over operations with numbers, with the largest number
// among those that had returned by then.
func (r *run) fences(k *keyed, ops []*histories.Op, fits func(*histories.Op) bool, grants bool) {
	var byCall []*histories.Op
	for _, op := range ops {
		if op.Outcome == histories.OK && op.Fence.Known && fits(op) {
			byCall = append(byCall, op)
		}
	}
	if len(byCall) < 2 {
		return
	}
	byReturn := slices.Clone(byCall)
	slices.SortStableFunc(byReturn, func(a, b *histories.Op) int { return cmpReturn(a, b) })
	var largest *histories.Op
	var again func(a, b *histories.Op) bool
	if grants {
		again = linear.Reentries(namedReleases(k), r.spec)
	}
	seen := map[int64]*histories.Op{}
	next := 0
	for _, op := range byCall {
		for ; next < len(byReturn) && byReturn[next].Return < op.Call; next++ {
			if largest == nil || byReturn[next].Fence.N > largest.Fence.N {
				largest = byReturn[next]
			}
		}
		twin := seen[op.Fence.N]
		switch {
		case largest != nil && op.Fence.N < largest.Fence.N:
			r.fenceRegression(k, largest, op, grants)
		case grants && twin != nil && !again(twin, op):
			r.fenceRegression(k, twin, op, grants)
		}
		if grants {
			seen[op.Fence.N] = op
		}
	}
}

func cmpReturn(a, b *histories.Op) int {
	switch {
	case a.Return < b.Return:
		return -1
	case a.Return > b.Return:
		return 1
	}
	return 0
}

func (r *run) fenceRegression(k *keyed, before, op *histories.Op, grants bool) {
	v := Violation{Property: FenceRegression, From: min(before.Return, op.Return), To: op.Return, Ops: []int64{op.ID}}
	r.add(k, v, func(v *Violation) {
		v.Workers = []histories.Process{op.Process, before.Process}
		v.Evidence = evidence(before, op)
		v.Summary = sprintf("%s was granted %s with number %d at %s, after %s had been granted it with number %d",
			workerName(op.Process), k.name, op.Fence.N, moment(op.Return), workerName(before.Process), before.Fence.N)
		if !grants {
			v.Summary = sprintf("%s took the write of %s with number %d at %s, after it had taken number %d of %s",
				k.name, workerName(op.Process), op.Fence.N, moment(op.Return), before.Fence.N, workerName(before.Process))
		}
		v.Faults = r.during(before.Call, op.Return)
		if grants {
			v.Cause, v.Because = r.whyForgotten("the last number", before.Call, op.Return)
		}
	})
}
