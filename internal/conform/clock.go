package conform

import (
	"context"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// clock is real time for players who move one at a time, as scenes want it: who
// waits hands the baton on.
type clock struct {
	start time.Time
	baton sync.Mutex
}

var _ env.Clock = (*clock)(nil)

// Now implements env.Clock.
func (c *clock) Now() time.Duration { return time.Since(c.start) }

// Wall implements env.Clock.
func (c *clock) Wall() time.Time { return time.Now() }

// Sleep implements env.Clock.
func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.baton.Unlock()
	defer c.baton.Lock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Every implements env.Clock.
func (c *clock) Every(ctx context.Context, d time.Duration, f func(context.Context) bool) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	go func() {
		c.baton.Lock()
		defer c.baton.Unlock()
		for c.Sleep(ctx, d) == nil && f(ctx) {
		}
	}()
	return stop
}
