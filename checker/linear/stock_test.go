package linear

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockcheck/lockcheck/histories"
)

func stockDisagrees(c stockCase) bool {
	got, covered := Stock(c.ops, c.initial, MaxSteps)
	return covered == nil && (got == nil) != bruteStock(c.ops, c.initial)
}

// smallest leaves out what the disagreement does not need.
func (c stockCase) smallest() stockCase {
	c.ops = shrink(c.ops, func(ops []*histories.Op) bool { return stockDisagrees(stockCase{c.initial, ops}) })
	return c
}

func TestStockAgreesWithBruteForce(t *testing.T) {
	var invalid, beyond int
	for seed := range uint64(*smallHistories) {
		c := drawStock(rand.New(rand.NewPCG(seed, 2)).IntN)
		if stockDisagrees(c) {
			c = c.smallest()
			got, _ := Stock(c.ops, c.initial, MaxSteps)
			t.Fatalf("seed %d: stock says %+v, brute force says legal %v\ninitial %d%s",
				seed, got, bruteStock(c.ops, c.initial), c.initial, show(c.ops))
		}
		switch got, covered := Stock(c.ops, c.initial, MaxSteps); {
		case covered != nil:
			beyond++
		case got != nil:
			invalid++
		}
	}
	t.Logf("%d histories, %d invalid, %d not covered", *smallHistories, invalid, beyond)
	if n := *smallHistories; invalid < n/5 || invalid > n*4/5 || beyond > 0 {
		t.Errorf("the histories test too little: %d of %d invalid, %d not covered", invalid, n, beyond)
	}
}

func TestStockAgreesWithBruteForceOnShrinkableHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawStock(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") })
		if stockDisagrees(c) {
			c = c.smallest()
			got, _ := Stock(c.ops, c.initial, MaxSteps)
			err := keepDisagreement(disagreements, stockProperty, histories.Header{Initial: c.initial}, c.ops, bruteStock(c.ops, c.initial))
			t.Fatalf("stock says %+v\ninitial %d%s\nkept in %s: %v", got, c.initial, show(c.ops), disagreements, err)
		}
	})
}

// Evidence must be enough by itself: what it leaves out cannot explain it.
func TestStockEvidenceIsContradictoryByItself(t *testing.T) {
	var found, alone int
	for seed := range uint64(4000) {
		c := drawStock(rand.New(rand.NewPCG(seed, 3)).IntN)
		got, covered := Stock(c.ops, c.initial, MaxSteps)
		back := slices.ContainsFunc(c.ops, func(op *histories.Op) bool { return Change(op) > 0 })
		if got == nil || covered != nil || back {
			continue
		}
		found++
		var named []*histories.Op
		for _, op := range c.ops {
			if slices.Contains(got.Ops, op.ID) {
				named = append(named, op)
			}
		}
		if len(named) == 0 {
			t.Fatalf("seed %d: no evidence for %q%s", seed, got.Why, show(c.ops))
		}
		if !contradicts(named, c.initial) {
			continue
		}
		alone++
		for i := range named {
			if fewer := slices.Delete(slices.Clone(named), i, i+1); contradicts(fewer, c.initial) {
				t.Fatalf("seed %d: op %d of the evidence %v is not needed%s", seed, named[i].ID, got.Ops, show(c.ops))
			}
		}
		if bruteStock(c.ops, c.initial) {
			t.Fatalf("seed %d: evidence %v, but the history is legal%s", seed, got.Ops, show(c.ops))
		}
	}
	t.Logf("%d contradictions, %d with evidence that stands alone", found, alone)
	if alone < found/2 {
		t.Errorf("evidence stands alone in only %d of %d", alone, found)
	}
}
