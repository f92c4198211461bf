package checker

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

func TestLostLeasesAreThoseOfTheDefinition(t *testing.T) {
	found := 0
	for seed := range uint64(20 * *worlds) {
		h := randomRefusals(rand.New(rand.NewPCG(seed, 14)))
		r := prepare(h, Options{}.withDefaults())
		for _, k := range r.keys {
			k.holds = r.beliefs(k)
			r.leasesLost(k)
		}
		want := toldOfLostLeases(h)
		found += len(want)
		if diff := gocmp.Diff(want, brokenOps(r, LeaseLost)); diff != "" {
			t.Fatalf("history %d, max-delay %d: (-want +got)\n%s\n%s", seed, h.Header.MaxDelay, diff, listing(h))
		}
	}
	if found < *worlds && *worlds >= 100 {
		t.Errorf("only %d leases were lost: that shows little", found)
	}
}

// randomRefusals are workers who take a lock with a lease, renew it and give it
// back, and are told at random that it is not theirs. Now and then somebody else
// deletes it, a worker is frozen, or a server or a clock is hit.
func randomRefusals(r *rand.Rand) *histories.History {
	h := &histories.History{Header: histories.Header{Lock: histories.LockSpec{TTL: 200}}}
	chance := func(percent int) bool { return r.IntN(100) < percent }
	if chance(50) {
		h.Header.MaxDelay = 20
	}
	for p := range histories.Process(1 + r.IntN(3)) {
		now := r.Int64N(300)
		for n := range 1 + r.IntN(3) {
			now = addLease(h, r, p, now, fmt.Sprintf("%d.%d", p, n))
		}
		h.End = max(h.End, now+1)
	}
	for i, f := range []string{histories.Pause, histories.Evict, histories.Skew} {
		if !chance(8) {
			continue
		}
		e := histories.Event{Process: histories.Nemesis, F: f, Time: r.Int64N(h.End), Targets: []string{"redis-1"}}
		if i == 0 {
			e.Targets = []string{"worker-0"}
		}
		h.Marks = append(h.Marks, e)
		if i == 0 && chance(80) {
			e.F, e.Time = histories.Resume, e.Time+1+r.Int64N(50)
			h.Marks = append(h.Marks, e)
		}
	}
	slices.SortStableFunc(h.Marks, func(a, b histories.Event) int { return cmp.Compare(a.Time, b.Time) })
	slices.SortStableFunc(h.Ops, func(a, b histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	for i := range h.Ops {
		h.Ops[i].ID = int64(i + 1)
	}
	return h
}

// addLease is one grant of worker p from now on, with what it does with it.
func addLease(h *histories.History, r *rand.Rand, p histories.Process, now int64, token string) int64 {
	chance := func(percent int) bool { return r.IntN(100) < percent }
	draw := func(ok, info int) histories.Type {
		switch n := r.IntN(100); {
		case n < ok:
			return histories.OK
		case n < ok+info:
			return histories.Info
		}
		return histories.Fail
	}
	add := func(op histories.Op, refusal string) *histories.Op {
		op.Process, op.Key, op.Call = p, "k", now
		op.Return = now + r.Int64N(6)
		if op.Outcome == histories.Fail {
			op.Error = refusal
		}
		if op.Outcome == histories.Info && chance(10) {
			op.Return = histories.Never
		}
		h.Ops = append(h.Ops, op)
		now = min(op.Return, now+6) + 1 + r.Int64N(60)
		return &h.Ops[len(h.Ops)-1]
	}
	until := func(op *histories.Op) {
		if op.Outcome == histories.OK && chance(30) {
			op.Until = histories.N(op.Call + 100 + r.Int64N(100))
		}
	}
	a := add(histories.Op{F: histories.Acquire, Token: token, Outcome: draw(80, 8)}, histories.Busy)
	if until(a); a.Outcome == histories.Fail {
		return now
	}
	for chance(45) {
		e := histories.Op{F: histories.Extend, Token: token, Outcome: draw(60, 15)}
		if e.Outcome == histories.Fail && chance(25) {
			e.Token = []string{"", "another"}[r.IntN(2)]
		}
		until(add(e, histories.NotOwner))
	}
	if chance(5) {
		add(histories.Op{F: histories.Break, Token: []string{"", token, "another"}[r.IntN(3)], Outcome: draw(60, 30)}, "gone")
	}
	for range r.IntN(3) {
		add(histories.Op{F: histories.Release, Token: token, Outcome: draw(25, 10)}, []string{histories.NotOwner, histories.NotOwner, "could not connect"}[r.IntN(3)])
	}
	return now + r.Int64N(250)
}

// toldOfLostLeases are the operations that were refused inside a lease which
// nothing can have ended, the first of each lease.
func toldOfLostLeases(h *histories.History) (lost []int64) {
	told := map[*histories.Op]bool{}
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F != histories.Release && op.F != histories.Extend || op.Outcome != histories.Fail || op.Error != histories.NotOwner {
			continue
		}
		grant, confirmed := leaseNamed(h, op)
		if grant == nil || told[grant] || !inForceTo(h, confirmed, op.Return) || mayHaveEnded(h, grant, op) {
			continue
		}
		if told[grant] = true; !anotherBelieved(h, grant, op) {
			lost = append(lost, op.ID)
		}
	}
	return lost
}

// leaseNamed is the grant that an operation of its worker is about, and what
// confirmed it last; nil if there is none, or it is in doubt.
func leaseNamed(h *histories.History, op *histories.Op) (grant, confirmed *histories.Op) {
	for i := range h.Ops {
		before := &h.Ops[i]
		if before == op {
			break
		}
		switch {
		case before.Process != op.Process || before.Outcome == histories.Fail:
		case before.F == histories.Acquire:
			if grant, confirmed = before, before; before.Outcome == histories.Info || before.Return > op.Call {
				grant = nil
			}
		case grant == nil:
		case before.F == histories.Release:
			grant = nil
		case before.F == histories.Extend && before.Outcome == histories.OK && before.Token == grant.Token && before.Return <= op.Call:
			confirmed = before
		}
	}
	if grant != nil && op.Token != "" && op.Token != grant.Token {
		grant = nil
	}
	return grant, confirmed
}

// inForceTo reports whether the lease that an operation confirmed is in force for
// certain until t: clocks may differ by a hundredth.
func inForceTo(h *histories.History, confirmed *histories.Op, t int64) bool {
	return t < confirmed.Call+int64(h.Header.Lock.TTL)*99/100 && (!confirmed.Until.Known || t < confirmed.Until.N)
}

// mayHaveEnded reports whether anything that the history has may have ended a
// grant before op was refused.
func mayHaveEnded(h *histories.History, grant, op *histories.Op) bool {
	frozen := int64(histories.Never)
	for _, m := range h.Marks {
		switch {
		case m.F == histories.Pause:
			frozen = m.Time
		case m.F == histories.Resume:
			if frozen <= op.Return && m.Time >= op.Call {
				return true
			}
			frozen = histories.Never
		case m.Time <= op.Return: // a server or a clock was hit
			return true
		}
	}
	if frozen <= op.Return {
		return true
	}
	for i := range h.Ops {
		x := &h.Ops[i]
		if x.Outcome == histories.Fail || x.Call > op.Return || actsTo(h, x) < grant.Call {
			continue
		}
		switch x.F {
		case histories.Break:
			if x.Token == "" || x.Token == grant.Token {
				return true
			}
		case histories.Release:
			its, confirmed := leaseNamed(h, x)
			if x.Process == op.Process || x.Outcome == histories.Info || its == nil || !inForceTo(h, confirmed, x.Return) {
				return true
			}
		}
	}
	return false
}

// actsTo is until when an operation may act; of one that nobody came back from,
// for ever.
func actsTo(h *histories.History, op *histories.Op) int64 {
	if op.Outcome == histories.OK || op.Return == histories.Never {
		return op.Return
	}
	return op.Return + int64(h.Header.MaxDelay)
}

// anotherBelieved reports whether another worker believed in the lock after the
// grant, by the time op was called.
func anotherBelieved(h *histories.History, grant, op *histories.Op) bool {
	for i := range h.Ops {
		a := &h.Ops[i]
		if a.F != histories.Acquire || a.Outcome != histories.OK || a.Process == op.Process || a.Return > op.Call {
			continue
		}
		for at := grant.Return; at <= op.Call; at++ {
			if a.Return > grant.Return || believes(h, a, at) {
				return true
			}
		}
	}
	return false
}
