package workload

import (
	"context"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// broom counts how often it tidies up.
type broom struct {
	env.Lock
	rounds int
}

func (b *broom) Rounds() time.Duration { return 7 * time.Second }
func (b *broom) Tidy(context.Context)  { b.rounds++ }

// threeTimes calls f three times at once.
type threeTimes struct {
	env.Clock
	every time.Duration
}

func (c *threeTimes) Every(ctx context.Context, d time.Duration, f func(context.Context) bool) func() {
	c.every = d
	for range 3 {
		f(ctx)
	}
	return func() {}
}

func TestWorkerZeroTidiesUpAfterALockThatNeedsIt(t *testing.T) {
	for number, want := range []int{3, 0} {
		lock, clock := &broom{}, &threeTimes{}
		k := &worker{env: &env.Env{Clock: clock, Worker: number}, till: &stock.Till{Lock: lock}}
		k.tidy(t.Context())()
		if lock.rounds != want || number == 0 && clock.every != lock.Rounds() {
			t.Errorf("worker %d tidied up %d times, each %v; want %d times", number, lock.rounds, clock.every, want)
		}
	}
}
