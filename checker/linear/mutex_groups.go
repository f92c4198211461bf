package linear

import (
	"hash/maphash"
	"math/bits"

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
