package checker_test

import (
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/checker"
)

// What the physical world knows of refusals: of leases in force, and of keys
// that nobody believes it holds.

// turned is what the lock service knew of a worker's newest grant when the
// worker asked to release or renew it.
type turned struct {
	at, expires int64
	granted     bool
	end         ending
}

func (w *world) turnAway(op int64, owner string) {
	t := turned{at: w.now}
	for _, g := range w.all {
		if g.owner == owner {
			t.granted, t.expires, t.end = true, g.expires, g.end
		}
	}
	w.turned[op] = t
}

func (w *world) doubtLost(x *checker.Violation) string {
	t := w.turned[x.Ops[0]]
	switch {
	case !t.granted:
		return "its worker had no lease"
	case t.expires > 0 && t.expires <= t.at:
		return "its lease was over"
	case t.end == released || t.end == expired:
		return fmt.Sprintf("its lease was %s", t.end)
	case t.end == inForce && !w.refused[x.Ops[0]]:
		return "it was not refused"
	}
	return ""
}

// refusedInForce is an operation that the flaw refused well inside its lease, in
// a world where nothing else can have ended it; 0 if there is none.
func (w *world) refusedInForce() int64 {
	if w.lost+w.paused+w.dies+w.long+w.failovers > 0 || w.renew || w.reentrant {
		return 0
	}
	for op, by := range w.refused {
		if t := w.turned[op]; by && t.end == inForce && t.at+w.ttl/100+10*ms < t.expires {
			return op
		}
	}
	return 0
}

// doubtMeasure holds the longest stretch of zombie time against the world.
func (w *world) doubtMeasure(z *checker.Zombie) string {
	if z == nil {
		return ""
	}
	if z.Longest != z.To-z.From {
		return fmt.Sprintf("zombie time of %d from %d to %d", z.Longest, z.From, z.To)
	}
	return w.doubtZombie(z.Key, z.From, z.To)
}

// doubtZombie says why a key cannot have been refused though nobody held it;
// "" if it was.
func (w *world) doubtZombie(key string, from, to int64) string {
	for sell, b := range w.holds {
		if w.keys[sell] == key && min(b.end(), to) > max(b.from, from) {
			return fmt.Sprintf("zombie time %d to %d: worker %d believed", from, to, b.process)
		}
	}
	for _, g := range w.all {
		if g.key == key && g.at > from && g.at < to {
			return fmt.Sprintf("zombie time %d to %d: granted at %d", from, to, g.at)
		}
	}
	if slices.ContainsFunc(w.away, func(at int64) bool { return at > from && at < to }) {
		return fmt.Sprintf("zombie time %d to %d: the server was away", from, to)
	}
	const travels = 4 * ms // an answer, or a request
	at := func(lo, hi int64) bool {
		return slices.ContainsFunc(w.busy[key], func(at int64) bool { return lo <= at && at <= hi })
	}
	if !at(from-travels, from) || !at(to, to+travels) {
		return fmt.Sprintf("zombie time %d to %d: it does not begin and end with a refusal", from, to)
	}
	return ""
}
