package checker

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/checker/linear"
	"github.com/lockcheck/lockcheck/histories"
)

// Parts of rules whose edges a verdict seldom shows.

func TestOnlyReleasesThatSaidOkRelease(t *testing.T) {
	h := tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2, token("a")).op(0, "release", "ok", 5, 6, token("a")).
		op(0, "acquire", "ok", 10, 12, token("b")).op(0, "release", "fail", 15, 16, token("b"), failed("could not connect")).history()
	r := prepare(h, Options{}.withDefaults())
	s := stuckSearch{run: r, k: r.keys[0]}
	if diff := cmp.Diff(map[owner]int64{{0, "a"}: 5 * ms}, s.releasedTokens(), cmp.AllowUnexported(owner{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSalesOfOneUnitAreSales(t *testing.T) {
	twins := func(f string) []*histories.Op {
		return []*histories.Op{
			{ID: 1, F: f, Outcome: histories.OK, Qty: 1, Left: histories.N(4), Return: 10},
			{ID: 2, F: f, Outcome: histories.OK, Qty: 1, Left: histories.N(4), Return: 20},
		}
	}
	if later, first := sameUnits(twins(histories.Sell)); len(later) != 1 || later[0].ID != 2 || first.ID != 1 {
		t.Errorf("two sells that left the same: %v after %v", later, first)
	}
	sells := func(of ...[3]int64) (ops []*histories.Op) { // left, quantity, answered
		for i, s := range of {
			ops = append(ops, &histories.Op{ID: int64(i + 1), F: histories.Sell, Outcome: histories.OK, Left: histories.N(s[0]), Qty: s[1], Return: s[2]})
		}
		return ops
	}
	// Of those below, the one that reaches furthest: units 4 to 6, not unit 3.
	if later, first := sameUnits(sells([3]int64{3, 1, 10}, [3]int64{4, 3, 20}, [3]int64{5, 1, 30})); len(later) != 1 || later[0].ID != 3 || first.ID != 2 {
		t.Errorf("unit 5 was taken twice: %v after %v", later, first)
	}
	// Three took it: the two that were answered later.
	if later, first := sameUnits(sells([3]int64{3, 3, 10}, [3]int64{5, 1, 30}, [3]int64{5, 2, 20})); len(later) != 2 || later[0].ID != 3 || first.ID != 1 {
		t.Errorf("unit 5 was taken three times: %v after %v", later, first)
	}
	for _, back := range []string{histories.Cancel, histories.Restock} {
		if later, _ := sameUnits(append(twins(histories.Sell), &histories.Op{ID: 3, F: back})); len(later) != 0 {
			t.Errorf("beside a %s a unit may have been sold again: %v", back, later)
		}
	}
	if later, _ := sameUnits(twins(histories.Read)); len(later) != 0 {
		t.Errorf("two reads sold a unit: %v", later)
	}
}

func TestPromotionsDuringAViolation(t *testing.T) {
	r := prepare(tell(withLease).op(0, "acquire", "ok", 0, 2).mark(histories.Nemesis, histories.Promoted, 100, targeting("redis-2")).history(), Options{}.withDefaults())
	for _, c := range []struct {
		from, to int64
		want     int
	}{{0, 99, 0}, {0, 100, 1}, {100, 200, 1}, {101, 200, 0}} {
		if got := r.during(c.from*ms, c.to*ms); len(got) != c.want {
			t.Errorf("from %d to %d: marks %v, want %d", c.from, c.to, got, c.want)
		}
	}
}

func TestSplitsWorkers(t *testing.T) {
	cut := func(from ...string) *fault {
		return &fault{event: &histories.Event{Fault: &histories.Fault{F: histories.Partition, From: from, To: []string{"redis-1"}}}}
	}
	for _, c := range []struct {
		f    *fault
		want bool
	}{
		{cut("worker-1"), true},
		{cut("workers"), false},
		{cut("redis-2"), false},
		{cut("redis-2", "half-workers"), true},
		{&fault{event: &histories.Event{Targets: []string{"worker-1"}}}, true},
		{&fault{event: &histories.Event{Targets: []string{"redis-1"}}}, false},
	} {
		if got := splitsWorkers(c.f); got != c.want {
			t.Errorf("%+v: %t, want %t", c.f.event, got, c.want)
		}
	}
}

func TestRivalsAreThoseThatWereOpenAtOneTime(t *testing.T) {
	sell := func(id, call, ret int64) promise {
		return promise{op: &histories.Op{ID: id, Call: call, Return: ret}, at: ret}
	}
	past := sell(1, 10, 20)
	for name, c := range map[string]struct {
		other promise
		want  int64
	}{
		"open at one time":                       {sell(2, 19, 30), 2},
		"called as the one was answered":         {sell(2, 20, 30), 0},
		"answered as the one was called":         {sell(2, 5, 10), 2}, // the one before it
		"answered before it":                     {sell(2, 5, 9), 2},
		"accepted after it, at no time together": {sell(2, 21, 30), 0},
	} {
		var got int64
		if op := rivalOf(past, []promise{past, c.other}); op != nil {
			got = op.ID
		}
		if got != c.want {
			t.Errorf("%s: op %d, want %d", name, got, c.want)
		}
	}
	// One that was open at the time goes before one that came before.
	if op := rivalOf(past, []promise{sell(3, 15, 25), past, sell(2, 5, 10)}); op == nil || op.ID != 3 {
		t.Errorf("the rival is %v, want op 3", op)
	}
}

func TestMayBreak(t *testing.T) {
	named := func(token string) *histories.Op { return &histories.Op{Token: token} }
	for _, c := range []struct {
		what, acquire string
		want          bool
	}{{"", "a", true}, {"a", "", true}, {"a", "a", true}, {"a", "b", false}, {"a", "a#7", true}, {"a#7", "a", false}} {
		if got := mayBreak(named(c.what), named(c.acquire)); got != c.want {
			t.Errorf("a break of %q finds the lock of %q: %t, want %t", c.what, c.acquire, got, c.want)
		}
	}
}

func TestCountsOfOrdersDoNotOverflow(t *testing.T) {
	for n, want := range map[int32]int32{0: 1, math.MaxInt32 - 1: math.MaxInt32, math.MaxInt32: math.MaxInt32} {
		if got := bump(n); got != want {
			t.Errorf("after %d comes %d, want %d", n, got, want)
		}
	}
}

func TestWhatAnAuditMayHaveSeen(t *testing.T) {
	k := &keyed{stock: []*histories.Op{{ID: 1, Call: 9}, {ID: 2, Call: 10}, {ID: 3, Call: 11}}, books: &books{audited: 10}}
	if got := k.untilAudit(); len(got) != 2 {
		t.Errorf("an audit at 10 may have seen %d of the operations called at 9, 10 and 11, want 2", len(got))
	}
}

func TestABeliefHasTheTokensOfItsGrants(t *testing.T) {
	x := belief{hold: hold{acquire: &histories.Op{Token: "a"}}}
	for n := range 2 * fewInner {
		x.enter(&histories.Op{Token: string(rune('b' + n))})
		for token, want := range map[string]bool{"a": true, "b": true, string(rune('b' + n)): true, "z": false} {
			if got := x.has(token); got != want {
				t.Fatalf("with %d grants inside it has %q: %t", n+1, token, got)
			}
		}
	}
}

// Of holds that end together the first one seen is named.
func TestLeaders(t *testing.T) {
	ends := func(p histories.Process, to int64) *hold {
		return &hold{acquire: &histories.Op{Process: p}, to: to}
	}
	a, b, c := ends(0, 10), ends(1, 10), ends(2, 11)
	var l leaders
	l.see(a)
	l.see(b)
	if got := l.other(3); got != a {
		t.Errorf("of two that end at 10, that of worker %d", got.worker())
	}
	l.see(c)
	if got := l.other(3); got != c {
		t.Errorf("that of worker %d goes before the one that ends last", got.worker())
	}
	if got := l.other(2); got != a {
		t.Errorf("for worker 2, that of worker %d", got.worker())
	}
}

func TestNumbersBeyondWhatIsJudged(t *testing.T) {
	for name, c := range map[string]struct {
		op   histories.Op
		want bool
	}{
		"a quantity":        {histories.Op{Qty: maxJudged}, false},
		"a larger one":      {histories.Op{Qty: maxJudged + 1}, true},
		"a stock":           {histories.Op{Value: histories.N(maxJudged), Left: histories.N(-maxJudged)}, false},
		"a larger one left": {histories.Op{Left: histories.N(maxJudged + 1)}, true},
		"far below zero":    {histories.Op{Seen: histories.N(-maxJudged - 1)}, true},
	} {
		if got := tooLarge([]*histories.Op{&c.op}, 0); got != c.want {
			t.Errorf("%s: too large %t, want %t", name, got, c.want)
		}
	}
	if tooLarge(nil, maxJudged) || !tooLarge(nil, maxJudged+1) {
		t.Error("the stock at the beginning is bounded elsewhere")
	}
}

// What one worker did within a nanosecond is in order, however much it is; where
// two did, nobody knows.
func TestGoOn(t *testing.T) {
	op := func(p histories.Process, call, ret int64, line int) *histories.Op {
		return &histories.Op{Process: p, Call: call, Return: ret, CallLine: line, ReturnLine: line + 1}
	}
	mine := []*histories.Op{op(0, 0, 10, 1), op(0, 10, 10, 3), op(0, 10, 20, 5)}
	if diff := cmp.Diff(map[pair]int{{0, 1}: 1, {1, 2}: 2}, goOn(mine), cmp.AllowUnexported(pair{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := goOn(append(mine, op(1, 0, 10, 7), op(1, 10, 20, 9))); len(got) != 0 {
		t.Errorf("of two workers: %v", got)
	}
}

// Of numbers that the store took before a smaller one, the first of the largest is named.
func TestTheLargestNumberBefore(t *testing.T) {
	v := tell(histories.LockSpec{TTL: 1000e6, Fenced: true}).op(0, "write", "ok", 0, 2, fence(5)).op(1, "write", "ok", 5, 7, fence(5)).op(2, "write", "ok", 10, 12, fence(3)).check()
	if len(v.Violations) != 1 || v.Violations[0].Property != FenceRegression || !slices.Equal(v.Violations[0].Evidence, []int64{1, 3}) {
		t.Errorf("want a fence-regression by 1 and 3:\n%s", told(v))
	}
}

// An unknown sell took nothing more than the order's row says, if the order has none.
func TestOnlyAnOrderInTheStoreTookItsUnitsTwice(t *testing.T) {
	for _, rows := range [][]string{{"a"}, nil} {
		s := tell(histories.LockSpec{None: true}).op(0, "sell", "info", 0, 1, orderID("a")).op(0, "sell", "ok", 2, 3, orderID("a")).audit(9000, 3, rows...)
		r := prepare(s.history(), Options{}.withDefaults())
		k := r.keys[0]
		k.books = r.keepBooks(k)
		if got := r.actedTwice(k); (len(got) == 1) != (len(rows) == 1) {
			t.Errorf("rows %v: %d sells took the units of an order twice", rows, len(got))
		}
	}
}

// Only an acquire of unknown outcome may have been served after a release that said ok.
func TestWhoMayHaveBeenServedAfterARelease(t *testing.T) {
	for outcome, want := range map[histories.Type]int64{histories.OK: 1, histories.Info: 3} {
		h := tell(histories.LockSpec{TTL: 1000e6}).op(0, "acquire", "ok", 0, 2, token("a")).op(0, "release", "ok", 20, 22, token("a")).op(1, "acquire", outcome, 5, 10, token("b")).history()
		r := prepare(h, Options{}.withDefaults())
		k := r.keys[0]
		first, other := k.locks[0], k.locks[1]
		s := stuckSearch{run: r, k: k, certain: true, suspect: first, taken: []taken{{suspect: first}, {suspect: other}}, next: 2}
		if s.suspectWaiter(); s.suspect.ID != want {
			t.Errorf("beside an acquire that is %s: op %d is blamed, want %d", outcome, s.suspect.ID, want)
		}
	}
}

// Porcupine decides a second time where a key is small and there is time left.
func TestWhatIsDecidedAgain(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx         context.Context
		ops         int
		time, spent time.Duration
		want        bool
	}{
		"a small key":         {t.Context(), recheckOps, time.Second, 0, true},
		"a larger one":        {t.Context(), recheckOps + 1, time.Second, 0, false},
		"no time for it":      {t.Context(), 1, -1, 0, false},
		"the time is over":    {t.Context(), 1, time.Second, time.Hour, false},
		"nobody waits for it": {cancelled, 1, time.Second, 0, false},
	} {
		r := prepare(tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2).history(), Options{RecheckTime: c.time}.withDefaults())
		r.recheck = c.time
		r.rechecked.Store(int64(c.spent))
		asked := false
		r.again(c.ctx, r.keys[0], linearity{property: LockNotLinearizable, ops: c.ops, search: func(linear.Bounds) (linear.Answer, string) {
			asked = true
			return linear.Legal, ""
		}}, nil)
		if asked != c.want || r.keys[0].of(LockNotLinearizable).method.agrees != c.want {
			t.Errorf("%s: decided again: %t, want %t", name, asked, c.want)
		}
	}
}

func TestTheTimeToDecideAgainIsShared(t *testing.T) {
	of := func(ops ...int) *run {
		r := &run{opt: Options{RecheckTime: time.Second}}
		for _, n := range ops {
			r.keys = append(r.keys, &keyed{locks: make([]*histories.Op, n)})
		}
		return r
	}
	if got := of(recheckOps + 1).shareRecheck(); got != 0 {
		t.Errorf("a key that is too large has %v", got)
	}
	alone := of(recheckOps).shareRecheck()
	if got := of(recheckOps, recheckOps+1).shareRecheck(); got != alone || alone <= 0 {
		t.Errorf("beside a key that is too large a small one has %v, alone %v", got, alone)
	}
}
