package lock

import (
	"context"
	_ "embed"
	"errors"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

//go:embed fair_acquire.lua
var fairAcquireSource string

//go:embed fair_leave.lua
var fairLeaveSource string

var (
	fairAcquire = env.NewScript("fair-acquire", fairAcquireSource)
	fairLeave   = env.NewScript("fair-leave", fairLeaveSource)
)

// FairQueue is a known-bad lock: a fair one, whose waiters stand in a list
// beside it, each with the time until which it is waited for. Only the head of
// the list may take the lock. Reported for Redisson's fair lock, time and again.
//
//	A  holds ─────────── release
//	B     in line ── dies ┊
//	C        in line ─────┊── the lock is free, and B's turn ──────── …
//
// It promises one holder per key, in the order of asking. It breaks when a
// waiter dies, or hears no answer and goes away: its place in the queue stays
// for as long as it might have waited, minutes, and the lock is free all the
// while and nobody may have it.
type FairQueue struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*FairQueue)(nil)

// NewFairQueue uses TTL, RetryDelay, Jitter and Wait.
func NewFairQueue(e *env.Env, o Options) env.Lock { return &FairQueue{e, o} }

// waitedFor is how long the queue waits for one that stands in it.
const waitedFor = 5 * time.Minute

// Acquire implements env.Lock.
func (l *FairQueue) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &plainLease{l.e, "lock:{" + key + "}", token(l.e)}
	queue, times := "queue:{"+key+"}", "times:{"+key+"}"
	inLine := false
	err := polled(ctx, l.e, l.o, func() (bool, error) {
		if inLine {
			if err := l.e.Step(ctx, "queued"); err != nil {
				return false, err
			}
		}
		inLine = true
		now := l.e.Clock.Wall()
		n, err := eval(ctx, l.e.Lock[0], fairAcquire, []string{lease.key, queue, times},
			lease.token, milliseconds(l.o.TTL), unixMilli(now), unixMilli(now.Add(waitedFor)))
		return n == 1, err
	})
	if errors.Is(err, env.ErrBusy) {
		// A worker that has had enough leaves, also when it is told to stop waiting.
		_, _ = eval(context.WithoutCancel(ctx), l.e.Lock[0], fairLeave, []string{queue, times}, lease.token)
	}
	return lease, err
}

func unixMilli(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
