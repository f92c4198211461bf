package checker

import (
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// A lock that readers share excludes writers only. Their holds are judged
// against those of writers as double holds; what else is asked of a lock is asked
// of its writers, among themselves.

// reads reports whether a hold is shared with other readers.
func (h *hold) reads() bool { return h.acquire.Mode == histories.ReadMode }

// exclusively leaves out what readers did with a lock: their acquires, and the
// releases and extends that follow them.
func exclusively(ops []*histories.Op) []*histories.Op {
	reads := func(op *histories.Op) bool { return op.F == histories.Acquire && op.Mode == histories.ReadMode }
	if !slices.ContainsFunc(ops, reads) {
		return ops
	}
	var kept []*histories.Op
	reader := map[owner]bool{} // by worker and token; and by worker: its last grant
	for _, op := range ops {
		token, last := owner{op.Process, op.Token}, owner{worker: op.Process}
		shared, known := reader[token]
		switch {
		case op.F == histories.Acquire:
			shared = reads(op)
			if op.Outcome != histories.Fail {
				reader[token], reader[last] = shared, shared
			}
		case !known:
			shared = reader[last]
		}
		if !shared {
			kept = append(kept, op)
		}
	}
	return kept
}

// exclusive are the holds that are not shared.
func exclusive(holds []hold) []*hold {
	kept := make([]*hold, 0, len(holds))
	for i := range holds {
		if h := &holds[i]; !h.reads() {
			kept = append(kept, h)
		}
	}
	return kept
}
