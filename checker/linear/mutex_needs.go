package linear

import (
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// lockNeeds reduces the operations of a key to the needs of their grants. sure
// asks for no more than is needed in every way in which releases can belong to
// grants; else loose says where one way of several was tried.
func lockNeeds(ops []*histories.Op, spec histories.LockSpec, end func(*histories.Op) int64, sure bool) (out lockReducer) {
	end = orUntil(end)
	g := groupLock(ops)
	out = lockReducer{spec: spec, end: end, sure: sure, nameless: g.nameless, reused: g.reused, needs: make([]lockNeed, 0, len(g.groups))}
	for i := range g.groups {
		switch group := &g.groups[i]; {
		case group.acquires == 0:
			out.ungranted(group)
		case group.acquires == 1:
			out.single(group)
		default:
			out.sequence(group)
		}
		if out.c != nil || out.uncovered != nil {
			return out
		}
	}
	for _, rel := range out.orphans {
		out.orphan(rel, g.failed[lockToken{rel.Process, rel.Token}])
	}
	return out
}

// orUntil is end, or each acquire's own until.
func orUntil(end func(*histories.Op) int64) func(*histories.Op) int64 {
	if end != nil {
		return end
	}
	return func(acquire *histories.Op) int64 {
		if acquire.Until.Known {
			return acquire.Until.N
		}
		return histories.Never
	}
}

// denies reports whether a release was told that its worker does not hold a
// lock that nothing but a release can take away.
func denies(op *histories.Op, spec histories.LockSpec) bool {
	return op.Outcome == histories.Fail && op.Error == histories.NotOwner && spec.TTL == 0
}

// mayFree reports whether a release leaves open what became of the lock: its
// outcome is unknown, or it failed. In either case its worker has stopped
// believing. A lease that was found gone had run out or was lost; a release
// that reached nobody leaves a lock whose end nobody will see.
func mayFree(op *histories.Op, spec histories.LockSpec) bool {
	return op.Outcome != histories.OK && !denies(op, spec)
}

// lockReducer collects needs until something cannot be.
type lockReducer struct {
	spec      histories.LockSpec
	end       func(*histories.Op) int64
	nameless  map[histories.Process][]*histories.Op
	reused    bool
	orphans   []*histories.Op // releases that said ok and have no acquire of their token
	needs     []lockNeed
	c         *Contradiction
	sure      bool
	loose     error // why an answer of "contradiction" is about one way of several
	uncovered error
}

func (r *lockReducer) need(n lockNeed) { r.needs = append(r.needs, n) }

func (r *lockReducer) never(why string, from, to int64, ops ...*histories.Op) {
	c := &Contradiction{From: from, To: to, Why: why}
	for _, op := range ops {
		if op != nil {
			c.Ops = append(c.Ops, op.ID)
		}
	}
	r.c = c
}

// single reduces a group with one acquire: the token is its own.
func (r *lockReducer) single(g *lockGroup) {
	var ok, unknown *histories.Op // first ok release, first unknown one
	again := r.reused             // the token is not its own after all
	rels := [1]*histories.Op{g.rel}
	for _, list := range [2][]*histories.Op{rels[:], g.more} {
		for _, op := range list {
			switch {
			case op == nil || denies(op, r.spec):
			case op.Outcome == histories.OK && (ok != nil || !askedBefore(g.acq, op)) && len(r.nameless[op.Process]) > 0:
				r.orphans, again = append(r.orphans, op), true
			case op.Outcome == histories.OK && ok != nil:
				r.never(fmt.Sprintf("ops %d and %d both released the grant of op %d", ok.ID, op.ID, g.acq.ID), ok.Call, op.Call, g.acq, ok, op)
				return
			case op.Outcome == histories.OK:
				ok = op
			case unknown == nil:
				unknown = op
			}
		}
	}
	if ok != nil && unknown != nil && again && len(r.nameless[g.who]) > 0 {
		r.uncovered = fmt.Errorf("worker %s may have used the token of op %d again in op %d", g.who, g.acq.ID, r.nameless[g.who][0].ID)
		return
	}
	if ok != nil && !askedBefore(g.acq, ok) {
		r.never(fmt.Sprintf("op %d released the grant of op %d before it was asked for", ok.ID, g.acq.ID), ok.Call, g.acq.Call, g.acq, ok)
		return
	}
	if g.acq.Outcome != histories.OK {
		r.unknownAcquire(g, ok)
		return
	}
	r.granted(g, ok, unknown)
}

// unknownAcquire needs an instant only if something was there to release.
func (r *lockReducer) unknownAcquire(g *lockGroup, ok *histories.Op) {
	if ok == nil {
		return
	}
	n := lockNeed{lo: max(g.acq.Call, ok.Call), hi: ok.Return, who: g.who, acq: g.acq, rel: ok, unknown: true, asked: g.acq.Call}
	if list := r.nameless[g.who]; g.acq.Token == "" && len(list) > 0 {
		n.asked = min(n.asked, list[0].Call) // whichever of them it was
	}
	r.need(n)
}

// granted reduces an ok acquire with its first ok and first unknown release.
func (r *lockReducer) granted(g *lockGroup, ok, unknown *histories.Op) {
	rel, stop := ok, int64(histories.Never)
	if ok == nil {
		rel = unknown
	}
	if rel != nil {
		stop = rel.Call
	}
	end := r.end(g.acq)
	if end <= stop {
		if ok != nil && ok.Call < g.acq.Return {
			r.uncovered = fmt.Errorf("op %d releases the grant of op %d before it is answered", ok.ID, g.acq.ID)
			return
		}
		if ok != nil {
			r.need(lockNeed{lo: ok.Call, hi: ok.Return, late: true, who: g.who, acq: g.acq, rel: ok})
		}
		rel, stop, ok = nil, end, nil
	}
	r.hold(g.who, g.acq, rel, stop, ok)
	if r.spec.TTL == 0 && (len(g.more) > 0 || g.rel != nil && g.rel.Outcome == histories.Fail) {
		r.notHeld(g)
	}
}

// hold needs the span from the grant's answer to stop, or an instant if that
// is not after it. ok is the release if it said ok.
func (r *lockReducer) hold(who histories.Process, acq, rel *histories.Op, stop int64, ok *histories.Op) {
	n := lockNeed{lo: acq.Return, hi: stop, span: true, who: who, acq: acq, rel: rel}
	if stop <= acq.Return {
		n.lo, n.hi, n.span = max(acq.Call, stop), acq.Return, false
		if ok != nil {
			n.hi = min(n.hi, ok.Return)
		}
	}
	r.need(n)
}

// notHeld looks at answers "not the owner" of a lock without a lease: none
// may lie inside the span of the very grant, which was added last.
func (r *lockReducer) notHeld(g *lockGroup) {
	n := &r.needs[len(r.needs)-1]
	for _, op := range g.releases() {
		if denies(op, r.spec) && n.deniedBy(op) {
			r.denied(op, g.acq)
			return
		}
	}
}

// deniedBy reports whether op lies inside n's span. What the worker itself did
// at one instant is in the order in which it did it.
func (n *lockNeed) deniedBy(op *histories.Op) bool {
	own := op.Process == n.who
	before := op.Return < n.hi || own && op.Return == n.hi && n.rel != nil && op.CallLine < n.rel.CallLine
	return n.span && n.beganBefore(op) && before
}

// beganBefore reports whether op was called after n had begun.
func (n *lockNeed) beganBefore(op *histories.Op) bool {
	return op.Call > n.lo || op.Process == n.who && op.Call == n.lo && op.CallLine > n.acq.CallLine
}

func (r *lockReducer) denied(op, acq *histories.Op) {
	r.never(fmt.Sprintf("op %d was told that it is not the owner, while its grant by op %d is in force", op.ID, acq.ID), op.Call, op.Return, acq, op)
}

// ungranted keeps the releases of a token without acquire that said ok.
func (r *lockReducer) ungranted(g *lockGroup) {
	for _, op := range g.releases() {
		if op.Outcome == histories.OK {
			r.orphans = append(r.orphans, op)
		}
	}
}

// orphan reduces an ok release that no known acquire explains: it belongs to
// a nameless one of its worker, or to none. Taking the last that fits leaves
// the others to earlier releases.
func (r *lockReducer) orphan(rel, failed *histories.Op) {
	list := r.nameless[rel.Process]
	for i, acq := range slices.Backward(list) {
		if askedBefore(acq, rel) {
			r.nameless[rel.Process] = slices.Delete(list, i, i+1)
			r.unknownAcquire(&lockGroup{who: rel.Process, acq: acq}, rel)
			return
		}
	}
	r.never(fmt.Sprintf("op %d released a lock that was never granted to it", rel.ID), rel.Call, rel.Return, failed, rel)
}

// askedBefore reports whether the acquire was invoked before the release had
// returned. What one worker does at one instant is in the order of lines.
func askedBefore(acq, rel *histories.Op) bool {
	apart := acq.Process != rel.Process || acq.CallLine < rel.CallLine
	return acq.Call < rel.Return || acq.Call == rel.Return && apart
}
