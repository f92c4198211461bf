package checker

import "github.com/lockcheck/lockcheck/histories"

// beliefEnds is the end of mutex by the beliefs of one key. The inner acquires
// of a reentrant lock are believed no longer than the outermost.
func beliefEnds(holds []hold) func(*histories.Op) int64 {
	ended := map[*histories.Op]int64{}
	for _, h := range holds {
		if h.why == byRelease || h.why == openEnd {
			continue
		}
		if at, ok := ended[h.acquire]; !ok || h.to < at {
			ended[h.acquire] = h.to
		}
		for _, inner := range h.inner {
			ended[inner] = max(h.to, inner.Return)
		}
	}
	return func(acquire *histories.Op) int64 {
		if at, ok := ended[acquire]; ok {
			return at
		}
		return histories.Never
	}
}
