package checker

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/lockcheck/lockcheck/histories"
)

// ending says why a belief ended.
type ending uint8

const (
	openEnd     ending = iota // it lasts to the end of the history
	byRelease                 // the worker invoked release
	byNotice                  // the worker was told lost
	byDeath                   // the worker was killed
	byDeadline                // the worker's own until passed
	bySaleOver                // the sell that it served was over
	byReacquire               // the worker took the lock again and has forgotten this hold
	byCleanUp                 // the worker released this, or cleaned up after an acquire of unknown outcome
)

// hold is a span of time in which a worker certainly believed that it holds a
// lock: not from the call, but from the moment at which it had its grant in
// hand, and not until the release came back, but until it was sent. What the
// servers think is another matter.
//
//	acquire ─────── ok                    release ─── ok
//	                [═══ believes ═══════)
//
// A grant that came after its own deadline is a hold of no length: it takes
// part in no overlap, but a write under it is stale.
type hold struct {
	acquire  *histories.Op
	resumed  *histories.Op // the late extend that revived it, nil if it is the first span
	from, to int64
	lapse    int64 // when it would have ended without a release: before from, if it has no length
	why      ending
	release  *histories.Op   // of byRelease
	inner    []*histories.Op // grants to the same worker inside it, of a reentrant lock
	tokens   map[string]bool // of inner, once they are many
}

// ended is when the hold ended by what its worker knew: its deadline, also if the
// grant came after that.
func (h *hold) ended() int64 {
	if h.why == byDeadline {
		return min(h.to, h.lapse)
	}
	return h.to
}

func (h *hold) worker() histories.Process { return h.acquire.Process }

// beliefs computes all holds of a key, by from.
func (r *run) beliefs(k *keyed) []hold {
	believers := map[histories.Process]*believer{}
	var order []*believer // maps have no order, verdicts must
	holds := make([]hold, 0, len(k.locks)/3)
	for _, op := range k.locks {
		b := believers[op.Process]
		if b == nil {
			b = &believer{run: r, key: k.name, holds: &holds}
			believers[op.Process] = b
			order = append(order, b)
		}
		switch {
		case op.F == histories.Acquire && op.Outcome == histories.OK:
			b.acquire(op)
			b.own(op.Token)
		case op.F == histories.Acquire && op.Outcome == histories.Info:
			b.own(op.Token)
			b.ghost = b.ghost || op.Token == ""
		case op.F == histories.Extend && op.Outcome == histories.OK:
			b.extend(op)
		case op.F == histories.Release:
			b.release(op)
		}
	}
	for _, b := range order {
		for len(b.open) > 0 {
			b.end(0, r.h.End, openEnd, nil)
		}
	}
	slices.SortFunc(holds, func(x, y hold) int {
		if x.from != y.from {
			return cmp.Compare(x.from, y.from)
		}
		return cmp.Or(cmp.Compare(x.acquire.ID, y.acquire.ID), cmp.Compare(x.to, y.to))
	})
	return holds
}

// believer follows one worker and one key.
type believer struct {
	*run
	key   string
	open  []belief        // in order of grant; rarely more than one
	owned map[string]bool // tokens of its acquires that may have been granted
	ghost bool            // one of these has a token that nobody knows
	holds *[]hold         // of the key
}

// belief is a hold whose end is not known yet.
type belief struct {
	hold
	until int64 // its own deadline; Never if none is shown
	lease int64 // when the lease can have run out; Never if there is none
	limit int64 // first of notice, death, end of the sale
	cause ending
	depth int // of a reentrant lock
}

// maxHolds bounds what a worker that never releases keeps open. Older holds
// are ended early: that can hide, never invent, an overlap.
const maxHolds = 8

func (b *believer) own(token string) {
	if token == "" {
		return
	}
	if b.owned == nil {
		b.owned = map[string]bool{}
	}
	b.owned[token] = true
}

func (b *believer) acquire(op *histories.Op) {
	b.forget(op.Call)
	b.expire(op)
	if n := len(b.open); n > 0 && b.spec.Reentrant && b.open[n-1].until < op.Return {
		// Its deadline passed while the acquire was in flight: that may have
		// been granted anew, with somebody else in between.
		b.end(n-1, op.Return, byReacquire, nil)
	}
	if n := len(b.open); n > 0 && b.spec.Reentrant {
		outer := &b.open[n-1]
		outer.depth++
		outer.enter(op)
		if op.Until.Known && outer.until != histories.Never {
			outer.until = max(outer.until, op.Until.N)
		}
		return
	}
	if len(b.open) == maxHolds {
		b.end(0, op.Call, byReacquire, nil)
	}
	b.open = append(b.open, b.begin(op, nil, op.Return, op.Until))
}

func (b *believer) begin(op, resumed *histories.Op, from int64, until histories.Num) belief {
	x := belief{hold: hold{acquire: op, resumed: resumed, from: from}, until: histories.Never, lease: b.leaseFrom(op), depth: 1}
	if until.Known {
		x.until = until.N
	}
	x.limit, x.cause = b.limitOf(op, from)
	return x
}

// limitOf is the first moment from which on something else than a release or
// a deadline has ended the belief.
func (b *believer) limitOf(op *histories.Op, from int64) (int64, ending) {
	limit, cause := int64(histories.Never), openEnd
	if at := b.diesAt(op.Process, op.Call); at < limit {
		limit, cause = at, byDeath
	}
	if sale := b.op(op.Parent); sale != nil && sale.Return < limit {
		limit, cause = sale.Return, bySaleOver
	}
	if at := b.notices.first(op.Process, b.key, op.Token, from); at < limit {
		return at, byNotice
	}
	return limit, cause
}

func firstFrom(times []int64, from int64) int64 {
	if i, _ := slices.BinarySearch(times, from); i < len(times) {
		return times[i]
	}
	return histories.Never
}

// forget ends what had ended before now, so that open stays short.
func (b *believer) forget(now int64) {
	for i := 0; i < len(b.open); {
		if min(b.open[i].limit, b.open[i].until) < now {
			b.end(i, now, byReacquire, nil)
		} else {
			i++
		}
	}
}

// leaseFrom is when the lease that op was given can have run out at the earliest.
func (b *believer) leaseFrom(op *histories.Op) int64 {
	if b.spec.TTL <= 0 {
		return histories.Never
	}
	return histories.Later(op.Call, b.spec.Lease(op))
}

// expire ends holds whose lease can have run out when their worker was granted
// the lock again, for another sell or none: it has forgotten them, and for the
// lock that is an expiry.
func (b *believer) expire(op *histories.Op) {
	for i := 0; i < len(b.open) && !b.spec.Reentrant; {
		if x := &b.open[i]; x.lease <= op.Call && (op.Parent == 0 || op.Parent != x.acquire.Parent) {
			b.end(i, op.Call, byReacquire, nil)
		} else {
			i++
		}
	}
}

// extend moves the deadline. An extend that was invoked in time leaves the
// belief unbroken, also while it is in flight; a late one begins a new span.
func (b *believer) extend(op *histories.Op) {
	i := b.find(op)
	if i < 0 || op.Call >= b.open[i].limit {
		return
	}
	x := &b.open[i]
	x.lease = max(x.lease, b.leaseFrom(op))
	switch {
	case x.until == histories.Never || !op.Until.Known:
	case op.Call <= x.until:
		x.until = max(op.Until.N, min(x.until, op.Return))
	default:
		again := b.begin(x.acquire, op, op.Return, op.Until)
		again.depth, again.lease = x.depth, x.lease
		again.inner, again.tokens = slices.Clip(x.inner), maps.Clone(x.tokens) // to be released one by one
		*b.holds = append(*b.holds, b.open[i].ended(op.Call, byReacquire, nil))
		b.open[i] = again
	}
}

// release ends the belief when it is invoked, whatever comes of it. A token that
// nobody knows may be that of an acquire of unknown outcome: then it ends the
// belief as well, for nothing is certain of it any more, but it proves nothing.
func (b *believer) release(op *histories.Op) {
	i := b.find(op)
	if i < 0 {
		return
	}
	if x := &b.open[i]; b.ghost && op.Token != "" && x.acquire.Token != "" && !x.has(op.Token) && ownerOf(op) != ownerOf(x.acquire) {
		b.end(i, op.Call, byCleanUp, nil)
		return
	}
	if b.open[i].depth--; b.open[i].depth > 0 && b.spec.Reentrant {
		return
	}
	b.end(i, op.Call, byRelease, op)
}

// find is the open belief that a release or extend is about: the one with its
// token, else of its sell, else the last that was granted before it. A token
// only picks among the worker's own holds: whose hold it is, the worker
// decides, never the token (a shared token field sends another's). The token of
// another acquire of its own, which it cleans up after, means none of these.
func (b *believer) find(op *histories.Op) int {
	for i := len(b.open) - 1; i >= 0 && op.Token != ""; i-- {
		if b.open[i].has(op.Token) {
			return i
		}
	}
	if b.owned[op.Token] {
		return -1
	}
	last := -1
	for i := len(b.open) - 1; i >= 0; i-- {
		switch a := b.open[i].acquire; {
		case op.Parent != 0 && op.Parent == a.Parent && len(b.open) > 1:
			return i
		case last < 0 && a.Return <= op.Call:
			last = i
		}
	}
	return last
}

// fewInner is how many inner grants are looked through one by one.
const fewInner = 8

// enter adds a grant inside the hold.
func (x *belief) enter(op *histories.Op) {
	x.inner = append(x.inner, op)
	switch {
	case len(x.inner) <= fewInner:
		return
	case x.tokens == nil:
		x.tokens = map[string]bool{}
		for _, inner := range x.inner {
			x.tokens[inner.Token] = true
		}
	}
	x.tokens[op.Token] = true
}

// has reports whether a token is of the hold, or of a grant inside it.
func (x *belief) has(token string) bool {
	if x.acquire.Token == token || x.tokens != nil {
		return x.acquire.Token == token || x.tokens[token]
	}
	return slices.ContainsFunc(x.inner, func(op *histories.Op) bool { return op.Token == token })
}

// end closes open belief i at the moment at, or before.
func (b *believer) end(i int, at int64, why ending, release *histories.Op) {
	*b.holds = append(*b.holds, b.open[i].ended(at, why, release))
	b.open = slices.Delete(b.open, i, i+1)
}

func (x *belief) ended(at int64, why ending, release *histories.Op) hold {
	h := x.hold
	h.lapse = min(x.limit, x.until)
	h.to, h.why, h.release = at, why, release
	if x.limit <= h.to {
		h.to, h.why, h.release = x.limit, x.cause, nil
	}
	if x.until <= h.to {
		h.to, h.why, h.release = x.until, byDeadline, nil
	}
	h.to = max(h.to, h.from)
	return h
}

// beliefIndex has the holds of each worker, by from.
type beliefIndex map[histories.Process][]*hold

func heldBy(holds []hold) beliefIndex {
	x := beliefIndex{}
	for i := range holds {
		p := holds[i].worker()
		x[p] = append(x[p], &holds[i])
	}
	return x
}

// last is the last hold of p that began by t, nil if there is none.
func (x beliefIndex) last(p histories.Process, t int64) *hold {
	list := x[p]
	if i := sort.Search(len(list), func(i int) bool { return list[i].from > t }); i > 0 {
		return list[i-1]
	}
	return nil
}

// at is that hold if it lasts at t.
func (x beliefIndex) at(p histories.Process, t int64) *hold {
	if h := x.last(p, t); h != nil && h.to >= t {
		return h
	}
	return nil
}
