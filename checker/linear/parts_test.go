package linear

import (
	"slices"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

// Parts of the checks whose edges an answer seldom shows.

// What one worker does at one instant is in the order of lines; what two do, in any.
func TestAskedBefore(t *testing.T) {
	rel := &histories.Op{Process: 1, Call: 2, Return: 5, CallLine: 10}
	for name, c := range map[string]struct {
		acq  histories.Op
		want bool
	}{
		"asked before it was answered":                 {histories.Op{Process: 1, Call: 4, CallLine: 20}, true},
		"as it was answered, further down in the file": {histories.Op{Process: 1, Call: 5, CallLine: 20}, false},
		"as it was answered, further up":               {histories.Op{Process: 1, Call: 5, CallLine: 3}, true},
		"by another as it was answered, further down":  {histories.Op{Process: 0, Call: 5, CallLine: 20}, true},
		"asked after it was answered":                  {histories.Op{Process: 1, Call: 6, CallLine: 3}, false},
		"asked by another after it was answered":       {histories.Op{Process: 0, Call: 6, CallLine: 3}, false},
	} {
		if got := askedBefore(&c.acq, rel); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestWithin(t *testing.T) {
	at := func(lo, hi int64, acqLine, relLine int) *lockNeed {
		return &lockNeed{lo: lo, hi: hi, acq: &histories.Op{CallLine: acqLine}, rel: &histories.Op{CallLine: relLine}}
	}
	span := at(10, 20, 1, 9)
	span.span = true
	for name, c := range map[string]struct {
		n    *lockNeed
		want bool
	}{
		"inside":                                  {at(11, 19, 2, 3), true},
		"from its first instant, further down":    {at(10, 19, 2, 3), true},
		"to its last instant, before its release": {at(11, 20, 2, 3), true},
		"to its last instant, after its release":  {at(11, 20, 2, 10), false},
		"beyond its end, whatever the lines say":  {at(11, 21, 2, 3), false},
		"from before it":                          {at(9, 19, 0, 3), false},
	} {
		if got := c.n.within(span); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	open := at(10, 20, 1, 9)
	open.span, open.rel = true, nil
	if at(11, 20, 2, 3).within(open) {
		t.Error("an instant is before the release of a span that has none")
	}
}

func TestMeterCountsStates(t *testing.T) {
	w := lockWorld{live: "abc", lapsed: "de", aged: "f"}
	if size, pairs := weigh(w); size != 70 || pairs != 0 {
		t.Errorf("a state of six grants weighs %d with %d pairs, want 70 and none", size, pairs)
	}
	if size, pairs := weigh([]any{w, w, w}); size != 210 || pairs != 9 {
		t.Errorf("three states weigh %d with %d pairs, want 210 and 9", size, pairs)
	}
	m := &meter{mostSteps: 1000, mostBytes: 140}
	for i, want := range []bool{true, true, false} {
		if got := m.room(w); got != want {
			t.Errorf("state %d of 70 bytes, at most 140: room %t, want %t", i+1, got, want)
		}
	}
	if m.once != 210 || m.states != 3 {
		t.Errorf("%d bytes in %d states, want 210 in 3", m.once, m.states)
	}
}

// Where very many operations are named, the last of them are looked at.
func TestEvidenceIsLookedForAmongTheLast(t *testing.T) {
	var ops []*histories.Op
	c := &Contradiction{}
	n := int64(maxEvidence + 10)
	for i := range n {
		op := &histories.Op{ID: i + 1, Process: histories.Process(i), F: histories.Sell, Outcome: histories.OK, Qty: 1, Call: 10 * i, Return: 10*i + 5, Left: histories.N(2*n - i)}
		if i == n-1 {
			op.Left = ops[i-1].Left // one unit twice
		}
		ops = append(ops, op)
		c.Ops = append(c.Ops, op.ID)
	}
	c.To = 10 * n
	if got := smallestStock(ops, 2*n+1, c); !slices.Equal(got, []int64{n - 1, n}) {
		t.Errorf("evidence %v, want %v", got, []int64{n - 1, n})
	}
}

// Grants are placed by their numbers one after the other, each after all below it.
func TestFenceOrder(t *testing.T) {
	grant := func(id, number, from, to int64) *lockNeed {
		acq := &histories.Op{ID: id, Process: histories.Process(id), Outcome: histories.OK, Fence: histories.N(number), CallLine: int(id), Call: from, Return: from}
		return &lockNeed{lo: from, hi: to, span: true, who: acq.Process, acq: acq}
	}
	order := func(needs ...*lockNeed) *Contradiction { return fenceOrder(needs, nil, histories.LockSpec{}, false) }
	if c := order(grant(1, 1, 0, 10), grant(2, 2, 12, 14), grant(3, 3, 20, 30)); c != nil {
		t.Errorf("numbers in the order of time: %s", c.Why)
	}
	if c := order(grant(1, 1, 0, 10), grant(2, 3, 12, 14), grant(3, 2, 20, 30)); c == nil || !slices.Equal(c.Ops, []int64{3, 2}) {
		t.Errorf("number 3 before number 2: %+v, want a contradiction of 3 and 2", c)
	}
}

// A release that was under way when a grant was asked for may be what ended it.
func TestAGrantThatAReleaseUnderWayMayHaveEnded(t *testing.T) {
	reduced := func(released int64) *lockNeed {
		first := &histories.Op{ID: 1, F: histories.Acquire, Outcome: histories.OK, Call: 0, Return: 1, CallLine: 1}
		rel := &histories.Op{ID: 2, F: histories.Release, Outcome: histories.OK, Call: 5, Return: released, CallLine: 2}
		again := &histories.Op{ID: 3, F: histories.Acquire, Outcome: histories.OK, Call: 10, Return: 12, CallLine: 3}
		r := &lockReducer{end: func(*histories.Op) int64 { return histories.Never }}
		r.surely(&lockGroup{acq: first, rel: rel, more: []*histories.Op{again}, acquires: 2})
		return &r.needs[1]
	}
	if n := reduced(11); n.span || n.lo != 10 || n.hi != 12 {
		t.Errorf("released at 11: needed from %d to %d, all through: %t; want an instant of 10 to 12", n.lo, n.hi, n.span)
	}
	if n := reduced(10); !n.span || n.lo != 12 || n.hi != histories.Never {
		t.Errorf("released at 10: needed from %d to %d, all through: %t; want all from 12 on", n.lo, n.hi, n.span)
	}
}

// Which of several acquires a release was of is open only where none has its token.
func TestAnUnknownAcquireWasAskedFor(t *testing.T) {
	for token, want := range map[string]int64{"": 2, "a": 7} {
		acq := &histories.Op{ID: 2, F: histories.Acquire, Outcome: histories.Info, Token: token, Call: 7, Return: 8}
		r := &lockReducer{nameless: map[histories.Process][]*histories.Op{0: {{ID: 1, F: histories.Acquire, Outcome: histories.Info, Call: 2, Return: 3}}}}
		r.unknownAcquire(&lockGroup{acq: acq}, &histories.Op{ID: 3, F: histories.Release, Outcome: histories.OK, Token: token, Call: 9, Return: 10})
		if got := r.needs[0].asked; got != want {
			t.Errorf("token %q: asked for at %d, want %d", token, got, want)
		}
	}
}

// Halves go first, so that what comes with little is found at once.
func TestFewestLeavesHalvesOutFirst(t *testing.T) {
	ops := []*histories.Op{{ID: 1}, {ID: 2}, {ID: 3}}
	bad := func(some []*histories.Op) bool {
		var all []int64
		for _, op := range some {
			all = append(all, op.ID)
		}
		return slices.Contains(all, 1) || slices.Contains(all, 2) && slices.Contains(all, 3)
	}
	if got := fewest(ops, bad); len(got) != 1 || got[0].ID != 1 {
		t.Errorf("%d operations are left, want op 1", len(got))
	}
}

// A release that was answered before the acquire of its token was asked for is of an
// acquire whose token nobody knows.
func TestAReleaseBeforeItsAcquire(t *testing.T) {
	ops := []*histories.Op{
		{ID: 1, F: histories.Acquire, Outcome: histories.Info, Call: 0, Return: 1, CallLine: 1},
		{ID: 2, F: histories.Release, Outcome: histories.OK, Token: "a", Call: 5, Return: 6, CallLine: 2},
		{ID: 3, F: histories.Acquire, Outcome: histories.OK, Token: "a", Call: 10, Return: 11, CallLine: 3},
	}
	never := func(*histories.Op) int64 { return histories.Never }
	if c, uncovered := Lock(ops, histories.LockSpec{}, never); c != nil || uncovered != nil {
		t.Errorf("the exact check: %+v, %v", c, uncovered)
	}
	if got, why := SearchLock(ops, histories.LockSpec{}, never, porcupineBounds); got != Legal {
		t.Errorf("porcupine: %v %s", got, why)
	}
	if got, _ := SearchLock(ops[1:], histories.LockSpec{}, never, porcupineBounds); got != Illegal {
		t.Errorf("porcupine, without that acquire: %v", got)
	}
}

// A worker that holds nothing is told so by right, whoever holds the lock.
func TestARefusedReleaseOfNothing(t *testing.T) {
	held := &histories.Op{ID: 1, F: histories.Acquire, Outcome: histories.OK, Token: "a", Call: 0, Return: 1, CallLine: 1}
	never := func(*histories.Op) int64 { return histories.Never }
	for token, want := range map[string]Answer{"a": Illegal, "b": Legal} {
		refused := &histories.Op{ID: 2, F: histories.Release, Outcome: histories.Fail, Error: histories.NotOwner, Token: token, Call: 5, Return: 6, CallLine: 2}
		if got, why := SearchLock([]*histories.Op{held, refused}, histories.LockSpec{}, never, porcupineBounds); got != want {
			t.Errorf("token %q: %v %s, want %v", token, got, why, want)
		}
	}
}
