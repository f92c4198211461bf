package checker

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

func TestZombieTimeIsThatOfTheDefinition(t *testing.T) {
	found := 0
	for seed := range uint64(20 * *worlds) {
		h := randomTries(rand.New(rand.NewPCG(seed, 15)))
		r := prepare(h, Options{}.withDefaults())
		for _, k := range r.keys {
			k.holds = r.beliefs(k)
			k.believed = heldBy(k.holds)
			r.zombies(k)
		}
		longest, total := zombieTicks(h)
		var got Zombie
		if z := r.zombieTime(); z != nil {
			got = *z
		}
		if got.Longest != longest || got.Total != total {
			t.Fatalf("history %d, max-delay %d: longest %d, total %d, want %d and %d\n%s", seed, h.Header.MaxDelay, got.Longest, got.Total, longest, total, listing(h))
		}
		if total > 0 {
			found++
		}
	}
	if found < *worlds && *worlds >= 100 {
		t.Errorf("only %d histories had zombie time: that shows little", found)
	}
}

// randomTries are workers who try to take a lock, are refused or not at random,
// and give it back or die; a server is hit now and then. All times are even, so
// that there is a tick between any two of them.
func randomTries(r *rand.Rand) *histories.History {
	h := &histories.History{Header: histories.Header{Lock: histories.LockSpec{TTL: 1000}}}
	chance := func(percent int) bool { return r.IntN(100) < percent }
	if chance(50) {
		h.Header.MaxDelay = 10
	}
	busy := 40 + r.IntN(60)
	mark := func(f, target string, at int64) {
		h.Marks = append(h.Marks, histories.Event{Process: histories.Nemesis, F: f, Time: at, Targets: []string{target}})
	}
	for p := range histories.Process(2 + r.IntN(2)) {
		now := 2 * r.Int64N(20)
		for n := range 1 + r.IntN(6) {
			op := histories.Op{Process: p, F: histories.Acquire, Key: "k", Token: fmt.Sprintf("%d.%d", p, n), Call: now, Return: now + 2*r.Int64N(6), Outcome: histories.OK}
			switch {
			case chance(busy):
				op.Outcome, op.Error = histories.Fail, histories.Busy
			case chance(20):
				op.Outcome, op.Error = histories.Fail, "could not connect"
			case chance(20):
				op.Outcome = histories.Info
			case chance(50):
				op.Until = histories.N(op.Call + 2*r.Int64N(20))
			}
			h.Ops = append(h.Ops, op)
			now = op.Return + 2*r.Int64N(12)
			if op.Outcome == histories.OK {
				for _, f := range []string{histories.Extend, histories.Release} {
					if chance(60) {
						next := histories.Op{Process: p, F: f, Key: "k", Token: op.Token, Call: now, Return: now + 2*r.Int64N(5), Outcome: histories.OK}
						if chance(30) {
							next.Outcome = histories.Info
						} else if chance(20) {
							next.Outcome, next.Error = histories.Fail, histories.NotOwner
						}
						h.Ops = append(h.Ops, next)
						now = next.Return + 2*r.Int64N(8)
					}
				}
			}
			if chance(8) {
				host := fmt.Sprintf("worker-%d", p)
				mark(histories.Kill, host, now+2)
				mark(histories.Start, host, now+4)
				now += 6
			}
		}
		h.End = max(h.End, now+2)
	}
	if chance(20) {
		at := 2 * r.Int64N(h.End/2)
		mark(histories.Kill, "redis-1", at)
		if chance(80) {
			mark(histories.Start, "redis-1", at+2*r.Int64N(20))
		}
	}
	slices.SortStableFunc(h.Marks, func(a, b histories.Event) int { return cmp.Compare(a.Time, b.Time) })
	slices.SortStableFunc(h.Ops, func(a, b histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	for i := range h.Ops {
		h.Ops[i].ID = int64(i + 1)
	}
	return h
}

// zombieTicks are the ticks between two refusals between which nobody may have
// had the lock, nothing was in doubt, and no other acquire was under way: neither
// with the one nor with the other, or all along.
func zombieTicks(h *histories.History) (longest, total int64) {
	zombie := make([]bool, h.End+1)
	for i := range h.Ops {
		for j := range h.Ops {
			a, b := &h.Ops[i], &h.Ops[j]
			if !refusal(a) || !refusal(b) || b.Call <= a.Return || !clear(h, a.Call, b.Return) {
				continue
			}
			if triedAlone(h, a) && triedAlone(h, b) || askedAllAlong(h, a.Return, b.Call) {
				for at := a.Return; at < b.Call; at++ {
					zombie[at] = true
				}
			}
		}
	}
	run := int64(0)
	for _, z := range zombie {
		if !z {
			run = 0
			continue
		}
		run++
		total++
		longest = max(longest, run)
	}
	return longest, total
}

func refusal(op *histories.Op) bool {
	return op.F == histories.Acquire && op.Outcome == histories.Fail && op.Error == histories.Busy
}

// triedAlone reports whether no other acquire was under way with op.
func triedAlone(h *histories.History, op *histories.Op) bool {
	return !slices.ContainsFunc(h.Ops, func(x histories.Op) bool {
		return x.F == histories.Acquire && x.ID != op.ID && x.Call <= op.Return && x.Return >= op.Call
	})
}

// askedAllAlong reports whether an acquire was under way at each tick.
func askedAllAlong(h *histories.History, from, to int64) bool {
	for at := from; at <= to; at++ {
		if !slices.ContainsFunc(h.Ops, func(x histories.Op) bool { return x.F == histories.Acquire && x.Call <= at && at <= x.Return }) {
			return false
		}
	}
	return true
}

// clear reports whether from one tick to the other nobody may have had the lock by
// right, nothing was in doubt and no server was away.
func clear(h *histories.History, from, to int64) bool {
	for at := from; at <= to; at++ {
		if mayBeHeld(h, at) || serverAway(h, at) {
			return false
		}
	}
	return true
}

func mayBeHeld(h *histories.History, at int64) bool {
	for i := range h.Ops {
		op := &h.Ops[i]
		if at < op.Call {
			continue
		}
		if op.Outcome == histories.Fail {
			if op.F == histories.Release && at <= op.Return && endsABelief(h, op) {
				return true
			}
			continue
		}
		if op.Outcome == histories.OK && at <= op.Return || op.Outcome == histories.Info && at <= actsTo(h, op) {
			return true
		}
		// A belief ends before the tick at which it ends; by then the lock may be free.
		if op.F == histories.Acquire && op.Outcome == histories.OK && (believes(h, op, at) || believes(h, op, at-1)) {
			return true
		}
	}
	return false
}

func serverAway(h *histories.History, at int64) bool {
	away := false
	for _, m := range h.Marks {
		if m.Targets[0] != "redis-1" || m.Time > at {
			continue
		}
		if m.Time == at {
			return true
		}
		away = m.F == histories.Kill
	}
	return away
}

// endsABelief reports whether the worker of a release would have believed in the
// lock when it sent it.
func endsABelief(h *histories.History, release *histories.Op) bool {
	without := *h
	without.Ops = slices.DeleteFunc(slices.Clone(h.Ops), func(op histories.Op) bool { return op.ID == release.ID })
	return slices.ContainsFunc(without.Ops, func(a histories.Op) bool {
		return a.F == histories.Acquire && a.Outcome == histories.OK && a.Process == release.Process && a.Token == release.Token && believes(&without, &a, release.Call)
	})
}
