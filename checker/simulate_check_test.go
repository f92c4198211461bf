package checker

import (
	"context"
	"flag"
	"slices"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

var worlds = flag.Int("worlds", 200, "random worlds for each test of false alarms and of mutations")

// No false alarm: whatever befalls the workers of a correct lock with a
// conditional stock, nothing is broken.
func TestACorrectWorldIsNeverInvalid(t *testing.T) {
	for name, change := range map[string]func(*simulation){
		"usual":              func(*simulation) {},
		"many unknown":       func(s *simulation) { s.lost = 25 },
		"many killed":        func(s *simulation) { s.killed, s.workers = 3, 12 },
		"often paused":       func(s *simulation) { s.paused = 15 },
		"soon sold out":      func(s *simulation) { s.stock = 4 },
		"one key":            func(s *simulation) { s.skus, s.workers = 1, 8 },
		"no deadline shown":  func(s *simulation) { s.shown, s.paused, s.longWork, s.lost = false, 0, 0, 0 },
		"no audit of orders": func(s *simulation) { s.silent = true },
	} {
		t.Run(name, func(t *testing.T) {
			grants, unknown := 0, 0
			for seed := range uint64(*worlds) {
				s := usual(seed)
				change(&s)
				v := Check(context.Background(), s.history(), Options{RecheckTime: -1})
				if v.Outcome == Invalid {
					t.Fatalf("world %d is invalid:\n%s", seed, told(v))
				}
				grants += v.Counts.Grants
				unknown += one(v.Outcome == Unknown)
			}
			if grants < *worlds*5 || unknown > *worlds/2 {
				t.Errorf("%d grants, and %d of %d verdicts unknown: that shows little", grants, unknown, *worlds)
			}
			t.Logf("%d grants, %d of %d verdicts unknown", grants, unknown, *worlds)
		})
	}
}

// No missed violation: a second grant in the middle of a belief is found, and
// its two workers are blamed.
func TestAGrantInsideABeliefIsFound(t *testing.T) {
	mutated := 0
	for seed := range uint64(*worlds) {
		h := usual(seed).history()
		victim := longestHold(h)
		if victim == nil {
			continue
		}
		intruder := histories.Op{
			ID: 1 << 20, Process: 99, F: histories.Acquire, Key: victim.acquire.Key, Token: "intruder",
			Call: victim.from, Return: victim.from + (victim.to-victim.from)/2, Outcome: histories.OK,
		}
		h.Ops = append(h.Ops, intruder)
		slices.SortStableFunc(h.Ops, func(a, b histories.Op) int { return int(min(1, max(-1, a.Call-b.Call))) })
		v := Check(context.Background(), h, Options{RecheckTime: -1})
		found := slices.ContainsFunc(v.Violations, func(x Violation) bool {
			return x.Property == DoubleHold && slices.Contains(x.Ops, victim.acquire.ID) && slices.Contains(x.Ops, intruder.ID)
		})
		if !found {
			t.Fatalf("world %d: op %d holds %s from %d to %d, and nobody noticed op %d:\n%s", seed, victim.acquire.ID, victim.acquire.Key, victim.from, victim.to, intruder.ID, told(v))
		}
		mutated++
	}
	if mutated < *worlds/2 {
		t.Errorf("only %d of %d worlds had a hold to mutate", mutated, *worlds)
	}
}

func longestHold(h *histories.History) *hold {
	var longest *hold
	r := prepare(h, Options{}.withDefaults())
	for _, k := range r.keys {
		holds := r.beliefs(k)
		for i := range holds {
			if x := &holds[i]; x.to-x.from > 1 && (longest == nil || x.to-x.from > longest.to-longest.from) {
				longest = x
			}
		}
	}
	return longest
}
