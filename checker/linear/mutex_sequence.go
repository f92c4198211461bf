package linear

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/lockcheck/lockcheck/histories"
)

// sequence reduces a group with several acquires: the worker uses one token
// again and again, or none, so that a release is told from another only by
// its place. What the worker knows the outcome of is in order of time; an
// unknown release may undo any grant from its call on, once or never.
func (r *lockReducer) sequence(g *lockGroup) {
	needs, orphans := len(r.needs), len(r.orphans)
	why := r.inSequence(g)
	switch {
	case why == nil:
	case r.sure:
		r.needs, r.orphans = r.needs[:needs], r.orphans[:orphans]
		r.surely(g)
	default:
		r.needs, r.orphans = r.needs[:needs], r.orphans[:orphans]
		r.loosely(g, why)
	}
}

// inSequence is sequence where the needs are exact; else it says why not.
func (r *lockReducer) inSequence(g *lockGroup) error {
	s := lockSequence{who: g.who, r: r}
	for _, op := range g.inOrder() {
		if err := s.take(op); err != nil {
			return err
		}
	}
	first := len(r.needs)
	var err error
	switch {
	case len(s.freeing) == 0:
		err = s.nested()
	case s.usesTaking() || s.lapses():
		err = fmt.Errorf("worker %s uses a token again after operations of unknown outcome (op %d)", g.who, s.freeing[0].ID)
	case r.spec.Reentrant:
		s.counted()
	default:
		err = s.alternating()
	}
	if err == nil && r.spec.TTL == 0 && r.c == nil {
		s.notHeld(r.needs[first:])
	}
	return err
}

func (g *lockGroup) inOrder() []*histories.Op {
	ops := slices.Clone(g.more)
	for _, op := range []*histories.Op{g.acq, g.rel} {
		if op != nil {
			ops = append(ops, op)
		}
	}
	slices.SortStableFunc(ops, func(a, b *histories.Op) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.CallLine, b.CallLine), cmp.Compare(a.ID, b.ID))
	})
	return ops
}

// lockSequence is the operations of a group by kind.
type lockSequence struct {
	who     histories.Process
	r       *lockReducer
	known   []*histories.Op // acquires and releases that said ok, apart in time
	refused []*histories.Op // releases that said "not the owner"
	taking  []*histories.Op // unknown acquires
	freeing []*histories.Op // releases that may have had an effect
}

// take sorts one operation in, or says why that is beyond what is covered.
func (s *lockSequence) take(op *histories.Op) error {
	switch {
	case op.Outcome == histories.OK:
		if n := len(s.known); n > 0 && s.known[n-1].Return > op.Call {
			return fmt.Errorf("ops %d and %d of worker %s use one token at one time", s.known[n-1].ID, op.ID, s.who)
		}
		s.known = append(s.known, op)
	case op.F == histories.Acquire:
		s.taking = append(s.taking, op)
	case denies(op, s.r.spec):
		s.refused = append(s.refused, op)
	default:
		s.freeing = append(s.freeing, op)
	}
	return nil
}

// usesTaking reports whether an unknown acquire can have served a release.
func (s *lockSequence) usesTaking() bool {
	for _, list := range [][]*histories.Op{s.taking, s.r.nameless[s.who]} {
		for _, op := range s.known {
			if len(list) > 0 && op.F == histories.Release && askedBefore(list[0], op) {
				return true
			}
		}
	}
	return false
}

func (s *lockSequence) lapses() bool {
	return slices.ContainsFunc(s.known, func(op *histories.Op) bool {
		return op.F == histories.Acquire && s.r.end(op) != histories.Never
	})
}

// nested matches each release with the last grant that is still open. A
// release that finds none is served by an unknown acquire.
func (s *lockSequence) nested() error {
	var open nestedGrants
	taking := s.taking
	for place, op := range s.known {
		switch {
		case op.F == histories.Acquire:
			open.add(op, s.r.end(op), place)
		case open.Len() > 0:
			if !s.r.spec.Reentrant && !open.alike() {
				return fmt.Errorf("op %d may have released either of two grants", op.ID)
			}
			s.r.granted(&lockGroup{who: s.who, acq: open.take()}, op, nil)
		case len(taking) > 0 && askedBefore(taking[0], op):
			s.r.unknownAcquire(&lockGroup{who: s.who, acq: taking[0]}, op)
			taking = taking[1:]
		case len(s.r.nameless[s.who]) > 0:
			s.r.orphans = append(s.r.orphans, op)
		default:
			s.r.never(fmt.Sprintf("op %d released a lock that its worker did not hold", op.ID), op.Call, op.Return, op)
			return nil
		}
	}
	for _, g := range open.oldest {
		if !g.taken {
			s.r.granted(&lockGroup{who: s.who, acq: g.acq}, nil, nil)
		}
	}
	return nil
}

// events are known operations and unknown releases, by Call.
func (s *lockSequence) events() []*histories.Op {
	ops := append(slices.Clone(s.known), s.freeing...)
	slices.SortStableFunc(ops, func(a, b *histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	return ops
}

// alternating reduces a lock that its holder cannot take twice. An unknown
// release is spent only where a second grant shows that one has acted, or
// after the last known operation: before a release that said ok it would
// leave that one nothing to release.
func (s *lockSequence) alternating() error {
	var live *histories.Op
	var pool []*histories.Op
	for _, op := range s.events() {
		switch {
		case op.Outcome != histories.OK:
			pool = append(pool, op)
		case op.F == histories.Release && live == nil:
			s.r.never(fmt.Sprintf("op %d released a lock that its worker did not hold", op.ID), op.Call, op.Return, op)
			return nil
		case op.F == histories.Release:
			s.r.hold(s.who, live, op, op.Call, op)
			live = nil
		case live != nil && s.r.spec.TTL > 0 && op.Return >= histories.Later(live.Call, s.r.spec.Lease(live)):
			return fmt.Errorf("worker %s was granted what it may have let go or may have lost (op %d)", s.who, op.ID)
		default:
			if live != nil {
				pool = s.spend(live, pool)
			}
			live = op
		}
	}
	if live != nil {
		s.spend(live, pool)
	}
	return nil
}

// spend ends a grant by the earliest unknown release, if there is one.
func (s *lockSequence) spend(live *histories.Op, pool []*histories.Op) []*histories.Op {
	if len(pool) == 0 {
		s.r.hold(s.who, live, nil, histories.Never, nil)
		return nil
	}
	s.r.hold(s.who, live, pool[0], pool[0].Call, nil)
	return pool[1:]
}

// counted reduces a reentrant lock. k counts known grants less known
// releases; least is the smallest k from here on, and as many unknown
// releases can have acted by now without leaving a later known release
// nothing to release. What remains is the least count, at every moment at
// once: the lock is held where it is above zero.
func (s *lockSequence) counted() {
	events := s.events()
	k, least := s.counts(events)
	if k == nil {
		return
	}
	var from *histories.Op // grant that began the span
	unknown := 0
	for i, op := range events {
		if op.Outcome != histories.OK {
			unknown++
		}
		held := k[i] > min(unknown, least[i])
		switch {
		case held && from == nil:
			from = op
		case !held && from != nil:
			s.r.hold(s.who, from, op, op.Call, nil)
			from = nil
		case op.F == histories.Acquire:
			s.r.hold(s.who, op, nil, op.Call, nil) // an instant, if only for its number
		}
	}
	if from != nil {
		s.r.hold(s.who, from, nil, histories.Never, nil)
	}
}

// counts are k and least after each event; nil after a release too many.
func (s *lockSequence) counts(events []*histories.Op) (k, least []int) {
	k, least = make([]int, len(events)), make([]int, len(events))
	n := 0
	for i, op := range events {
		switch {
		case op.Outcome != histories.OK:
		case op.F == histories.Acquire:
			n++
		default:
			n--
		}
		if n < 0 {
			s.r.never(fmt.Sprintf("op %d released a lock that its worker did not hold", op.ID), op.Call, op.Return, op)
			return nil, nil
		}
		k[i], least[i] = n, n
	}
	for i := len(events) - 2; i >= 0; i-- {
		least[i] = min(least[i], least[i+1])
	}
	return k, least
}

// notHeld finds an answer "not the owner" inside a span of the worker's own.
// Of the spans that began before it, the one that ends last tells.
func (s *lockSequence) notHeld(needs []lockNeed) {
	if len(s.refused) == 0 {
		return
	}
	spans := make([]*lockNeed, 0, len(needs))
	for i := range needs {
		if needs[i].span {
			spans = append(spans, &needs[i])
		}
	}
	slices.SortStableFunc(spans, func(a, b *lockNeed) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.acq.CallLine, b.acq.CallLine))
	})
	last := make([]*lockNeed, len(spans)) // of spans[:i+1], the one that ends last
	for i, n := range spans {
		if last[i] = n; i > 0 && !last[i-1].endsFirst(n) {
			last[i] = last[i-1]
		}
	}
	for _, op := range s.refused {
		i := sort.Search(len(spans), func(i int) bool { return !spans[i].beganBefore(op) })
		if i > 0 && last[i-1].deniedBy(op) {
			s.r.denied(op, last[i-1].acq)
			return
		}
	}
}

// endsFirst reports whether n ends before other, of spans of one worker.
func (n *lockNeed) endsFirst(other *lockNeed) bool {
	return cmp.Or(cmp.Compare(n.hi, other.hi), cmp.Compare(n.endLine(), other.endLine())) < 0
}

// endLine is the line of what ended the span; -1 if that was no operation.
func (n *lockNeed) endLine() int {
	if n.rel == nil {
		return -1
	}
	return n.rel.CallLine
}
