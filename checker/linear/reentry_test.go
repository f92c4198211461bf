package linear

import (
	"math/rand/v2"
	"testing"
)

// Where the exact check finds a contradiction in a number that comes again, no
// order lets its worker keep the lock all the time between the two grants.
func TestMutexAllowsANumberAgainToWhoeverMayHaveKeptTheLock(t *testing.T) {
	anew, kept := 0, 0
	for seed := range uint64(*smallHistories) {
		c := drawLock(rand.New(rand.NewPCG(seed, 6)).IntN)
		if !c.spec.Reentrant {
			continue
		}
		b := newLockBrute(c.ops, c.spec, c.end)
		b.strict = true
		legal := b.search(lockState{})
		switch got, covered := Lock(c.ops, c.spec, c.end); {
		case covered != nil:
		case got != nil && legal:
			t.Fatalf("seed %d: mutex says %+v\nspec %+v ends %v%s", seed, got, c.spec, c.ends, show(c.ops))
		case got != nil:
			anew++
		case legal:
			kept++
		}
	}
	if n := *smallHistories; anew < n/50 || kept < n/50 {
		t.Errorf("the histories test too little: %d contradictions, %d orders in %d", anew, kept, n)
	}
}
