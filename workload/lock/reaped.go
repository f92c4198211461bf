package lock

import (
	"context"
	_ "embed"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

//go:embed reaped_acquire.lua
var reapedAcquireSource string

//go:embed reaped_release.lua
var reapedReleaseSource string

var (
	reapedAcquire = env.NewScript("reaped-acquire", reapedAcquireSource)
	reapedRelease = env.NewScript("reaped-release", reapedReleaseSource)
)

// Reaped is a known-bad lock: it has no TTL, and a janitor deletes what a dead
// worker may have left behind: every lock that is older than a job should
// take. Reported for sidekiq-unique-jobs, five times in three years, each time
// with another idea of which jobs no longer run.
//
//	A        acquire ── works for longer than most ─────────────── release
//	janitor                       deletes A's lock
//	B                                acquire ── works beside A ──
//
// It promises one holder per key for jobs that are as short as the janitor
// believes. It breaks without any fault: one job takes longer.
type Reaped struct{ e *env.Env }

var (
	_ env.Lock    = (*Reaped)(nil)
	_ env.Janitor = (*Reaped)(nil)
)

// NewReaped uses no options: it tries once.
func NewReaped(e *env.Env, _ Options) env.Lock { return &Reaped{e} }

const (
	longestJob = time.Second // as the janitor believes
	ages       = "lock-ages"
)

// Acquire implements env.Lock.
func (l *Reaped) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &agingLease{l.e, key, token(l.e)}
	n, err := eval(ctx, l.e.Lock[0], reapedAcquire, []string{"lock:" + key, ages}, lease.token, unixMilli(l.e.Clock.Wall()), key)
	if err == nil && n == 0 {
		err = env.ErrBusy
	}
	return lease, err
}

// Rounds implements env.Janitor.
func (l *Reaped) Rounds() time.Duration { return 500 * time.Millisecond }

// Tidy deletes every lock that is too old. What fails is left for the next
// round.
func (l *Reaped) Tidy(ctx context.Context) {
	old := unixMilli(l.e.Clock.Wall().Add(-longestJob))
	reply, _ := l.e.Lock[0].Do(ctx, "ZRANGEBYSCORE", ages, "-inf", old)
	keys, _ := reply.([]any)
	for _, k := range keys {
		key, _ := k.(string)
		reply, err := l.e.Lock[0].Do(ctx, "GET", "lock:"+key)
		owner, _ := reply.(string)
		if err != nil {
			return
		}
		end := l.e.Breaking(key, owner)
		end(l.release(ctx, key, owner))
	}
}

// release deletes the lock and its age if it is that owner's.
func (l *Reaped) release(ctx context.Context, key, owner string) error {
	n, err := eval(ctx, l.e.Lock[0], reapedRelease, []string{"lock:" + key, ages}, owner, key)
	if err == nil && n == 0 {
		err = env.ErrNotOwner
	}
	return err
}

// agingLease is a lock that lasts until somebody deletes it.
type agingLease struct {
	e          *env.Env
	key, token string
}

func (s *agingLease) Token() string { return s.token }

func (s *agingLease) Release(ctx context.Context) error {
	return (&Reaped{s.e}).release(ctx, s.key, s.token)
}
