package linear

import (
	"cmp"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// Where a worker uses a token again and some outcomes are unknown, one rule for
// what each grant needs would have to weigh every way in which releases can
// belong to grants. Two bounds answer nearly all such histories instead:
//
//   - *One* way is tried: each release is about the open grant that would last
//     longest. It is as if each acquire had a token of its own, so the exact
//     check covers it. Is there a legal order, then that is an order of the
//     history itself.
//   - What a grant needs in *every* way is the span from its answer to the first
//     call that may end it: its worker's belief, or any release of its token.
//     Contradict such spans each other, then no way is legal.
//
// Only what lies between the two is not covered.

// loosely reduces a group in the one way that is tried. The reducer keeps why the
// exact rules do not cover the group: see mutex.
func (r *lockReducer) loosely(g *lockGroup, why error) {
	r.loose = cmp.Or(r.loose, why)
	first := len(r.needs)
	m := looseMatch{r: r, who: g.who, rest: map[*histories.Op]*histories.Op{}}
	var refused []*histories.Op
	for place, op := range g.inOrder() {
		switch {
		case op.F == histories.Acquire && op.Outcome == histories.OK:
			m.open.add(op, r.end(op), place)
		case op.F == histories.Acquire:
			m.taking = append(m.taking, op)
		case denies(op, r.spec):
			refused = append(refused, op)
		case op.Outcome == histories.OK:
			m.release(op)
		default:
			m.doubt(op, place)
		}
		if r.c != nil {
			return
		}
	}
	m.rests()
	if r.spec.TTL == 0 && r.c == nil {
		s := lockSequence{who: g.who, r: r, refused: refused}
		s.notHeld(r.needs[first:])
	}
}

// looseMatch gives releases to grants.
type looseMatch struct {
	r       *lockReducer
	who     histories.Process
	open    nestedGrants // nothing was released that may be about them
	doubted nestedGrants // a release of unknown outcome may have ended them
	rest    map[*histories.Op]*histories.Op
	taking  []*histories.Op // unknown acquires
}

// release gives a release that said ok to an open grant, else to a doubted one,
// else to an unknown acquire.
func (m *looseMatch) release(op *histories.Op) {
	switch {
	case m.open.Len() > 0:
		m.r.granted(&lockGroup{who: m.who, acq: m.open.take()}, op, nil)
	case m.doubted.Len() > 0:
		m.r.granted(&lockGroup{who: m.who, acq: m.doubted.take()}, op, nil)
	case len(m.taking) > 0 && askedBefore(m.taking[0], op):
		m.r.unknownAcquire(&lockGroup{who: m.who, acq: m.taking[0]}, op)
		m.taking = m.taking[1:]
	default:
		m.r.orphans = append(m.r.orphans, op)
	}
}

// doubt gives a release of unknown outcome to an open grant, if there is one.
func (m *looseMatch) doubt(op *histories.Op, place int) {
	if m.open.Len() > 0 {
		acq := m.open.take()
		m.rest[acq] = op
		m.doubted.add(acq, m.r.end(acq), place)
	}
}

// rests reduces the grants that no release was told to have ended.
func (m *looseMatch) rests() {
	for _, list := range [2][]*nestedGrant{m.open.grants, m.doubted.grants} {
		slices.SortFunc(list, func(a, b *nestedGrant) int { return cmp.Compare(a.place, b.place) })
		for _, g := range list {
			m.r.granted(&lockGroup{who: m.who, acq: g.acq}, nil, m.rest[g.acq])
		}
	}
}

// surely reduces a group to what its grants need in every way: a span that ends
// with the first call that may end it, or the instant of the grant.
func (r *lockReducer) surely(g *lockGroup) {
	ops := g.inOrder()
	var ok, first *histories.Op // release after the grant in question; of unknown outcome, of all
	needs := len(r.needs)
	for _, op := range slices.Backward(ops) {
		switch {
		case op.F == histories.Release && op.Outcome == histories.OK:
			ok = op
		case op.F == histories.Release && !denies(op, r.spec):
			first = op
		case op.F == histories.Acquire && op.Outcome == histories.OK:
			r.need(lockNeed{acq: op, rel: ok, who: g.who, sure: true})
		}
	}
	early := int64(-1) // return of the releases called so far
	slices.Reverse(r.needs[needs:])
	for _, op := range ops {
		if op.F == histories.Release && op.Outcome == histories.OK {
			early = max(early, op.Return)
		} else if needs < len(r.needs) && r.needs[needs].acq == op {
			r.needs[needs].shorten(first, r.end(op), early > op.Call)
			needs++
		}
	}
}

// shorten ends the need, whose rel is the next release that said ok, with the
// first of what may end it. unanswered: a release was under way when the grant was asked for.
func (n *lockNeed) shorten(doubted *histories.Op, end int64, unanswered bool) {
	if doubted != nil && (n.rel == nil || doubted.Call < n.rel.Call) {
		n.rel = doubted
	}
	n.span, n.lo, n.hi = true, n.acq.Return, histories.Never
	if n.rel != nil {
		n.hi = n.rel.Call
	}
	if end < n.hi {
		n.hi, n.rel = end, nil
	}
	if unanswered || n.hi <= n.lo {
		n.span, n.lo, n.hi, n.rel = false, n.acq.Call, n.acq.Return, nil
	}
}
