package checker

import (
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/checker/linear"
	"github.com/lockcheck/lockcheck/histories"
)

// whyOversold explains how two sales took the same unit: because the lock did
// not hold, because one wrote without it, or because there was none.
func (r *run) whyOversold(k *keyed, a, b *histories.Op) (Cause, string) {
	if a == nil || b == nil {
		return CauseUnknown, ""
	}
	stale, _ := k.broken(StaleWrite)
	for _, v := range stale {
		if w := r.op(v.Ops[0]); w.Parent == a.ID || w.Parent == b.ID {
			return r.whyStale(r.endedBefore(w), w)
		}
	}
	if x, y := r.bothHeld(a, b); x != nil {
		if lock := r.keyOf(x.acquire.Key); lock != nil {
			return r.whyDoubleHold(lock, x, y)
		}
	}
	if cause, because := r.whyResumed(a, b); cause != CauseUnknown {
		return cause, because
	}
	if cause, because := r.whyLost(min(a.Call, b.Call), max(a.Return, b.Return)); cause != CauseUnknown {
		return cause, because
	}
	if read := r.oldRead(a, b); read != nil {
		return OldStock, sprintf("%s was shown %s at %s, although only %s were left since %s",
			workerName(read.Process), read.Value, moment(read.Return), a.Left, moment(a.Return))
	}
	if from, to, ok := r.accesses(a, b); ok {
		if !r.looked(a) || !r.looked(b) {
			return NotAtomic, sprintf("%s and %s sold at the same time, %s, and neither took the units that it had counted on in one step", workerName(a.Process), workerName(b.Process), span(from, to))
		}
		return NotAtomic, sprintf("%s and %s both looked at the stock before either had changed it, %s", workerName(a.Process), workerName(b.Process), span(from, to))
	}
	return CauseUnknown, ""
}

// whySameUnit explains how some sales of a key took the same unit: the first two
// that say so, or the first sale too many and its rival.
func (r *run) whySameUnit(k *keyed) (Cause, string) {
	if later, first := sameUnits(k.stock); len(later) > 0 {
		if cause, because := r.whyOversold(k, first, later[0]); cause != CauseUnknown {
			return cause, because
		}
	}
	if all, past := k.books.tooMany(k); len(past) > 0 {
		if cause, because := r.whyOversold(k, rivalOf(past[0], all), past[0].op); cause != CauseUnknown {
			return cause, because
		}
	}
	return CauseUnknown, ""
}

// firstChange is when the first operation was sent that may have changed the
// stock: before it there is nothing to forget.
func firstChange(ops []*histories.Op) int64 {
	for _, op := range ops {
		if op.Outcome != histories.Fail && !op.Replay && linear.Change(op) != 0 {
			return op.Call
		}
	}
	return histories.Never
}

// whyVanished explains how units went by the moment to that nobody is known to have
// taken, of a stock that nothing had come back to. A replica that is promoted has
// forgotten sales at most, and that brings units back. A server without its memory,
// and keys thrown away, may have lost the stock itself.
func (r *run) whyVanished(to int64) (Cause, string) {
	cause, because := r.whyLost(0, to)
	if cause == LostAtFailover || cause == SplitBrain {
		return CauseUnknown, ""
	}
	return cause, because
}

// whyResumed tells whether one of two sells went on under a lease that had
// ended and was taken anew.
func (r *run) whyResumed(sells ...*histories.Op) (Cause, string) {
	for _, sell := range sells {
		for h := range r.holdsOf(sell.ID) {
			if h.resumed != nil {
				return LeaseRanOut, sprintf("the lease of %s had ended, and its renewal at %s said ok all the same: what it had read before, it wrote then",
					workerName(h.worker()), moment(h.resumed.Return))
			}
		}
	}
	return CauseUnknown, ""
}

// looked reports whether a sell shows a look at the stock.
func (r *run) looked(sell *histories.Op) bool {
	return slices.ContainsFunc(r.steps(sell), func(step *histories.Op) bool { return step.F == histories.Read })
}

// oldRead is a read of sell b that began after sell a had written, and still
// shows more than a left; nil if there is none.
func (r *run) oldRead(a, b *histories.Op) *histories.Op {
	var written int64 = histories.Never
	for _, step := range r.steps(a) {
		if step.F == histories.Write && step.Outcome == histories.OK {
			written = step.Return
		}
	}
	for _, step := range r.steps(b) {
		if step.F == histories.Read && step.Call > written && a.Left.Known && step.Value.Known && step.Value.N > a.Left.N {
			return step
		}
	}
	return nil
}

// bothHeld are holds of two sells on one key that overlap, the earlier first.
func (r *run) bothHeld(a, b *histories.Op) (*hold, *hold) {
	for x := range r.holdsOf(a.ID) {
		for y := range r.holdsOf(b.ID) {
			if x.acquire.Key == y.acquire.Key && x.worker() != y.worker() && max(x.from, y.from) < min(x.to, y.to) {
				if y.from < x.from {
					return y, x
				}
				return x, y
			}
		}
	}
	return nil, nil
}

// accesses reports whether the accesses to the stock of two sells overlap in
// time, and where: from first read to last write, or, if a sell shows none,
// from its call to its return.
func (r *run) accesses(a, b *histories.Op) (from, to int64, overlap bool) {
	fromA, toA := r.accessTo(a)
	fromB, toB := r.accessTo(b)
	from, to = max(fromA, fromB), min(toA, toB)
	return from, to, from < to
}

func (r *run) accessTo(sell *histories.Op) (from, to int64) {
	from, to = histories.Never, 0
	for _, step := range r.steps(sell) {
		if step.F == histories.Read || step.F == histories.Write {
			from, to = min(from, step.Call), max(to, step.Return)
		}
	}
	if from > to {
		return sell.Call, sell.Return
	}
	return from, to
}

// whyLost explains how a store lost what it had accepted. Stock has no TTL, so
// clocks explain nothing; and a SQL server that was killed has kept what was
// committed. Where the header says that the stock is apart from the locks, their
// servers explain nothing either.
func (r *run) whyLost(from, to int64) (Cause, string) {
	if on := r.h.Header.Settings["stock-on"]; on == "own" || on == "sql" {
		return r.whyStoreLost(from, to)
	}
	cause, because := r.whyForgotten(theStore, from, to)
	switch cause {
	case ClockJumped:
		return CauseUnknown, ""
	case RestartedEmpty:
		if kill := r.serverKill(from, to); strings.HasPrefix(kill.event.Targets[0], "sql") {
			return CauseUnknown, ""
		}
	}
	return cause, because
}

// whyStoreLost is whyLost of a store that stands alone: nothing is promoted there.
func (r *run) whyStoreLost(from, to int64) (Cause, string) {
	ofStore := func(f *fault) bool {
		return f.from >= from && !slices.ContainsFunc(f.event.Targets, func(name string) bool {
			return strings.HasPrefix(name, "redis-") || strings.HasPrefix(name, "sentinel-") || strings.HasPrefix(name, "sql")
		})
	}
	back := func(f *fault) bool { return f.server && f.to <= to && ofStore(f) }
	if kill := r.find(histories.Kill, from, to, back); kill != nil {
		return RestartedEmpty, whyEmptied(kill)
	}
	if evict := r.find(histories.Evict, from, to, ofStore); evict != nil {
		return Evicted, faultStory(evict)
	}
	return CauseUnknown, ""
}
