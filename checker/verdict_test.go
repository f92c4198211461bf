package checker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/checker/linear"
	"github.com/lockcheck/lockcheck/histories"
)

func TestTheSameHistoryGetsTheSameVerdict(t *testing.T) {
	for seed := range uint64(20) {
		s := usual(seed)
		s.defect, s.skus, s.workers = grantsTwice, 8, 10
		var first *Verdict
		for range 3 {
			v := Check(context.Background(), s.history(), Options{RecheckTime: -1})
			if first == nil {
				first = v
			}
			if diff := cmp.Diff(first, v); diff != "" {
				t.Fatalf("world %d: verdicts differ:\n%s", seed, diff)
			}
		}
	}
}

func TestViolationsAreListedUpToABoundAndAllCounted(t *testing.T) {
	s := tell(histories.LockSpec{})
	for i := range int64(30) {
		s.op(0, "acquire", "ok", 10*i, 10*i+1, token(fmt.Sprint("a", i))).op(1, "acquire", "ok", 10*i+2, 10*i+3, token(fmt.Sprint("b", i))).
			op(0, "release", "ok", 10*i+5, 10*i+6, token(fmt.Sprint("a", i))).op(1, "release", "ok", 10*i+7, 10*i+8, token(fmt.Sprint("b", i)))
	}
	v := Check(context.Background(), s.history(), Options{MaxListed: 7})
	if got := v.Results[DoubleHold.rank()].Count; len(v.Violations) != 7 || got != 30 {
		t.Errorf("listed %d, counted %d, want 7 and 30", len(v.Violations), got)
	}
	if !slices.IsSortedFunc(v.Violations, byTime) || v.First().From != 3*ms {
		t.Errorf("the first is not the first: %+v", v.First())
	}
}

func TestTheRootComesFirst(t *testing.T) {
	v := Check(context.Background(), readCorpus(t, "incidents/01-flash-sale.jsonl"), Options{})
	if v.First().Property != StaleWrite {
		t.Errorf("first is %s, want the late write that began it all:\n%s", v.First().Property, told(v))
	}
}

// That no order fits is known when the last of the operations is there.
func TestWhatIsKnownLaterComesLater(t *testing.T) {
	s := tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2, token("a")).op(1, "acquire", "info", 3, 4, token("b")).op(1, "release", "ok", 10, 200, token("b")).
		op(1, "sell", "ok", 20, 21).op(0, "release", "ok", 300, 301, token("a"))
	v := s.check()
	var got []Property
	for _, x := range v.Violations {
		got = append(got, x.Property)
	}
	if diff := cmp.Diff([]Property{Oversell, StockNotLinearizable, LockNotLinearizable}, got); diff != "" {
		t.Errorf("(-want +got):\n%s%s", diff, told(v))
	}
}

// An order that was taken twice names its own sells that acted.
func TestATwiceTakenOrderNamesItsSells(t *testing.T) {
	s := tell(histories.LockSpec{None: true}).op(0, "sell", "ok", 0, 1, orderID("a")).op(0, "sell", "ok", 10, 11, orderID("b")).op(0, "sell", "fail", 20, 21, orderID("a"), failed("no lock")).
		op(0, "read", "ok", 24, 25, orderID("a")).op(0, "sell", "ok", 30, 31, orderID("a"))
	s.h.Header.Initial = 9
	if v := s.check().First(); v.Property != DuplicateOrder || !slices.Equal(v.Ops, []int64{1, 5}) {
		t.Errorf("%+v", v)
	}
}

// A violation names some operations, never thousands.
func TestAViolationNamesSomeOperations(t *testing.T) {
	twice := tell(histories.LockSpec{None: true})
	for i := range int64(25) {
		twice.op(0, "sell", "ok", 10*i, 10*i+1, orderID("a"))
	}
	twice.h.Header.Initial = 100
	v := twice.check().First()
	if v.Property != DuplicateOrder || len(v.Ops) != maxCulprits || v.To != (10*maxCulprits-9)*ms {
		t.Errorf("%+v", v)
	}
	sizes := tell(histories.LockSpec{None: true})
	for i := range int64(25) {
		sizes.op(0, "sell", "ok", 10*i, 10*i+1, ofUnits(1+i%3))
	}
	sizes.op(0, "restock", "ok", 300, 301, ofUnits(5)).op(0, "read", "ok", 310, 311, func(op *histories.Op) { op.Value = histories.N(77) })
	sizes.h.Header.Initial = 100
	if v = sizes.check().First(); v.Property != StockNotLinearizable || len(v.Evidence) != maxCulprits+1 {
		t.Errorf("%d operations: %+v", len(v.Evidence), v)
	}
}

func TestLevelsAreJudgedApart(t *testing.T) {
	v := Check(context.Background(), readCorpus(t, "incidents/35-old-snapshot.jsonl"), Options{})
	want := map[Level]Outcome{LockLevel: Valid, UseLevel: Valid, BusinessLevel: Invalid}
	if diff := cmp.Diff(want, v.Levels); diff != "" || v.Outcome != Invalid {
		t.Errorf("%s, levels differ (-want +got):\n%s", v.Outcome, diff)
	}
}

// replaceChecks puts other checks in the place of the exact ones and of
// porcupine's for the length of a test.
func replaceChecks(t *testing.T, c *linear.Contradiction, uncovered error, found linear.Answer) {
	lock, stock, searchedLock, searchedStock := exactLock, exactStock, searchLock, searchStock
	t.Cleanup(func() { exactLock, exactStock, searchLock, searchStock = lock, stock, searchedLock, searchedStock })
	exactLock = func([]*histories.Op, histories.LockSpec, func(*histories.Op) int64) (*linear.Contradiction, error) {
		return c, uncovered
	}
	exactStock = func([]*histories.Op, int64, int) (*linear.Contradiction, error) { return c, uncovered }
	searchLock = func([]*histories.Op, histories.LockSpec, func(*histories.Op) int64, linear.Bounds) (linear.Answer, string) {
		return found, "asked"
	}
	searchStock = func([]*histories.Op, int64, linear.Bounds) (linear.Answer, string) { return found, "asked" }
}

func oneGrant() *story {
	return tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 1).op(0, "release", "ok", 5, 6)
}

// A disagreement of our own checks makes the verdict worth nothing, loudly,
// whichever of them cries.
func TestADisagreementIsLoud(t *testing.T) {
	for name, c := range map[string]struct {
		exact *linear.Contradiction
		found linear.Answer
	}{
		"the exact check cries": {&linear.Contradiction{Ops: []int64{1}, Why: "so"}, linear.Legal},
		"porcupine cries":       {nil, linear.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			replaceChecks(t, c.exact, nil, c.found)
			v := oneGrant().check()
			if v.Outcome != Unknown || v.Reason != "our checks disagree: please report this history" {
				t.Errorf("%s: %s", v.Outcome, v.Reason)
			}
			if len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "stock:sku-1") {
				t.Errorf("notes %q do not name the key", v.Notes)
			}
			if v.Levels[LockLevel] != Unknown {
				t.Errorf("the lock level is %s", v.Levels[LockLevel])
			}
		})
	}
}

// What our checks disagree about is unknown; what is violated besides, also at
// the same level, stays violated.
func TestADisagreementHidesNoViolation(t *testing.T) {
	twice := tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 1).op(1, "acquire", "ok", 5, 6).op(1, "release", "ok", 8, 9)
	for name, c := range map[string]struct {
		story *story
		want  map[string]string
	}{
		"of the lock":     {twice, map[string]string{"double-hold": "1,2"}},
		"of the business": {oneGrant().op(0, "sell", "ok", 10, 11), map[string]string{"oversell": "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			replaceChecks(t, &linear.Contradiction{Ops: []int64{1}, Why: "so"}, nil, linear.Legal)
			v := c.story.check()
			if diff := cmp.Diff(c.want, blamed(v)); diff != "" || v.Outcome != Invalid || v.Reason != "" || len(v.Notes) == 0 {
				t.Errorf("%s %q, notes %q, blamed (-want +got):\n%s", v.Outcome, v.Reason, v.Notes, diff)
			}
			if r := v.Results[LockNotLinearizable.rank()]; r.Outcome != Unknown || r.Count != 0 {
				t.Errorf("what is disagreed about: %+v", r)
			}
		})
	}
}

func TestWhatNeitherCheckDecidesIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		found  linear.Answer
		want   Outcome
		method string
	}{
		"porcupine finds an order": {linear.Legal, Valid, "porcupine"},
		"porcupine finds none":     {linear.Illegal, Invalid, "porcupine"},
		"porcupine does not know":  {linear.Unknown, Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			replaceChecks(t, nil, errors.New("beyond us"), c.found)
			v := oneGrant().check()
			r := v.Results[LockNotLinearizable.rank()]
			if v.Outcome != c.want || r.Outcome != c.want || r.Method != c.method {
				t.Errorf("%s (%s), result %+v, want %s by %q", v.Outcome, v.Reason, r, c.want, c.method)
			}
			if c.want == Unknown && !strings.Contains(v.Reason, "beyond us") {
				t.Errorf("the reason %q does not say why", v.Reason)
			}
		})
	}
}

func TestTheMethodTellsHowManyKeysEachCheckDecided(t *testing.T) {
	replaceChecks(t, nil, nil, linear.Legal)
	exactLock = func(ops []*histories.Op, _ histories.LockSpec, _ func(*histories.Op) int64) (*linear.Contradiction, error) {
		if ops[0].Key == "y" {
			return nil, errors.New("beyond us")
		}
		return nil, nil
	}
	s := tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 1, onKey("x")).op(0, "acquire", "ok", 5, 6, onKey("y"))
	r := s.check().Results[LockNotLinearizable.rank()]
	if r.Method != "exact on 1 key, porcupine on 1" || r.Recheck != "porcupine agrees on 1 of 1 key" {
		t.Errorf("%q, %q", r.Method, r.Recheck)
	}
}

func TestPorcupineIsNotAskedAgainWithoutTime(t *testing.T) {
	replaceChecks(t, nil, nil, linear.Illegal)
	v := Check(context.Background(), oneGrant().history(), Options{RecheckTime: -1})
	if r := v.Results[LockNotLinearizable.rank()]; v.Outcome != Valid || r.Method != "exact" {
		t.Errorf("%s, result %+v", v.Outcome, r)
	}
}

func TestARunMustHaveMeantSomething(t *testing.T) {
	// traffic buys once a second for ten seconds; kill is a fault in it.
	traffic := func() *story {
		s := tell(histories.LockSpec{TTL: 500e6, Grace: 100e6})
		for i := range int64(10) {
			s.op(0, "sell", "ok", 1000*i, 1000*i+900, orderID(fmt.Sprint(i))).op(0, "acquire", "ok", 1000*i+1, 1000*i+2, parent(2*i+1))
		}
		s.audit(20000, 90, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
		s.h.Header.Initial, s.h.Header.Nemesis = 100, "kill"
		return s
	}
	injected := func(proof string) func(*histories.Event) {
		return func(e *histories.Event) {
			e.Targets, e.Proof, e.Fault = []string{"redis-1"}, proof, &histories.Fault{F: e.F}
		}
	}
	kill := func(from, to int64, proof string) *story {
		s := traffic().mark(histories.Nemesis, "kill", from, injected(proof))
		if to > 0 {
			s.mark(histories.Nemesis, "start", to, injected("runs"))
		}
		return s
	}
	change := func(s *story, f func(*histories.History)) *story { f(&s.h); return s }
	for name, c := range map[string]struct {
		story  *story
		reason string // "" : valid
	}{
		"it did":                                    {kill(3500, 5500, "no PING"), ""},
		"no fault was injected":                     {traffic(), "the nemesis kill injected no fault"},
		"none was meant to be":                      {change(traffic(), func(h *histories.History) { h.Header.Nemesis = "none" }), ""},
		"a foreign history":                         {change(traffic(), func(h *histories.History) { h.Header.Nemesis = "" }), ""},
		"the fault left no proof":                   {kill(3500, 5500, ""), "no evidence that the fault took effect: redis-1 killed at 3.50 s"},
		"it was never undone":                       {kill(3500, 0, "no PING"), "a fault was never undone: redis-1 killed at 3.50 s"},
		"nothing came before it":                    {kill(0, 1500, "no PING"), "no lock was granted before a fault: redis-1 killed at 0.000 s"},
		"nothing came after it":                     {kill(8500, 15000, "no PING"), "no lock was granted after a fault: redis-1 killed at 8.50 s"},
		"nothing was done during it":                {change(kill(3901, 5999, "no PING"), func(h *histories.History) { h.Ops = slices.Concat(h.Ops[:8], h.Ops[12:]) }), "nobody did anything during a fault: redis-1 killed at 3.90 s"},
		"a short one need not be met":               {kill(3920, 3990, "no PING"), ""},
		"an ambush that nobody came to is no fault": {change(traffic().mark(histories.Nemesis, "crash", 3500, ambushAt("before-expire")), func(h *histories.History) { h.Header.Nemesis = "crash" }), "the nemesis crash injected no fault"},
		"what was seen to happen needs no proof": {change(kill(3500, 5500, "no PING"), func(h *histories.History) {
			h.Marks = append(h.Marks, histories.Event{Time: 4000 * ms, Process: histories.Nemesis, F: "kill", Targets: []string{"worker-3"}})
		}), ""},
		"it could not be injected":     {change(kill(3500, 5500, "no PING"), func(h *histories.History) { h.Marks[0].Error = "no such server" }), "the fault kill of redis-1 at 3.50 s could not be injected: no such server"},
		"a failover without promotion": {change(kill(3500, 5500, "no PING"), func(h *histories.History) { h.Header.Nemesis = "clock+failover" }), "the nemesis clock+failover promoted no replica"},
		"no lock was granted": {change(kill(3500, 5500, "no PING"), func(h *histories.History) {
			h.Ops = slices.DeleteFunc(h.Ops, func(op histories.Op) bool { return op.F == "acquire" })
		}), "no lock was ever granted"},
		"nothing was sold": {change(kill(3500, 5500, "no PING"), func(h *histories.History) {
			h.Ops, h.Audits = slices.DeleteFunc(h.Ops, func(op histories.Op) bool { return op.F == "sell" }), nil
		}), "nothing was ever sold"},
		"nobody looked at the stock": {change(kill(3500, 5500, "no PING"), func(h *histories.History) { h.Audits = nil }), "1 key with sales not audited at the end"},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.story.check()
			want := Valid
			if c.reason != "" {
				want = Unknown
			}
			if v.Outcome != want || v.Reason != c.reason {
				t.Errorf("%s: %q, want %s: %q", v.Outcome, v.Reason, want, c.reason)
			}
			if (v.Advice != "") != (want == Unknown) {
				t.Errorf("%s, and the advice is %q", v.Outcome, v.Advice)
			}
			if trusted := Check(context.Background(), &c.story.h, Options{Trust: true}); trusted.Outcome != Valid {
				t.Errorf("not even trusted: %s", told(trusted))
			}
		})
	}
}

func TestInvalidOutranksARunThatMeantLittle(t *testing.T) {
	s := oneGrant().op(1, "acquire", "ok", 2, 3).op(1, "release", "ok", 7, 8)
	s.h.Header.Nemesis = "failover"
	if v := s.check(); v.Outcome != Invalid || v.Reason+v.Advice != "" {
		t.Errorf("%s: %s (%s)", v.Outcome, v.Reason, v.Advice)
	}
}

// Who is told that a property is unknown is told what to do, too.
func TestUnknownPropertiesComeWithAdvice(t *testing.T) {
	for name, c := range map[string]struct {
		story  *story
		advice string
	}{
		"a lock that was busy to the end": {tell(histories.LockSpec{TTL: 300e6, Grace: 1e9}).op(0, "acquire", "ok", 0, 1).op(0, "release", "ok", 2, 3).
			op(1, "acquire", "fail", 400, 401, failed("busy")), adviseLease},
		"no lock and no sale": {tell(histories.LockSpec{}), adviseEvents},
	} {
		if v := c.story.check(); v.Outcome != Unknown || v.Advice != c.advice {
			t.Errorf("%s: %s (%s), advice %q, want %q", name, v.Outcome, v.Reason, v.Advice, c.advice)
		}
	}
}

func TestWarningsAreWorthALook(t *testing.T) {
	s := tell(histories.LockSpec{TTL: 300e6, Grace: 1e9})
	for i := range int64(20) {
		s.op(0, "acquire", "ok", 1000*i, 1000*i+3+200*(i%2)).op(0, "extend", []histories.Type{"ok", "info"}[i%2], 1000*i+250, 1000*i+260).op(0, "release", "ok", 1000*i+290, 1000*i+292)
		if i%5 == 0 {
			s.op(1, "acquire", "fail", 1000*i+205, 1000*i+206, failed("busy: stopped waiting"))
		}
	}
	s.op(1, "sell", "ok", 5, 6, orderID("a")).op(1, "sell", "info", 7, -1, orderID("b")).audit(30000, 3, "a")
	s.h.Header.Initial = 5
	v := s.check()
	want := []Warning{
		{"lock-busy", "lock success rate 83 %, below 95 %: 4 acquires told busy"},
		{"low-stock", "fewer than 5 units left of sku-1 (3)"},
		{"slow-grants", "10 of 20 grants took longer than 100 ms, the slowest 203 ms"},
		{"renewals-missed", "10 of 20 renewals did not succeed"},
		{"units-in-doubt", "1 unit left the stock without an order, as unknown sells may have taken them: sku-1 (1)"},
	}
	if diff := cmp.Diff(want, v.Warnings); diff != "" || v.Outcome != Valid {
		t.Errorf("%s, warnings differ (-want +got):\n%s", told(v), diff)
	}
	if quiet := oneGrant().check(); len(quiet.Warnings) > 0 {
		t.Errorf("warned of nothing: %v", quiet.Warnings)
	}
}

func TestCountsAreThoseOfTheHistory(t *testing.T) {
	s := tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 1).op(1, "acquire", "fail", 0, 1, failed("busy")).op(0, "sell", "ok", 2, 3, orderID("a")).op(1, "sell", "fail", 5, 6, orderID("b"), failed("sold-out")).
		op(1, "sell", "fail", 7, 8, failed("no lock")).op(2, "sell", "ok", 9, 10, orderID("c")).audit(3000, -1, "a", "c")
	s.h.Header.Initial = 1
	want := Counts{
		Ops: 6, Grants: 1, Sold: 2, Had: 1, Oversold: 1,
		Outcomes: map[string]int{"acquire ok": 1, "acquire fail busy": 1, "sell ok": 2, "sell fail sold-out": 1, "sell fail": 1},
	}
	if diff := cmp.Diff(want, s.check().Counts); diff != "" {
		t.Errorf("counts differ (-want +got):\n%s", diff)
	}
}

func TestNumbersHaveAsManyDigitsAsTheyNeed(t *testing.T) {
	for want, got := range map[string]string{
		"1.84 s":                              length(1_840_000_000),
		"2 s":                                 length(int64(2 * time.Second)),
		"350 ms":                              length(350e6),
		"1.5 µs":                              length(1500),
		"7 ns":                                length(7),
		"from 12.91 s to 14.75 s":             span(12_910_000_000, 14_750_000_000),
		"from 0.099 s to 0.100 s":             span(99e6, 100e6),
		"from 1.000001 s to 1.000003 s":       span(1_000_001_000, 1_000_003_000),
		"from 1.000000001 s to 1.000000003 s": span(1_000_000_001, 1_000_000_003),
		"1 unit":                              count(1, "unit"),
		"3 units":                             count(3, "unit"),
		"a, b":                                few([]string{"a", "b"}),
		"a, b, c, d, e and 2 more":            few([]string{"a", "b", "c", "d", "e", "f", "g"}),
	} {
		if want != got {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// How fast the machine is decides for how many keys porcupine is asked again. No
// byte of what is written may depend on it.
func TestTheVerdictOfAHistoryHasTheSameBytes(t *testing.T) {
	replaceChecks(t, nil, nil, linear.Legal)
	var written [2][]byte
	for i, recheck := range []time.Duration{-1, time.Hour} {
		v := Check(context.Background(), oneGrant().history(), Options{RecheckTime: recheck})
		if again := v.Results[LockNotLinearizable.rank()].Recheck; (again != "") != (recheck > 0) {
			t.Errorf("decided again in %v: %q", recheck, again)
		}
		var err error
		if written[i], err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(written[0]), string(written[1])); diff != "" {
		t.Errorf("verdicts differ (-not asked again +asked again):\n%s", diff)
	}
}
