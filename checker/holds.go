package checker

import (
	"cmp"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// Hold is a span of time in which a worker certainly believed that it holds a
// lock, as the verdict was reached with. Reports draw it.
type Hold struct {
	Acquire  *histories.Op // the grant; its Process and Key are whose hold of what
	From, To int64         // ns
	End      string        // why it ended, in words
}

// endings are the words for why a belief ended.
var endings = [...]string{
	openEnd: "held to the end of the run", byRelease: "released", byNotice: "told that it was lost", byDeath: "worker killed",
	byDeadline: "its own deadline passed", bySaleOver: "its sale was over", byReacquire: "took the lock again",
	byCleanUp: "released, or cleaned up after another acquire",
}

// Released reports whether the hold ended with a release of its own.
func (h Hold) Released() bool { return h.End == endings[byRelease] }

// Holds are all holds of a history, by their start.
func Holds(h *histories.History) []Hold {
	var list []Hold
	if h.Header.Lock.None {
		return nil
	}
	r := prepare(h, Options{}.withDefaults())
	for _, k := range r.keys {
		for _, b := range r.beliefs(k) {
			list = append(list, Hold{Acquire: b.acquire, From: b.from, To: b.to, End: endings[b.why]})
		}
	}
	slices.SortStableFunc(list, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Acquire.ID, b.Acquire.ID))
	})
	return list
}
