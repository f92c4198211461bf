package checker

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

// Rules that sweep or index are compared here with their definitions, asked tick by
// tick and operation by operation, over random histories: 100,000 of them with
// -worlds=5000, of deadlocks with -worlds=100000.

// brokenOps are the first operations of a property's violations.
func brokenOps(r *run, p Property) []int64 {
	var ids []int64
	for _, k := range r.keys {
		list, _ := k.broken(p)
		for _, v := range list {
			ids = append(ids, v.Ops[0])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestLongHoldsAreThoseOfTheDefinition(t *testing.T) {
	found := 0
	for seed := range uint64(20 * *worlds) {
		rng := rand.New(rand.NewPCG(seed, 11))
		h := randomBeliefs(rng)
		if twoMarksAtOnce(h) {
			continue // who acts then, nobody can tell
		}
		h.Header.Lock.MaxHold = 1 + time.Duration(rng.Int64N(8))
		r := prepare(h, Options{}.withDefaults())
		for _, k := range r.keys {
			k.holds = r.beliefs(k)
			r.longHolds(k)
		}
		var want []int64
		for i := range h.Ops {
			if a := &h.Ops[i]; a.F == histories.Acquire && a.Outcome == histories.OK && longest(h, a) > int64(h.Header.Lock.MaxHold) {
				want = append(want, a.ID)
			}
		}
		slices.Sort(want)
		found += len(want)
		if diff := gocmp.Diff(want, brokenOps(r, MaxHold)); diff != "" {
			t.Fatalf("history %d, max-hold %d: (-want +got)\n%s\n%s", seed, h.Header.Lock.MaxHold, diff, listing(h))
		}
	}
	if found == 0 {
		t.Error("no history had a long hold")
	}
}

// twoMarksAtOnce reports whether a worker dies and comes back within a tick.
func twoMarksAtOnce(h *histories.History) bool {
	for i := 1; i < len(h.Marks); i++ {
		a, b := h.Marks[i-1], h.Marks[i]
		if a.Time == b.Time && slices.Equal(a.Targets, b.Targets) {
			return true
		}
	}
	return false
}

// longest is the longest time in which the worker of a grant believed in it and its
// lease was certainly in force. A late renewal begins both anew.
func longest(h *histories.History, a *histories.Op) (best int64) {
	var began *histories.Op
	since := int64(0)
	for at := a.Return; at < h.End; at++ {
		start := startOf(h, a, at)
		if !believes(h, a, at) || at >= leaseFrom(h, start) {
			began = nil
			continue
		}
		if began != start {
			began, since = start, at
		}
		best = max(best, at+1-since)
	}
	return best
}

// startOf is the acquire, or the last extend that came after the deadline and was
// answered by at.
func startOf(h *histories.History, a *histories.Op, at int64) *histories.Op {
	start, deadline := a, a.Until.N
	if !a.Until.Known {
		return a
	}
	for _, e := range extendsBy(h, a) {
		switch {
		case !e.Until.Known:
		case e.Call <= deadline:
			deadline = max(e.Until.N, min(deadline, e.Return))
		case e.Return <= at:
			start, deadline = e, e.Until.N
		}
	}
	return start
}

func extendsBy(h *histories.History, a *histories.Op) (list []*histories.Op) {
	for i := range h.Ops {
		if e := &h.Ops[i]; e.F == histories.Extend && e.Outcome == histories.OK && e.Process == a.Process && e.Token == a.Token {
			list = append(list, e)
		}
	}
	return list
}

// leaseFrom is until when the lease that start began is certainly in force.
func leaseFrom(h *histories.History, start *histories.Op) int64 {
	ttl := int64(h.Header.Lock.TTL)
	end := start.Call + ttl
	for _, e := range extendsBy(h, start) {
		if e.Call >= start.Call && e.Return <= end {
			end = max(end, e.Call+ttl)
		}
	}
	return end
}

func TestDeadlocksAreThoseOfTheDefinition(t *testing.T) {
	found := 0
	for seed := range uint64(*worlds) {
		h := randomWaits(rand.New(rand.NewPCG(seed, 12)))
		r := prepare(h, Options{}.withDefaults())
		for _, k := range r.keys {
			k.holds = r.beliefs(k)
		}
		r.deadlocks()
		var got [][]histories.Process
		for _, k := range r.keys {
			list, _ := k.broken(Deadlock)
			for _, v := range list {
				slices.Sort(v.Workers)
				got = append(got, v.Workers)
			}
		}
		want := waitedForEachOther(h)
		found += len(want)
		slices.SortFunc(got, slices.Compare)
		slices.SortFunc(want, slices.Compare)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("history %d: (-want +got)\n%s\n%s", seed, diff, listing(h))
		}
	}
	if found == 0 && *worlds >= 100 {
		t.Error("no history had a deadlock")
	}
}

// randomWaits is what workers do who take up to two of three locks without a lease,
// wait for a busy one by asking again, and give up at times. The service is honest.
func randomWaits(r *rand.Rand) *histories.History {
	h := &histories.History{}
	type state struct {
		holds []string
		wants string
		tries int
		gone  bool
	}
	holder := map[string]int{}
	workers := make([]state, 2+r.IntN(3))
	now := int64(0)
	add := func(p int, f, key string, outcome histories.Type, call, ret int64) {
		h.Ops = append(h.Ops, histories.Op{ID: int64(len(h.Ops) + 1), Process: histories.Process(p), F: f, Key: key, Call: call, Return: ret, Outcome: outcome,
			Token: fmt.Sprint(len(h.Ops))})
	}
	tokens := map[string]string{}
	for range 12 + r.IntN(20) {
		now += (1 + r.Int64N(45)) * ms
		p := r.IntN(len(workers))
		w := &workers[p]
		took := r.Int64N(3) * ms / 2
		switch {
		case w.gone:
		case len(w.holds) == 2 || len(w.holds) > 0 && w.wants == "" && r.IntN(3) == 0 || w.tries > 1+r.IntN(9) && len(w.holds) > 0:
			key := w.holds[len(w.holds)-1]
			w.holds, w.wants, w.tries = w.holds[:len(w.holds)-1], "", 0
			add(p, histories.Release, key, histories.OK, now, now+took)
			h.Ops[len(h.Ops)-1].Token = tokens[key]
			delete(holder, key)
		default:
			if w.wants == "" {
				w.wants = []string{"x", "y", "z"}[r.IntN(3)]
			}
			if slices.Contains(w.holds, w.wants) {
				w.wants = ""
				continue
			}
			if _, busy := holder[w.wants]; busy && r.IntN(12) == 0 {
				add(p, histories.Acquire, w.wants, histories.Info, now, histories.Never)
				w.gone = true
				continue
			} else if busy {
				add(p, histories.Acquire, w.wants, histories.Fail, now, now+took)
				h.Ops[len(h.Ops)-1].Error = histories.Busy
				w.tries++
				continue
			}
			holder[w.wants] = p
			add(p, histories.Acquire, w.wants, histories.OK, now, now+took)
			tokens[w.wants] = h.Ops[len(h.Ops)-1].Token
			w.holds, w.wants, w.tries = append(w.holds, w.wants), "", 0
		}
		now += took
	}
	h.End = now + 200*ms
	return h
}

// waitedForEachOther are the workers of each cycle of waits that lasts longer than
// 100 ms, asked half a millisecond by half a millisecond.
func waitedForEachOther(h *histories.History) (cycles [][]histories.Process) {
	const tick = ms / 2
	lasted := map[string]int64{} // by the cycle's asks
	told := map[string]bool{}
	for at := int64(0); at < h.End; at += tick {
		asks, holders := asking(h, at), holding(h, at)
		now := map[string]int64{}
		for p := range asks {
			var members []histories.Process
			var names []int64
			for q, next := p, histories.Process(0); ; q = next {
				ask, waits := asks[q]
				if !waits || slices.Contains(members, q) {
					members = nil
					break
				}
				by, held := holders[ask.Key]
				if !held {
					members = nil
					break
				}
				members, names = append(members, q), append(names, firstAsk(h, ask).ID)
				if next = by; next == p {
					break
				}
			}
			if len(members) < 2 {
				continue
			}
			slices.Sort(members)
			slices.Sort(names)
			name := fmt.Sprint(names)
			if _, seen := now[name]; !seen {
				now[name] = lasted[name] + tick
			}
			if now[name] > 100*ms && !told[name] {
				told[name] = true
				cycles = append(cycles, members)
			}
		}
		lasted = now
	}
	return cycles
}

// asking are the acquires of workers that wait at the tick after at: from the first
// of some for one lock, with nothing else asked for or given back in between, to
// the answer of the last.
func asking(h *histories.History, at int64) map[histories.Process]*histories.Op {
	asks := map[histories.Process]*histories.Op{}
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F != histories.Acquire || at < op.Call {
			continue
		}
		last := op
		for j := i + 1; j < len(h.Ops) && last.Outcome != histories.OK; j++ {
			next := &h.Ops[j]
			if next.Process != op.Process {
				continue
			}
			if next.F != histories.Acquire || next.Key != op.Key {
				break
			}
			last = next
		}
		if at < last.Return {
			asks[op.Process] = op
		}
	}
	return asks
}

// firstAsk is the first of the asks that op is one of.
func firstAsk(h *histories.History, op *histories.Op) *histories.Op {
	for i := int(op.ID) - 2; i >= 0; i-- {
		before := &h.Ops[i]
		if before.Process != op.Process {
			continue
		}
		if before.F != histories.Acquire || before.Key != op.Key || before.Outcome == histories.OK {
			break
		}
		op = before
	}
	return op
}

func holding(h *histories.History, at int64) map[string]histories.Process {
	holders := map[string]histories.Process{}
	for i := range h.Ops {
		switch op := &h.Ops[i]; {
		case op.F == histories.Acquire && op.Outcome == histories.OK && op.Return <= at:
			holders[op.Key] = op.Process
		case op.F == histories.Release && op.Call <= at:
			delete(holders, op.Key)
		}
	}
	return holders
}

func TestUnlockedWritesAreThoseOfTheDefinition(t *testing.T) {
	found := 0
	for seed := range uint64(20 * *worlds) {
		h := randomSells(rand.New(rand.NewPCG(seed, 13)))
		r := prepare(h, Options{}.withDefaults())
		for _, k := range r.keys {
			k.holds = r.beliefs(k)
		}
		r.unlockedWrites()
		var want []int64
		for i := range h.Ops {
			if w := &h.Ops[i]; w.F == histories.Write && withoutAnyLock(h, w) {
				want = append(want, w.ID)
			}
		}
		slices.Sort(want)
		found += len(want)
		if diff := gocmp.Diff(want, brokenOps(r, UnlockedWrite)); diff != "" {
			t.Fatalf("history %d: (-want +got)\n%s\n%s", seed, diff, listing(h))
		}
	}
	if found == 0 {
		t.Error("no history had an unlocked write")
	}
}

// randomSells are sells of a few workers whose steps come in any order: they ask for
// locks, for themselves or for nobody that is named, give some back and write.
func randomSells(r *rand.Rand) *histories.History {
	h := &histories.History{}
	add := func(op histories.Op) int64 {
		op.ID = int64(len(h.Ops) + 1)
		h.Ops = append(h.Ops, op)
		return op.ID
	}
	for p := range histories.Process(2 + r.IntN(2)) {
		now := r.Int64N(4)
		for range 1 + r.IntN(3) {
			sale := len(h.Ops)
			id := add(histories.Op{Process: p, F: histories.Sell, Key: "s", Qty: 1, Call: now, Outcome: histories.OK})
			for range r.IntN(5) {
				op := histories.Op{Process: p, Parent: id, Call: now, Return: now + 1 + r.Int64N(3), Outcome: histories.OK}
				if r.IntN(6) == 0 {
					op.Parent = 0
				}
				switch r.IntN(4) {
				case 0, 1:
					op.F, op.Key, op.Token = histories.Acquire, []string{"l", "m"}[r.IntN(2)], fmt.Sprint(len(h.Ops))
					switch r.IntN(4) {
					case 0:
						op.Outcome, op.Error = histories.Fail, histories.Busy
					case 1:
						op.Outcome = histories.Info
					}
				case 2:
					op.F, op.Key = histories.Release, []string{"l", "m"}[r.IntN(2)]
				case 3:
					op.F, op.Key, op.Qty = histories.Write, []string{"s", "t"}[r.IntN(2)], 1
					if r.IntN(5) == 0 {
						op.Outcome, op.Error = histories.Fail, histories.Refused
					}
				}
				now = op.Return + r.Int64N(2)
				add(op)
			}
			h.Ops[sale].Return = now
			now += 1 + r.Int64N(4)
		}
		h.End = max(h.End, now)
	}
	slices.SortStableFunc(h.Ops, func(a, b histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	return h
}

// withoutAnyLock is the definition for sells that are no steps of others, of a lock
// that is not reentrant, where nobody dies.
func withoutAnyLock(h *histories.History, w *histories.Op) bool {
	if w.Outcome != histories.OK || w.Parent == 0 || mayHaveLock(h, w) {
		return false
	}
	last := map[string]*histories.Op{} // what its worker did last with each lock
	for i := range h.Ops {
		op := &h.Ops[i]
		if op == w {
			break
		}
		if op.Process == w.Process && (op.F == histories.Release || op.F == histories.Acquire && op.Outcome != histories.Fail) {
			last[op.Key] = op
		}
	}
	for _, op := range last {
		if op.F == histories.Acquire {
			return false
		}
	}
	for i := range h.Ops {
		if x := &h.Ops[i]; x.F == histories.Write && x.Key == w.Key && x.Parent != 0 && x.Parent != w.Parent && grantedBefore(h, x) {
			return true
		}
	}
	return false
}

// mayHaveLock reports whether the sell of a write may have been granted a lock that
// it had asked for by then; grantedBefore, whether it certainly was.
func mayHaveLock(h *histories.History, w *histories.Op) bool {
	return slices.ContainsFunc(h.Ops, func(a histories.Op) bool {
		return a.F == histories.Acquire && a.Parent == w.Parent && a.Outcome != histories.Fail && a.Call <= w.Call
	})
}

func grantedBefore(h *histories.History, w *histories.Op) bool {
	return slices.ContainsFunc(h.Ops, func(a histories.Op) bool {
		return a.F == histories.Acquire && a.Parent == w.Parent && a.Outcome == histories.OK && a.Call <= w.Call
	})
}
