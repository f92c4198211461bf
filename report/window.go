package report

import (
	"math"
	"slices"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// window is a stretch of time (ns) that a page shows operation by operation.
type window struct{ From, To int64 }

// maxFull is how many operations a page carries in full. Beyond it the page
// has windows around the violations in full and counts for the rest; at some
// 14 bytes an operation this keeps a page below 3 MB.
const maxFull = 120_000

// selection is what a page shows in full of a history.
type selection struct {
	ops     []int    // indices into History.Ops
	windows []window // nil: everything is shown
}

// selectOps picks the operations that a page carries in full: all of them if
// they are few, else those in the widest windows around the violations that
// fit the limit.
//
// Windows are laid around the moments of the evidence and not over the whole
// of a violation: an oversell may reach from the first sale to the last.
func selectOps(h *histories.History, violations []checker.Violation, limit int) selection {
	if len(h.Ops) <= limit {
		return selection{ops: sequence(len(h.Ops))}
	}
	moments, wanted := momentsOf(h, violations)
	half := h.End / 2
	for half > 0 && countIn(h, around(moments, half, h.End)) > limit-len(wanted) {
		half = half * 2 / 3
	}
	windows := around(moments, half, h.End)
	s := selection{windows: windows}
	if s.windows == nil {
		s.windows = []window{}
	}
	for i := range h.Ops {
		if wanted[h.Ops[i].ID] || (len(s.ops) < limit && touchesAny(windows, &h.Ops[i])) {
			s.ops = append(s.ops, i)
		}
	}
	return s
}

func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// momentsOf are the times at which the violations happened, and the ids of
// the operations that prove them. A history without a violation is shown
// from its beginning.
func momentsOf(h *histories.History, violations []checker.Violation) (moments []int64, wanted map[int64]bool) {
	wanted = map[int64]bool{}
	var ids [][]int64
	for _, v := range violations {
		ids = append(ids, v.Evidence, v.Ops)
		moments = append(moments, v.From, v.To)
	}
	for id, op := range opsByID(h, ids...) {
		wanted[id] = true
		moments = append(moments, op.Call)
		if op.Return != histories.Never {
			moments = append(moments, op.Return)
		}
	}
	if len(moments) == 0 {
		moments = []int64{0}
	}
	slices.Sort(moments)
	return slices.Compact(moments), wanted
}

// around lays a window of half a width on each side of every moment and joins
// those that meet. moments are sorted.
func around(moments []int64, half, end int64) []window {
	var list []window
	for _, m := range moments {
		w := window{max(0, m-half), min(end, m+half)}
		if n := len(list); n > 0 && w.From <= list[n-1].To {
			list[n-1].To = max(list[n-1].To, w.To)
			continue
		}
		list = append(list, w)
	}
	return list
}

// countIn counts the operations that touch a window.
func countIn(h *histories.History, windows []window) int {
	n := 0
	for i := range h.Ops {
		if touchesAny(windows, &h.Ops[i]) {
			n++
		}
	}
	return n
}

func touchesAny(windows []window, op *histories.Op) bool {
	i, _ := slices.BinarySearchFunc(windows, op.Call, func(w window, at int64) int {
		if w.To < at {
			return -1
		}
		return 1
	})
	return i < len(windows) && windows[i].From <= op.Return
}

// buckets are the operations of each worker counted by stretches of equal
// length: what a page shows where it has no room for single operations.
type buckets struct {
	Width  float64   // ns
	Counts [][]int64 // by worker, by bucket: operations invoked
	Held   [][]int64 // by worker, by bucket: thousandths of the time that a lock was held
}

// bucketsOf counts a history in so many buckets that a page can carry them.
func bucketsOf(h *histories.History, workers []histories.Process, holds []hold) buckets {
	n := min(2000, max(50, 200_000/max(1, len(workers))))
	b := buckets{Width: math.Max(1, float64(h.End)/float64(n))}
	lane := map[histories.Process]int{}
	for i, w := range workers {
		lane[w] = i
		b.Counts = append(b.Counts, make([]int64, n))
		b.Held = append(b.Held, make([]int64, n))
	}
	for i := range h.Ops {
		if l, ours := lane[h.Ops[i].Process]; ours {
			b.Counts[l][b.index(h.Ops[i].Call, n)]++
		}
	}
	for _, k := range holds {
		b.hold(b.Held[lane[k.Acquire.Process]], k)
	}
	return b
}

func (b buckets) index(at int64, n int) int { return min(max(int(float64(at)/b.Width), 0), n-1) }

// hold spreads one hold over the buckets that it touches.
func (b buckets) hold(held []int64, k hold) {
	for i := b.index(k.From, len(held)); i <= b.index(k.To, len(held)); i++ {
		from := math.Max(float64(k.From), float64(i)*b.Width)
		to := math.Min(float64(k.To), float64(i+1)*b.Width)
		held[i] = min(1000, held[i]+int64(math.Round(1000*math.Max(0, to-from)/b.Width)))
	}
}
