package linear

import (
	"flag"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockcheck/lockcheck/histories"
)

// histories per property that the differential tests try; CI tries fewer.
// The full run: go test ./checker/linear -run Brute -histories=1000000
var smallHistories = flag.Int("histories", 20_000, "random small histories per property against the brute force")

// lockDisagrees reports whether mutex and the brute force differ.
func lockDisagrees(c lockCase) bool {
	got, covered := Lock(c.ops, c.spec, c.end)
	return covered == nil && (got == nil) != bruteLock(c.ops, c.spec, c.end)
}

// smallest leaves out what the disagreement does not need.
func (c lockCase) smallest() lockCase {
	c.ops = shrink(c.ops, func(ops []*histories.Op) bool { return lockDisagrees(lockCase{c.spec, ops, c.ends}) })
	return c
}

func TestMutexAgreesWithBruteForce(t *testing.T) {
	var invalid, beyond int
	for seed := range uint64(*smallHistories) {
		c := drawLock(rand.New(rand.NewPCG(seed, 1)).IntN)
		if lockDisagrees(c) {
			c = c.smallest()
			got, _ := Lock(c.ops, c.spec, c.end)
			t.Fatalf("seed %d: mutex says %+v, brute force says legal %v\nspec %+v ends %v%s",
				seed, got, bruteLock(c.ops, c.spec, c.end), c.spec, c.ends, show(c.ops))
		}
		switch got, covered := Lock(c.ops, c.spec, c.end); {
		case covered != nil && ownTokens(c.ops):
			t.Fatalf("seed %d: a history with a token per acquire is not covered: %v%s", seed, covered, show(c.ops))
		case covered != nil:
			beyond++
		case got != nil:
			invalid++
		}
	}
	t.Logf("%d histories, %d invalid, %d not covered", *smallHistories, invalid, beyond)
	if n := *smallHistories; invalid < n/5 || invalid > n*4/5 || beyond > n*3/10 {
		t.Errorf("the histories test too little: %d of %d invalid, %d not covered", invalid, n, beyond)
	}
}

// ownTokens reports whether no two acquires have one token and none is
// released twice, as in our own histories.
func ownTokens(ops []*histories.Op) bool {
	acquired, released := map[string]bool{}, map[string]bool{}
	for _, op := range ops {
		seen := acquired
		switch {
		case op.F == histories.Release && op.Outcome != histories.OK:
			continue
		case op.F == histories.Release:
			seen = released
		case op.Outcome == histories.Info && op.Token == "":
			continue
		}
		if op.Token == "" || seen[op.Token] {
			return false
		}
		seen[op.Token] = true
	}
	return true
}

func TestMutexAgreesWithBruteForceOnShrinkableHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawLock(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") })
		if lockDisagrees(c) {
			c = c.smallest()
			got, _ := Lock(c.ops, c.spec, c.end)
			err := keepDisagreement(disagreements, lockProperty, histories.Header{Lock: c.spec}, c.ops, bruteLock(c.ops, c.spec, c.end))
			t.Fatalf("mutex says %+v\nspec %+v ends %v%s\nkept in %s: %v", got, c.spec, c.ends, show(c.ops), disagreements, err)
		}
	})
}
