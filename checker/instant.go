package checker

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// Times touch where an operation is called in the nanosecond in which another
// returns; then either may come first. Not so of one worker, which does one thing
// after the other.
//
//	A  sell ── ok┊read ── ok        the read sees what the sell left
//
// apart makes room inside such nanoseconds: copies of the operations with times
// that are stretched, in which the second is called after the first has returned,
// and whatever others do in that nanosecond still touches both. Where two workers
// go on in one nanosecond, no such times exist: they are left to touch. stretch
// is 1 if nothing had to be done.
func apart(ops []*histories.Op) (stretched []*histories.Op, stretch int64) {
	after := goOn(ops)
	if len(after) == 0 {
		return ops, 1
	}
	longest := 0
	for _, steps := range after {
		longest = max(longest, steps)
	}
	stretch = int64(2*longest + 2)
	stretched = make([]*histories.Op, len(ops))
	for i, op := range ops {
		if op.Call < 0 || op.Call > math.MaxInt64/stretch-1 || op.Return != histories.Never && op.Return > math.MaxInt64/stretch-1 {
			return ops, 1
		}
		moved := *op
		moved.Call *= stretch
		if op.Return != histories.Never {
			moved.Return = (op.Return+1)*stretch - 1
		}
		stretched[i] = &moved
	}
	for i, steps := range after {
		first, second := stretched[i.first], stretched[i.second]
		second.Call += int64(2 * steps)
		first.Return = second.Call - 1
	}
	slices.SortStableFunc(stretched, func(a, b *histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	return stretched, stretch
}

// pair are the places of two operations of one worker, one after the other.
type pair struct{ first, second int }

// goOn finds operations that a worker began in the nanosecond in which its one
// before had ended, and the how many-th in that nanosecond each is. Nanoseconds in
// which several workers do so are left out.
func goOn(ops []*histories.Op) map[pair]int {
	last := map[histories.Process]int{}
	who := map[int64]histories.Process{}
	several := map[int64]bool{}
	after := map[pair]int{}
	steps := map[int64]int{}
	for i, op := range ops {
		before, ok := last[op.Process]
		last[op.Process] = i
		if !ok || ops[before].Return != op.Call || ops[before].ReturnLine >= op.CallLine {
			continue
		}
		if p, ok := who[op.Call]; ok && p != op.Process {
			several[op.Call] = true
		}
		who[op.Call] = op.Process
		steps[op.Call]++
		after[pair{before, i}] = steps[op.Call]
	}
	for p := range after {
		if several[ops[p.second].Call] {
			delete(after, p)
		}
	}
	return after
}
