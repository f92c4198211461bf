package checker

import "github.com/lockcheck/lockcheck/histories"

// beliefEnds is the end of mutex by the beliefs of one key: when they would have
// ended without a release, for a release is an operation of its own there, and
// one that failed ends nothing. It may be before the answer to the acquire. The
// inner acquires of a reentrant lock are believed no longer than the outermost.
func beliefEnds(holds []hold) func(*histories.Op) int64 {
	ended := map[*histories.Op]int64{}
	for _, h := range holds {
		end := h.lapse
		if end == histories.Never && h.why != byRelease && h.why != byCleanUp && h.why != openEnd {
			end = h.to
		}
		if end == histories.Never {
			continue
		}
		for _, grant := range append([]*histories.Op{h.acquire}, h.inner...) {
			if at, ok := ended[grant]; !ok || end < at {
				ended[grant] = end
			}
		}
	}
	return func(acquire *histories.Op) int64 {
		if at, ok := ended[acquire]; ok {
			return at
		}
		return histories.Never
	}
}
