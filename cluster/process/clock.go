//go:build unix

package process

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

// epoch ties this process's time.Now, whose monotonic part cannot be read, to
// CLOCK_MONOTONIC, which all processes of a host share.
var epoch = sync.OnceValue(func() (e struct {
	at   time.Time
	mono int64
}) {
	// The narrowest of a few tries: between the two readings the process may
	// have been scheduled away.
	best := time.Hour
	for range 10 {
		before := time.Now()
		mono, err := monotonic()
		took := time.Since(before)
		if err == nil && took < best {
			best, e.at, e.mono = took, before.Add(took/2), mono
		}
	}
	return e
})

func monotonic() (int64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, err
	}
	return t.Nano(), nil
}

// monotonicNow is CLOCK_MONOTONIC, ns.
func monotonicNow() int64 {
	e := epoch()
	return e.mono + int64(time.Since(e.at))
}

// Clock is env.Clock on this host's time.
type Clock struct {
	start int64 // of the run, by CLOCK_MONOTONIC
	ctx   context.Context
	shift *atomic.Pointer[ClockShift]
	held  *gate        // periodic tasks stand still while it is shut
	work  *gate        // all else stands still while it is shut; nil: never
	ticks *atomic.Bool // set by Every; nil: nobody asks
}

var _ env.Clock = (*Clock)(nil)

// NewClock is the clock of a run that begins now. It is right, and none of its
// periodic tasks is ever held up.
func NewClock() *Clock {
	return &Clock{start: monotonicNow(), ctx: context.Background(), shift: &atomic.Pointer[ClockShift]{}, held: &gate{}}
}

// Begin sets the clock to zero.
func (c *Clock) Begin() { c.start = monotonicNow() }

// Started is when the run began, by CLOCK_MONOTONIC, ns.
func (c *Clock) Started() int64 { return c.start }

// Now implements env.Clock.
func (c *Clock) Now() time.Duration { return time.Duration(monotonicNow() - c.start) }

// Wall implements env.Clock.
func (c *Clock) Wall() time.Time {
	now := time.Now()
	if s := c.shift.Load(); s != nil {
		now = now.Add(s.At(c.Now()))
	}
	return now.Round(0) // a wall clock has no monotonic part
}

// Sleep implements env.Clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := wait.Sleep(ctx, d); err != nil || c.work == nil || isPeriodic(ctx) {
		return err
	}
	return c.work.wait(ctx)
}

// periodic is the key of a context that belongs to a function of Every.
type periodic struct{}

func isPeriodic(ctx context.Context) bool { return ctx.Value(periodic{}) != nil }

// Every implements env.Clock.
func (c *Clock) Every(ctx context.Context, d time.Duration, f func(context.Context) bool) (stop func()) {
	if c.ticks != nil {
		c.ticks.Store(true)
	}
	ctx, cancel := context.WithCancel(context.WithValue(ctx, periodic{}, true))
	// A worker's end is its tasks' end, whatever ctx they were given.
	unhook := context.AfterFunc(c.ctx, cancel)
	go func() {
		defer unhook()
		defer cancel()
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			if c.held.wait(ctx) != nil || !f(ctx) {
				return
			}
		}
	}()
	return cancel
}

// gate holds up the tasks that wait at it while it is shut. The zero gate is open.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when the gate opens; nil: open
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case shut && g.shut == nil:
		g.shut = make(chan struct{})
	case !shut && g.shut != nil:
		close(g.shut)
		g.shut = nil
	}
}

func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return ctx.Err()
	}
	select {
	case <-shut:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
