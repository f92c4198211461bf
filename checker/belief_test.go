package checker

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

// story builds small histories by hand. Times are milliseconds.
type story struct {
	h histories.History
}

func tell(spec histories.LockSpec) *story {
	return &story{h: histories.History{Header: histories.Header{Format: histories.Format, Lock: spec}}}
}

const ms = int64(1e6)

// op adds an operation; at is its call and return in ms, a return below 0
// means never. more sets what else it says.
func (s *story) op(p histories.Process, f string, outcome histories.Type, call, ret int64, more ...func(*histories.Op)) *story {
	op := histories.Op{
		ID: int64(len(s.h.Ops) + 1), Process: p, F: f, Key: "stock:sku-1", Call: call * ms, Return: ret * ms, Outcome: outcome, Qty: 1,
	}
	if c := class(f); c == 1 || c == 2 {
		op.Key = "sku-1"
	}
	if ret < 0 {
		op.Return = histories.Never
	}
	for _, set := range more {
		set(&op)
	}
	s.h.Ops = append(s.h.Ops, op)
	s.h.End = max(s.h.End, op.Call)
	if ret >= 0 {
		s.h.End = max(s.h.End, op.Return)
	}
	return s
}

func (s *story) mark(p histories.Process, f string, at int64, more ...func(*histories.Event)) *story {
	e := histories.Event{Time: at * ms, Process: p, Type: histories.Info, F: f}
	for _, set := range more {
		set(&e)
	}
	s.h.Marks = append(s.h.Marks, e)
	s.h.End = max(s.h.End, e.Time)
	return s
}

func (s *story) audit(at, value int64, orders ...string) *story {
	e := histories.Event{Time: at * ms, Process: histories.Auditor, Type: histories.OK, F: histories.Audit, Key: "sku-1", Value: histories.N(value)}
	for _, id := range orders {
		e.Orders = append(e.Orders, histories.Order{ID: id, Qty: 1})
	}
	s.h.Audits = append(s.h.Audits, e)
	s.h.End = max(s.h.End, e.Time)
	return s
}

// history is the story in the order in which a reader of histories gives it.
func (s *story) history() *histories.History {
	slices.SortStableFunc(s.h.Ops, func(a, b histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	slices.SortStableFunc(s.h.Marks, func(a, b histories.Event) int { return cmp.Compare(a.Time, b.Time) })
	return &s.h
}

func (s *story) check() *Verdict {
	return Check(context.Background(), s.history(), Options{})
}

func until(t int64) func(*histories.Op) {
	return func(op *histories.Op) { op.Until = histories.N(t * ms) }
}
func token(t string) func(*histories.Op)    { return func(op *histories.Op) { op.Token = t } }
func parent(id int64) func(*histories.Op)   { return func(op *histories.Op) { op.Parent = id } }
func orderID(id string) func(*histories.Op) { return func(op *histories.Op) { op.Order = id } }
func left(n int64) func(*histories.Op)      { return func(op *histories.Op) { op.Left = histories.N(n) } }
func fence(n int64) func(*histories.Op)     { return func(op *histories.Op) { op.Fence = histories.N(n) } }
func failed(why string) func(*histories.Op) { return func(op *histories.Op) { op.Error = why } }
func targeting(names ...string) func(*histories.Event) {
	return func(e *histories.Event) { e.Targets = names }
}

func TestBeliefsEndWithTheFirstOfWhatEndsThem(t *testing.T) {
	lease := histories.LockSpec{TTL: 100e6, Deadline: true}
	for name, c := range map[string]struct {
		story *story
		want  []string
	}{
		"until the release is sent, not answered": {
			tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2).op(0, "release", "ok", 10, 20),
			[]string{"1: 2-10"},
		},
		"until a release of unknown outcome is sent": {
			tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2).op(0, "release", "info", 10, -1),
			[]string{"1: 2-10"},
		},
		"until a release that is refused is sent": {
			tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2).op(0, "release", "fail", 10, 12),
			[]string{"1: 2-10"},
		},
		"a release with a token, of a hold without one, beside an acquire in doubt": {
			tell(histories.LockSpec{}).op(0, "acquire", "info", 0, 2).op(0, "acquire", "ok", 5, 6).op(0, "release", "ok", 10, 11, token("x")),
			[]string{"2: 6-10"},
		},
		"until its worker dies with a server": {
			tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2).mark(histories.Nemesis, "kill", 10, targeting("redis-1", "worker-0")).op(1, "acquire", "fail", 50, 70),
			[]string{"1: 2-10"},
		},
		"an unknown acquire is no hold": {
			tell(histories.LockSpec{}).op(0, "acquire", "info", 0, 50).op(0, "release", "ok", 60, 61),
			nil,
		},
		"to the end if nothing ends it": {
			tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2).op(1, "acquire", "fail", 50, 70),
			[]string{"1: 2-70"},
		},
		"until its own deadline": {
			tell(lease).op(0, "acquire", "ok", 0, 2, until(100)).op(0, "release", "ok", 150, 151),
			[]string{"1: 2-100"},
		},
		"no time at all if the deadline has passed": {
			tell(lease).op(0, "acquire", "ok", 0, 120, until(100)).op(0, "release", "ok", 150, 151),
			[]string{"1: 120-120"},
		},
		"an extend moves the deadline": {
			tell(lease).op(0, "acquire", "ok", 0, 2, until(100)).op(0, "extend", "ok", 50, 52, until(150)).op(0, "release", "ok", 200, 201),
			[]string{"1: 2-150"},
		},
		"an extend sent in time leaves it unbroken, however late its answer": {
			tell(lease).op(0, "acquire", "ok", 0, 2, until(100)).op(0, "extend", "ok", 99, 130, until(199)).op(0, "release", "ok", 250, 251),
			[]string{"1: 2-199"},
		},
		"an extend of unknown outcome moves nothing": {
			tell(lease).op(0, "acquire", "ok", 0, 2, until(100)).op(0, "extend", "info", 50, 90).op(0, "release", "ok", 200, 201),
			[]string{"1: 2-100"},
		},
		"a late extend begins a second span": {
			tell(lease).op(0, "acquire", "ok", 0, 2, until(100)).op(0, "extend", "ok", 120, 125, until(220)).op(0, "release", "ok", 180, 181),
			[]string{"1: 2-100", "1: 125-180"},
		},
		"extends mean nothing where no deadline is shown": {
			tell(histories.LockSpec{TTL: 100e6}).op(0, "acquire", "ok", 0, 2).op(0, "extend", "fail", 50, 52).op(0, "release", "ok", 300, 301),
			[]string{"1: 2-300"},
		},
		"until the notice": {
			tell(histories.LockSpec{Notice: true}).op(0, "acquire", "ok", 0, 2).mark(0, "lost", 30).op(0, "release", "fail", 40, 41),
			[]string{"1: 2-30"},
		},
		"a late extend in the instant of the notice begins nothing": {
			tell(lease).op(0, "acquire", "ok", 0, 2, until(100)).mark(0, "lost", 120).op(0, "extend", "ok", 120, 125, until(220)).op(0, "release", "ok", 180, 181),
			[]string{"1: 2-100"},
		},
		"a release without a token ends the hold of its sell": {
			tell(histories.LockSpec{TTL: 1000e6}).op(0, "acquire", "ok", 0, 2, parent(9)).op(0, "acquire", "ok", 5, 6, parent(8)).op(0, "release", "ok", 10, 11, parent(9)).op(0, "release", "ok", 20, 21, parent(8)),
			[]string{"1: 2-10", "2: 6-20"},
		},
		"a notice about another key ends nothing": {
			tell(histories.LockSpec{Notice: true}).op(0, "acquire", "ok", 0, 2).
				mark(0, "lost", 30, func(e *histories.Event) { e.Key = "stock:sku-2" }).op(0, "release", "ok", 40, 41),
			[]string{"1: 2-40"},
		},
		"a notice about an older grant ends nothing": {
			tell(histories.LockSpec{Notice: true}).op(0, "acquire", "ok", 0, 2, token("b")).
				mark(0, "lost", 30, func(e *histories.Event) { e.Token = "a" }).op(0, "release", "ok", 40, 41, token("b")),
			[]string{"1: 2-40"},
		},
		"until the worker is killed": {
			tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2).op(1, "acquire", "ok", 0, 3).mark(histories.Nemesis, "kill", 30, targeting("worker-0")).op(1, "release", "ok", 40, 41),
			[]string{"1: 2-30", "2: 3-40"},
		},
		"until the sell that it served is over": {
			tell(histories.LockSpec{}).op(0, "sell", "fail", 0, 50).op(0, "acquire", "ok", 1, 2, parent(1)).op(1, "acquire", "fail", 60, 90),
			[]string{"2: 2-50"},
		},
		"the depth counts where the lock is reentrant": {
			tell(histories.LockSpec{Reentrant: true}).op(0, "acquire", "ok", 0, 2).op(0, "acquire", "ok", 5, 6).op(0, "release", "ok", 10, 11).op(0, "release", "ok", 20, 21),
			[]string{"1: 2-20"},
		},
		"a nested acquire after the deadline is a new hold": {
			tell(histories.LockSpec{Reentrant: true, TTL: 100e6, Deadline: true}).op(0, "acquire", "ok", 0, 2, until(100)).op(0, "acquire", "ok", 200, 202, until(300)).op(0, "release", "ok", 250, 251),
			[]string{"1: 2-100", "2: 202-250"},
		},
		"a release ends the hold with its token": {
			tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2, token("a")).op(0, "acquire", "ok", 5, 6, token("b")).op(0, "release", "ok", 10, 11, token("a")).op(0, "release", "ok", 20, 21, token("b")),
			[]string{"1: 2-10", "2: 6-20"},
		},
		"a release with another's token ends the worker's own hold all the same": {
			tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2, token("a")).op(1, "acquire", "ok", 5, 6, token("b")).op(0, "release", "ok", 10, 11, token("b")),
			[]string{"1: 2-10", "2: 6-11"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(c.want, holdsOf(c.story.history())); diff != "" {
				t.Errorf("holds differ (-want +got):\n%s", diff)
			}
		})
	}
}

func holdsOf(h *histories.History) []string {
	var out []string
	r := prepare(h, Options{}.withDefaults())
	for _, k := range r.keys {
		for _, x := range r.beliefs(k) {
			out = append(out, fmt.Sprintf("%d: %d-%d", x.acquire.ID, x.from/ms, x.to/ms))
		}
	}
	return out
}

func TestWorkersOfOneHostDieTogether(t *testing.T) {
	s := tell(histories.LockSpec{}).op(4, "acquire", "ok", 0, 2).op(6, "acquire", "ok", 50, 52).
		mark(histories.Nemesis, "kill", 30, targeting("worker-4")).mark(histories.Nemesis, "start", 40, targeting("worker-4")).mark(histories.Nemesis, "kill", 70, targeting("worker-4")).op(8, "acquire", "fail", 80, 90)
	s.h.Header.Settings = map[string]string{"per-host": "4"}
	if diff := gocmp.Diff([]string{"1: 2-30", "2: 52-70"}, holdsOf(s.history())); diff != "" {
		t.Errorf("holds differ (-want +got):\n%s", diff)
	}
}

func TestANumberOfWorkersThatIsNoneMeansOnePerHost(t *testing.T) {
	for _, n := range []string{"", "0", "-3", "x", "9999999999"} {
		s := tell(histories.LockSpec{}).op(1, "acquire", "ok", 0, 2).mark(histories.Nemesis, "kill", 30, targeting("worker-0")).op(1, "release", "ok", 40, 41)
		s.h.Header.Settings = map[string]string{"per-host": n}
		if diff := gocmp.Diff([]string{"1: 2-40"}, holdsOf(s.history())); diff != "" {
			t.Errorf("%q: holds differ (-want +got):\n%s", n, diff)
		}
	}
}

// The sweep over beliefs agrees with asking, at every instant between two
// ticks, who believes what by the letter of the definition.
func TestDoubleHoldsAreThoseOfTheDefinition(t *testing.T) {
	for seed := range uint64(20 * *worlds) {
		h := randomBeliefs(rand.New(rand.NewPCG(seed, 3)))
		r := prepare(h, Options{}.withDefaults())
		got := map[[2]int64]bool{}
		for _, k := range r.keys {
			k.holds = r.beliefs(k)
			r.doubleHolds(k)
			list, _ := k.broken(DoubleHold)
			for _, v := range list {
				got[[2]int64{v.From, v.To}] = true
				for _, at := range []int64{v.From, v.To - 1} {
					if n := believers(h, at); n < 2 {
						t.Fatalf("history %d: %d believe just after %d:\n%s", seed, n, at, listing(h))
					}
				}
			}
		}
		for at := range h.End {
			inside := slices.ContainsFunc(keysOf(got), func(span [2]int64) bool { return span[0] <= at && at < span[1] })
			if n := believers(h, at); (n > 1) && !inside {
				t.Fatalf("history %d: %d believe just after %d, and no violation says so: %v\n%s", seed, n, at, got, listing(h))
			}
		}
	}
}

func keysOf(m map[[2]int64]bool) [][2]int64 {
	var keys [][2]int64
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// believers counts the workers that believe at the instant after tick at.
func believers(h *histories.History, at int64) int {
	who := map[histories.Process]bool{}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.F == histories.Acquire && op.Outcome == histories.OK && believes(h, op, at) {
			who[op.Process] = true
		}
	}
	return len(who)
}

// believes is the definition, for a worker that uses a token once.
func believes(h *histories.History, a *histories.Op, at int64) bool {
	if a.Return > at {
		return false
	}
	deadline, from := int64(histories.Never), a.Return
	if a.Until.Known {
		deadline = a.Until.N
	}
	for i := range h.Ops {
		op := &h.Ops[i]
		switch {
		case op.ID == a.Parent && op.Return <= at:
			return false
		case tookAgain(h, a, op) && op.Call <= at:
			return false
		case op.Process != a.Process || op.Token != a.Token:
		case op.F == histories.Release && op.Call <= at:
			return false
		case op.F == histories.Extend && op.Outcome == histories.OK && op.Until.Known && a.Until.Known:
			if op.Call <= deadline {
				deadline = max(op.Until.N, min(deadline, op.Return))
			} else if op.Return <= at {
				deadline, from = op.Until.N, op.Return
			}
		}
	}
	dead := false // when it was called
	for i := range h.Marks {
		m := &h.Marks[i]
		mine := len(m.Targets) > 0 && m.Targets[0] == fmt.Sprintf("worker-%d", a.Process)
		switch {
		case mine && m.Time < a.Call:
			dead = m.F == histories.Kill
		case mine && m.Time == a.Call && m.F == histories.Start:
			dead = false
		case mine && m.F == histories.Kill && m.Time <= at:
			return false
		case m.F == histories.Lost && m.Token == a.Token && a.Return <= m.Time && m.Time <= at:
			return false
		}
	}
	return !dead && from <= at && at < deadline
}

// tookAgain reports whether a worker's acquire shows that it has forgotten an older
// grant: that lease can have run out by then, and the new one is for another sell,
// or for none that is named.
func tookAgain(h *histories.History, a, again *histories.Op) bool {
	if again.F != histories.Acquire || again.Outcome != histories.OK || again.Process != a.Process || again.Call < a.Return || again.ID == a.ID {
		return false
	}
	lease := a.Call + int64(h.Header.Lock.TTL)
	for i := range h.Ops {
		if op := &h.Ops[i]; op.F == histories.Extend && op.Outcome == histories.OK && op.Token == a.Token && op.Call < again.Call {
			lease = max(lease, op.Call+int64(h.Header.Lock.TTL))
		}
	}
	return lease <= again.Call && (again.Parent == 0 || again.Parent != a.Parent)
}

// randomBeliefs is a history of a few workers that take a lock as if nobody
// else were there, at times so small that they often coincide.
func randomBeliefs(r *rand.Rand) *histories.History {
	h := &histories.History{Header: histories.Header{Lock: histories.LockSpec{TTL: 6}}}
	add := func(op histories.Op) int64 {
		op.ID = int64(len(h.Ops) + 1)
		h.Ops = append(h.Ops, op)
		return op.ID
	}
	chance := func(percent int) bool { return r.IntN(100) < percent }
	for p := range histories.Process(2 + r.IntN(2)) {
		now := r.Int64N(5)
		for n := range 1 + r.IntN(3) {
			token := fmt.Sprintf("%d.%d", p, n)
			a := histories.Op{Process: p, F: histories.Acquire, Key: "k", Token: token, Call: now, Return: now + r.Int64N(4), Outcome: histories.OK}
			sale := len(h.Ops)
			if chance(30) {
				a.Parent = add(histories.Op{Process: p, F: histories.Sell, Key: "s", Call: now, Outcome: histories.Fail})
			}
			if chance(60) {
				a.Until = histories.N(a.Call + 6)
			}
			add(a)
			now = a.Return
			for chance(40) {
				call := now + r.Int64N(8)
				e := histories.Op{Process: p, F: histories.Extend, Key: "k", Token: token, Call: call, Return: call + r.Int64N(4), Outcome: histories.OK}
				e.Until = histories.N(call + r.Int64N(7))
				if chance(20) {
					e.Outcome, e.Until = histories.Info, histories.Num{}
				}
				add(e)
				now = e.Return + 1
			}
			if chance(10) {
				h.Marks = append(h.Marks, histories.Event{Process: p, F: histories.Lost, Time: now + r.Int64N(4), Token: token})
			}
			if chance(5) {
				host, dies := []string{fmt.Sprintf("worker-%d", p)}, now+r.Int64N(4)
				h.Marks = append(h.Marks, histories.Event{Process: histories.Nemesis, F: histories.Kill, Time: dies, Targets: host})
				if chance(70) {
					h.Marks = append(h.Marks, histories.Event{Process: histories.Nemesis, F: histories.Start, Time: dies + 1 + r.Int64N(9), Targets: host})
				}
			}
			now += r.Int64N(8)
			if chance(80) {
				add(histories.Op{Process: p, F: histories.Release, Key: "k", Token: token, Call: now, Return: now + 1, Outcome: histories.Info})
				now++
			}
			if a.Parent > 0 {
				h.Ops[sale].Return = now
			}
			now += r.Int64N(4)
		}
		h.End = max(h.End, now+1)
	}
	slices.SortStableFunc(h.Ops, func(a, b histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	slices.SortStableFunc(h.Marks, func(a, b histories.Event) int { return cmp.Compare(a.Time, b.Time) })
	return h
}

func listing(h *histories.History) string {
	s := ""
	for i := range h.Ops {
		op := &h.Ops[i]
		s += fmt.Sprintf("%3d %s worker %s %s %s [%d %d] parent %d until %s\n", op.ID, op.Token, op.Process, op.F, op.Outcome, op.Call, op.Return, op.Parent, op.Until)
	}
	for _, m := range h.Marks {
		s += fmt.Sprintf("    %s %s %s %v at %d\n", m.Process, m.F, m.Token, m.Targets, m.Time)
	}
	return s
}
