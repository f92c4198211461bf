package checker

import "github.com/lockcheck/lockcheck/histories"

// mutex decides whether the acquires and releases of one lock key fit some
// legal order. ops are sorted by Call; operations that are neither acquire
// nor release are passed over. end says when the worker's belief in a grant
// ended for another reason than its release (deadline, notice, death): from
// then on the server may have let the lock go; Never if it did not. A nil end
// means each acquire's own until; beliefEnds makes one of beliefs.
//
// covered is nil if the answer is exact: then c is nil if such an order
// exists, else the smallest contradiction. Otherwise covered says why this
// history is beyond the exact check, and c is nil and says nothing.
func mutex(ops []*histories.Op, spec histories.LockSpec, end func(*histories.Op) int64) (c *contradiction, covered error) {
	return nil, nil
}

// beliefEnds is the end of mutex by the beliefs of one key.
func beliefEnds(holds []hold) func(*histories.Op) int64 {
	ended := map[*histories.Op]int64{}
	for _, h := range holds {
		if h.why == byRelease || h.why == openEnd {
			continue
		}
		if at, ok := ended[h.acquire]; !ok || h.to < at {
			ended[h.acquire] = h.to
		}
	}
	return func(acquire *histories.Op) int64 {
		if at, ok := ended[acquire]; ok {
			return at
		}
		return histories.Never
	}
}
