package sim

import (
	"math/rand/v2"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
)

// turning is a source of random numbers that begins anew, with another seed, at
// each turn of the run.
type turning struct {
	*rand.PCG
	stream uint64
	now    func() time.Duration
	left   cluster.Turns
}

var _ rand.Source = (*turning)(nil)

// Uint64 is the next number.
func (t *turning) Uint64() uint64 {
	for len(t.left) > 0 && t.now() >= t.left[0].At {
		t.Seed(t.left[0].Seed, t.stream)
		t.left = t.left[1:]
	}
	return t.PCG.Uint64()
}
