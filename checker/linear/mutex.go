package linear

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// Lock decides whether the acquires and releases of one lock key fit some
// legal order. ops are sorted by Call; operations that are neither acquire
// nor release are passed over. end says when the worker's belief in a grant
// ended for another reason than its release (deadline, notice, death): from
// then on the server may have let the lock go; Never if it did not. A nil end
// means each acquire's own until; beliefEnds makes one of beliefs.
//
// covered is nil if the answer is exact: then c is nil if such an order
// exists, else the smallest contradiction. Otherwise covered says why this
// history is beyond the exact check, and c is nil and says nothing.
//
// The idea: each grant is reduced to the least that it needs in every legal
// order, which is a span (from the moment the grant was answered to the
// moment its release was sent) or an instant somewhere in a window. The least
// needs of two grants never help each other, so an order exists if and only
// if the spans are apart and no window lies inside a span. The argument in
// full is in docs/checking.md; it goes back to Gibbons and Korach, "Testing
// shared memories" (1997), where unique values make the question easy.
func Lock(ops []*histories.Op, spec histories.LockSpec, end func(*histories.Op) int64) (c *Contradiction, covered error) {
	r := lockNeeds(ops, spec, end, false)
	if c, covered = r.answer(ops); r.loose == nil || covered == nil && c == nil {
		return c, covered
	}
	sure := lockNeeds(ops, spec, end, true)
	if c, covered = sure.answer(ops); c == nil && covered == nil {
		covered = r.loose
	}
	return c, covered
}

// answer looks whether all that grants need can be had.
func (r *lockReducer) answer(ops []*histories.Op) (*Contradiction, error) {
	if r.c != nil || r.uncovered != nil {
		return r.c, r.uncovered
	}
	s := lockSweep{spec: r.spec, needs: inOrder(r.needs), runs: make([]lockRun, 0, len(r.needs))}
	if c := s.spans(); c != nil {
		return c, nil
	}
	if c := s.instants(); c != nil {
		return c, nil
	}
	return fenceOrder(s.needs, ops, r.spec, r.loose != nil), nil
}

// inOrder sorts spans before instants, each by lo. It sorts small keys rather
// than needs: there may be a million.
func inOrder(needs []lockNeed) []*lockNeed {
	type key struct {
		lo      int64
		place   int32
		instant bool
	}
	keys := make([]key, len(needs))
	for i := range needs {
		keys[i] = key{needs[i].lo, int32(i), !needs[i].span}
	}
	slices.SortFunc(keys, func(a, b key) int {
		switch {
		case a.instant != b.instant && b.instant, a.instant == b.instant && a.lo < b.lo:
			return -1
		case a.instant != b.instant || a.lo > b.lo:
			return 1
		}
		return cmp.Compare(needs[a.place].line(), needs[b.place].line())
	})
	sorted := make([]*lockNeed, len(keys))
	for i, k := range keys {
		sorted[i] = &needs[k.place]
	}
	return sorted
}

// lockNeed is the least that a grant needs of the lock.
type lockNeed struct {
	lo, hi int64 // ns
	// span: the lock is held all through (lo, hi), and lo < hi. Else it is
	// held for an instant in [lo, hi].
	span bool
	// late: the instant is that of a release after its grant may have lapsed.
	late bool
	// unknown: the release is of an acquire of unknown outcome, asked for then
	// at the earliest.
	unknown bool
	asked   int64
	// sure: it is needed in every way, see surely; what its worker's other
	// grants need may be for another way.
	sure bool
	who  histories.Process
	acq  *histories.Op // nil if the release came without one
	rel  *histories.Op // nil if the span has no end, or none that a release made
}

// line is where the need begins in the file: what one worker did at one
// instant is in the order of lines.
func (n *lockNeed) line() int {
	if n.acq != nil && !n.late {
		return n.acq.CallLine
	}
	return n.rel.CallLine
}

// lastLine is where the last operation of an instant begins.
func (n *lockNeed) lastLine() int {
	if n.rel != nil && !n.span {
		return max(n.line(), n.rel.CallLine)
	}
	return n.line()
}

// lockSweep goes over the needs in order: spans by lo, then instants by lo.
type lockSweep struct {
	spec  histories.LockSpec
	needs []*lockNeed
	runs  []lockRun // apart, in order
	first int       // of the instants
}

// lockRun is a time all through which one worker held the lock: its spans
// needs[from:to], each of which began before the one before it had ended.
type lockRun struct {
	lo, hi   int64
	who      histories.Process
	from, to int
}

// spans joins spans into runs, and fails where two exclude each other.
func (s *lockSweep) spans() *Contradiction {
	own := ownSpans{}
	for ; s.first < len(s.needs) && s.needs[s.first].span; s.first++ {
		n := s.needs[s.first]
		next := lockRun{n.lo, n.hi, n.who, s.first, s.first + 1}
		if len(s.runs) == 0 {
			s.runs = append(s.runs, next)
			own.add(n)
			continue
		}
		last := &s.runs[len(s.runs)-1]
		switch {
		case last.who != n.who && n.lo < last.hi:
			return s.clash(n, *last)
		case last.who != n.who:
			s.runs = append(s.runs, next)
		case own.before(n) == nil:
			s.runs = append(s.runs, next)
		case s.excludes(own.before(n), n):
			return n.against(own.before(n))
		default:
			last.hi, last.to = max(last.hi, n.hi), next.to
		}
		own.add(n)
	}
	return nil
}

// instants fails where a window lies inside another worker's run: equal
// instants touch, whatever happens at one instant has any order. A worker's
// own spans exclude its instants as they do its spans.
func (s *lockSweep) instants() *Contradiction {
	own, next := ownSpans{}, 0
	for i := s.first; i < len(s.needs); i++ {
		n := s.needs[i]
		for ; next < s.first && s.needs[next].lo <= n.lo; next++ {
			own.add(s.needs[next])
		}
		at, _ := slices.BinarySearchFunc(s.runs, n.lo, func(r lockRun, t int64) int { return cmp.Compare(r.lo, t) })
		if at > 0 && s.runs[at-1].who != n.who && n.hi < s.runs[at-1].hi {
			return s.clash(n, s.runs[at-1])
		}
		if other := own.before(n); other != nil && s.excludes(other, n) {
			return n.against(other)
		}
	}
	return nil
}

// clash is the contradiction with the spans of a run that n overlaps.
func (s *lockSweep) clash(n *lockNeed, run lockRun) *Contradiction {
	from, to := run.from, run.to
	for from < to-1 && s.needs[from].hi <= n.lo {
		from++
	}
	for to-1 > from && s.needs[to-1].lo >= n.hi {
		to--
	}
	return n.against(slices.Clone(s.needs[from:to])...)
}

// excludes reports whether a span forbids the same worker the later need n. A
// reentrant lock forbids nothing. A lock with a lease may be granted to its
// own holder again once the lease can have run out; before, it may not.
func (s *lockSweep) excludes(span, n *lockNeed) bool {
	if s.spec.Reentrant || n.late || n.sure || span.sure || !n.within(span) {
		return false
	}
	if n.unknown && s.spec.TTL > 0 && histories.Later(n.asked, n.lease(s.spec)) <= span.acq.Return {
		return false // it may have been granted first, and the span be the taking again
	}
	return s.spec.TTL == 0 || n.latest() < histories.Later(span.acq.Call, s.spec.Lease(span.acq))
}

// lease is how long what was asked for lasts.
func (n *lockNeed) lease(spec histories.LockSpec) time.Duration {
	if n.acq == nil {
		return spec.TTL
	}
	return spec.Lease(n.acq)
}

// ownSpans are each worker's spans that have not ended, the last one on top.
type ownSpans map[histories.Process][]*lockNeed

func (o ownSpans) add(n *lockNeed) { o[n.who] = append(o[n.who], n) }

// before is the last span of n's worker that had not ended when n began.
func (o ownSpans) before(n *lockNeed) *lockNeed {
	stack := o[n.who]
	for len(stack) > 0 && stack[len(stack)-1].endsBefore(n) {
		stack = stack[:len(stack)-1]
	}
	o[n.who] = stack
	if len(stack) == 0 {
		return nil
	}
	return stack[len(stack)-1]
}

// endsBefore reports whether n's worker had ended n before it began next.
func (n *lockNeed) endsBefore(next *lockNeed) bool {
	return n.hi < next.lo || n.hi == next.lo && (n.rel == nil || n.rel.CallLine < next.line())
}

// within reports whether n comes inside the earlier span of the same worker.
func (n *lockNeed) within(span *lockNeed) bool {
	if n.span {
		return !span.endsBefore(n)
	}
	after := n.lo > span.lo || n.line() > span.line()
	before := n.hi < span.hi || n.hi == span.hi && span.rel != nil && n.lastLine() < span.rel.CallLine
	return after && before
}

// against is the contradiction between n and earlier spans of one worker.
func (n *lockNeed) against(spans ...*lockNeed) *Contradiction {
	span := spans[0]
	c := &Contradiction{Ops: lockEvidence(append(spans, n)), From: max(n.lo, span.lo), To: min(n.hi, span.hi)}
	if c.To == histories.Never || c.To < c.From {
		c.To = c.From
	}
	switch {
	case n.span:
		c.Why = fmt.Sprintf("the grant of op %d is in force %s, that of op %d %s", span.acq.ID, span.period(), n.acq.ID, n.period())
	case n.late:
		c.Why = fmt.Sprintf("op %d released the grant of op %d, while that of op %d is in force %s", n.rel.ID, n.acq.ID, span.acq.ID, span.period())
	default:
		c.Why = fmt.Sprintf("%s needs the lock at some moment from %s to %s, but the grant of op %d is in force %s",
			n.name(), atTime(n.lo), atTime(n.hi), span.acq.ID, span.period())
	}
	return c
}

func (n *lockNeed) name() string {
	if n.acq != nil {
		return fmt.Sprintf("the grant of op %d", n.acq.ID)
	}
	return fmt.Sprintf("the release of op %d", n.rel.ID)
}

func (n *lockNeed) period() string {
	if n.hi == histories.Never {
		return "from " + atTime(n.lo) + " on"
	}
	return "from " + atTime(n.lo) + " to " + atTime(n.hi)
}

func atTime(ns int64) string { return time.Duration(ns).String() }

// lockEvidence names the grants first, then what ended them.
func lockEvidence(needs []*lockNeed) []int64 {
	var ids []int64
	var releases []*histories.Op
	for _, n := range needs {
		if n.acq != nil {
			ids = append(ids, n.acq.ID)
		}
		if n.rel != nil {
			releases = append(releases, n.rel)
		}
	}
	slices.SortStableFunc(releases, func(a, b *histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	for _, rel := range releases {
		ids = append(ids, rel.ID)
	}
	return ids
}
