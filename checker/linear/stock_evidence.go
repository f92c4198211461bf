package linear

import (
	"cmp"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// maxEvidence bounds the operations among which the smallest evidence is
// looked for; shrinking takes time with their square.
const maxEvidence = 1 << 10

// smallestStock looks for the fewest operations that contradict each other
// even if any number of sells happened that nobody recorded: what is left out
// cannot explain them. It tries the ones that the sweep names, then more and
// more that had begun by then. Some contradictions need all there is (too few
// sells for what was seen): then what the sweep names stays.
func smallestStock(ops []*histories.Op, initial int64, c *Contradiction) []int64 {
	named := map[int64]bool{}
	for _, id := range c.Ops {
		named[id] = true
	}
	var few, before []*histories.Op
	for _, op := range ops {
		switch {
		case named[op.ID]:
			few = append(few, op)
		case op.Outcome != histories.Info && op.Call <= c.To:
			before = append(before, op)
		}
	}
	if len(few) > maxEvidence {
		few = few[len(few)-maxEvidence:]
	}
	slices.SortStableFunc(before, func(a, b *histories.Op) int { return cmp.Compare(a.Return, b.Return) })
	for extra := 0; extra <= maxEvidence; extra = 4*extra + 8 {
		some := slices.Concat(few, before[max(0, len(before)-extra):])
		slices.SortStableFunc(some, func(a, b *histories.Op) int { return cmp.Compare(a.Call, b.Call) })
		if contradicts(some, initial) {
			return ids(fewest(some, func(ops []*histories.Op) bool { return contradicts(ops, initial) }))
		}
		if extra > len(before) {
			break
		}
	}
	return c.Ops[:min(len(c.Ops), MostCulprits)]
}

// unitsVanished reports whether sells that nobody recorded would explain what was
// answered until a contradiction came up: then the stock was lower than it can have
// been; else it was higher, or one unit was sold twice. Where units may have come
// back by then, the answer is no.
func unitsVanished(ops []*histories.Op, initial int64, c *Contradiction) bool {
	var answered []*histories.Op
	for _, op := range ops {
		if Change(op) > 0 && op.Call <= c.To {
			return false
		}
		if op.Outcome != histories.Info && op.Return <= c.To {
			answered = append(answered, op)
		}
	}
	return !contradicts(answered, initial)
}

// contradicts reports whether ops exclude each other whatever else was sold.
func contradicts(ops []*histories.Op, initial int64) bool {
	s := stockSweep{initial: initial, wild: true}
	return s.run(ops) != nil
}

// fewest leaves out operations for as long as bad holds: halves first, then
// smaller and smaller parts.
func fewest(ops []*histories.Op, bad func([]*histories.Op) bool) []*histories.Op {
	for part := (len(ops) + 1) / 2; part > 0; {
		shorter := false
		for at := 0; at < len(ops); {
			fewer := slices.Concat(ops[:at], ops[min(at+part, len(ops)):])
			if len(fewer) > 0 && bad(fewer) {
				ops, shorter = fewer, true
			} else {
				at += part
			}
		}
		if part == 1 && !shorter {
			break
		}
		if part > 1 {
			part = (part + 1) / 2
		}
	}
	return ops
}

func ids(ops []*histories.Op) []int64 {
	out := make([]int64, len(ops))
	for i, op := range ops {
		out[i] = op.ID
	}
	return out
}
