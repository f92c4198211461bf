package linear

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// porcupineBounds are generous for small histories.
var porcupineBounds = Bounds{Time: 10 * time.Second, Memory: 1 << 30}

// Each property's random histories go to porcupine as well, a tenth of them:
// it is the slowest of the three.
func TestPorcupineAgreesOnLocks(t *testing.T) {
	unknown := 0
	n := *smallHistories / 10
	for seed := range uint64(n) {
		c := drawLock(rand.New(rand.NewPCG(seed, 4)).IntN)
		disagree := func(ops []*histories.Op) bool {
			got, _ := SearchLock(ops, c.spec, c.end, porcupineBounds)
			return got != Unknown && (got == Legal) != bruteLock(ops, c.spec, c.end)
		}
		if got, _ := SearchLock(c.ops, c.spec, c.end, porcupineBounds); got == Unknown {
			unknown++
		}
		if disagree(c.ops) {
			ops := shrink(c.ops, disagree)
			got, why := SearchLock(ops, c.spec, c.end, porcupineBounds)
			t.Fatalf("seed %d: porcupine says %s (%s), brute force says legal %v\nspec %+v ends %v%s",
				seed, got, why, bruteLock(ops, c.spec, c.end), c.spec, c.ends, show(ops))
		}
	}
	t.Logf("%d histories, %d unknown", n, unknown)
	if unknown > n/6 {
		t.Errorf("porcupine left %d of %d open", unknown, n)
	}
}

func TestPorcupineAgreesOnStock(t *testing.T) {
	for seed := range uint64(*smallHistories / 10) {
		c := drawStock(rand.New(rand.NewPCG(seed, 5)).IntN)
		disagree := func(ops []*histories.Op) bool {
			got, _ := SearchStock(ops, c.initial, porcupineBounds)
			return (got == Legal) != bruteStock(ops, c.initial)
		}
		if disagree(c.ops) {
			ops := shrink(c.ops, disagree)
			got, why := SearchStock(ops, c.initial, porcupineBounds)
			t.Fatalf("seed %d: porcupine says %s (%s), brute force says legal %v\ninitial %d%s",
				seed, got, why, bruteStock(ops, c.initial), c.initial, show(ops))
		}
	}
}

func TestPorcupineGivesUpInsteadOfTakingAllMemoryOrTime(t *testing.T) {
	c := stockCase{initial: 1000}
	for i := range int64(400) { // all concurrent, none says what was left
		c.ops = append(c.ops, &histories.Op{ID: i + 1, F: histories.Sell, Call: 0, Return: 10, Outcome: histories.OK, Qty: 1 + i%7})
	}
	c.ops = append(c.ops, &histories.Op{ID: 999, F: histories.Read, Call: 0, Return: 10, Outcome: histories.OK, Qty: 1, Value: histories.N(1)})
	tests := map[string]struct {
		bounds Bounds
		why    string
	}{
		"an estimate above the bound is not begun":  {Bounds{Memory: 1 << 10}, "401 operations would take porcupine 0 MiB: beyond the budget of 0 MiB"},
		"a search that grows beyond it is given up": {Bounds{Memory: 1 << 20}, "porcupine would take more than its budget of 1 MiB"},
		"a search that takes too many steps is":     {Bounds{Steps: 1000}, "porcupine was not done within its budget of 1000 steps"},
		"a search that takes too long is given up":  {Bounds{Time: 10 * time.Millisecond}, "porcupine was not done after 10ms"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			outcome, why := SearchStock(c.ops, c.initial, tt.bounds)
			if outcome != Unknown || why != tt.why {
				t.Errorf("got %s, %q; want unknown, %q", outcome, why, tt.why)
			}
		})
	}
}
