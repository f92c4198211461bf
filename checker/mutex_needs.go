package checker

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// lockGroup is what one worker did with one token: in our own histories one
// acquire and its releases. Where tokens come again, or there are none, it is
// all that the worker did, in order.
type lockGroup struct {
	who      histories.Process
	acq, rel *histories.Op   // the first of each
	more     []*histories.Op // the rest: acquires, releases
	acquires int
}

type lockToken struct {
	who   histories.Process
	token string
}

// lockGrouper hands operations to their groups.
type lockGrouper struct {
	byToken map[lockToken]int32
	owners  map[string]int32 // group with acquires of a token; -1 if several workers have it
	groups  []lockGroup
	failed  map[lockToken]*histories.Op
	// nameless are unknown acquires whose token nobody knows: it can be any
	// that their worker releases.
	nameless map[histories.Process][]*histories.Op
	reused   bool // some worker acquired twice with one token
	tokens   bool // some operation has a token
}

// lockNeeds reduces the operations of a key to the needs of their grants.
func lockNeeds(ops []*histories.Op, spec histories.LockSpec, end func(*histories.Op) int64) ([]lockNeed, *contradiction, error) {
	end = orUntil(end)
	g := groupLock(ops)
	out := lockReducer{spec: spec, end: end, nameless: g.nameless, reused: g.reused, needs: make([]lockNeed, 0, len(g.groups))}
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
			return nil, out.c, out.uncovered
		}
	}
	for _, rel := range out.orphans {
		out.orphan(rel, g.failed[lockToken{rel.Process, rel.Token}])
	}
	return out.needs, out.c, nil
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

// groupLock sorts acquires and releases into groups. Acquires that failed had
// no effect.
func groupLock(ops []*histories.Op) *lockGrouper {
	if g := groupRecent(ops); g != nil {
		return g
	}
	g := newGrouper(ops)
	g.byToken = make(map[lockToken]int32, cap(g.groups))
	for _, op := range ops {
		if !g.setAside(op) && op.F == histories.Acquire {
			g.acquire(op)
		}
	}
	for _, op := range ops {
		if op.F == histories.Release {
			g.release(op)
		}
	}
	return g
}

func newGrouper(ops []*histories.Op) *lockGrouper {
	g := &lockGrouper{failed: map[lockToken]*histories.Op{}, nameless: map[histories.Process][]*histories.Op{}}
	acquires := 0
	for _, op := range ops {
		g.tokens = g.tokens || op.Token != ""
		if op.F == histories.Acquire && op.Outcome != histories.Fail {
			acquires++
		}
	}
	g.groups = make([]lockGroup, 0, acquires)
	return g
}

// setAside takes acquires that belong to no group: those that failed, and
// unknown ones without a token where others have one.
func (g *lockGrouper) setAside(op *histories.Op) bool {
	switch {
	case op.F != histories.Acquire:
		return false
	case op.Outcome == histories.Fail:
		if op.Token != "" {
			g.failed[lockToken{op.Process, op.Token}] = op
		}
		return true
	case op.Outcome == histories.Info && op.Token == "" && g.tokens:
		g.nameless[op.Process] = append(g.nameless[op.Process], op)
		return true
	}
	return false
}

// groupRecent is groupLock for the usual case, without a map of all tokens:
// no token comes again, and a release is of one of its worker's last grants.
// It answers nil if the case is another.
func groupRecent(ops []*histories.Op) *lockGrouper {
	g := newGrouper(ops)
	seen := newHashSet(cap(g.groups))
	recent := map[histories.Process]*[4]int32{} // group + 1
	for _, op := range ops {
		if op.F != histories.Acquire && op.F != histories.Release || g.setAside(op) {
			continue
		}
		last := recent[op.Process]
		if last == nil {
			last = new([4]int32)
			recent[op.Process] = last
		}
		if op.F == histories.Acquire {
			if op.Token == "" || !seen.add(op.Token) {
				return nil
			}
			g.groups = append(g.groups, lockGroup{who: op.Process, acq: op, acquires: 1})
			copy(last[1:], last[:3])
			last[0] = int32(len(g.groups))
		} else if !g.releaseRecent(op, last) {
			return nil
		}
	}
	return g
}

func (g *lockGrouper) releaseRecent(op *histories.Op, last *[4]int32) bool {
	for _, i := range last {
		if i == 0 {
			break
		}
		if group := &g.groups[i-1]; group.acq.Token == op.Token {
			group.addRelease(op)
			return true
		}
	}
	return false
}

func (group *lockGroup) addRelease(op *histories.Op) {
	if group.rel == nil {
		group.rel = op
		return
	}
	group.more = append(group.more, op)
}

// hashSet remembers strings by 64 bits of hash: to mistake a new one for one
// seen before only costs time.
type hashSet struct {
	seed  maphash.Seed
	slots []uint64 // 0: empty
}

func newHashSet(n int) *hashSet {
	return &hashSet{maphash.MakeSeed(), make([]uint64, 1<<bits.Len(uint(2*n)))}
}

// add reports whether s is new.
func (h *hashSet) add(s string) bool {
	hash := maphash.String(h.seed, s) | 1
	mask := uint64(len(h.slots) - 1)
	for i := hash >> 1 & mask; ; i = (i + 1) & mask {
		switch h.slots[i] {
		case hash:
			return false
		case 0:
			h.slots[i] = hash
			return true
		}
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

func (g *lockGrouper) acquire(op *histories.Op) {
	key := lockToken{op.Process, op.Token}
	i, ok := g.byToken[key]
	if !ok {
		g.byToken[key] = int32(len(g.groups))
		g.groups = append(g.groups, lockGroup{who: op.Process, acq: op, acquires: 1})
		return
	}
	group := &g.groups[i]
	group.acquires++
	g.reused = true
	group.more = append(group.more, op)
}

// release finds the group by worker and token, else by token alone if one
// worker only has acquired with it: it may have asked another to clean up.
func (g *lockGrouper) release(op *histories.Op) {
	key := lockToken{op.Process, op.Token}
	i, ok := g.byToken[key]
	if !ok && op.Token != "" {
		i, ok = g.owner(op.Token)
	}
	if !ok {
		i = int32(len(g.groups))
		g.byToken[key] = i
		g.groups = append(g.groups, lockGroup{who: op.Process})
	}
	g.groups[i].addRelease(op)
}

func (g *lockGrouper) owner(token string) (int32, bool) {
	if g.owners == nil {
		g.owners = map[string]int32{}
		for i := range g.groups {
			if a := g.groups[i].acq; a != nil {
				if _, twice := g.owners[a.Token]; twice {
					g.owners[a.Token] = -1
				} else {
					g.owners[a.Token] = int32(i)
				}
			}
		}
	}
	i, ok := g.owners[token]
	return i, ok && i >= 0
}

// releases are those of a group with one acquire at most, by Call.
func (group *lockGroup) releases() []*histories.Op {
	if group.rel == nil {
		return nil
	}
	return append([]*histories.Op{group.rel}, group.more...)
}

// lockReducer collects needs until something cannot be.
type lockReducer struct {
	spec      histories.LockSpec
	end       func(*histories.Op) int64
	nameless  map[histories.Process][]*histories.Op
	reused    bool
	orphans   []*histories.Op // releases that said ok and have no acquire of their token
	needs     []lockNeed
	c         *contradiction
	uncovered error
}

func (r *lockReducer) need(n lockNeed) { r.needs = append(r.needs, n) }

func (r *lockReducer) never(why string, from, to int64, ops ...*histories.Op) {
	c := &contradiction{From: from, To: to, Why: why}
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
	if ok != nil {
		r.need(lockNeed{lo: max(g.acq.Call, ok.Call), hi: ok.Return, who: g.who, acq: g.acq, rel: ok})
	}
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
	after := op.Call > n.lo || own && op.Call == n.lo && op.CallLine > n.acq.CallLine
	before := op.Return < n.hi || own && op.Return == n.hi && n.rel != nil && op.CallLine < n.rel.CallLine
	return n.span && after && before
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
