package lock

import (
	"context"
	_ "embed"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

//go:embed takeover.lua
var takeoverSource string

var takeover = env.NewScript("takeover", takeoverSource)

// OwnDuration is a known-bad lock: a record of who leads, which a candidate may
// take over if it has not changed for as long as a lease lasts — by the
// candidate's own setting, not by the holder's. Reported for leader elections
// of Kubernetes and of its clients.
//
//	A (5 s)     acquire ── works ─────────────────────────── release
//	B (0.8 s)       sees A's record ── unchanged for 0.8 s: takes over ──
//
// It promises one holder per key among workers that are set alike. It breaks
// without any fault in a mixed fleet, as in every roll-out of another setting.
type OwnDuration struct {
	e    *env.Env
	o    Options
	seen map[string]sighting
}

// sighting is a record and when it was first seen.
type sighting struct {
	record string
	since  time.Duration
}

var _ env.Lock = (*OwnDuration)(nil)

// NewOwnDuration uses TTL, RetryDelay, Jitter and Wait.
func NewOwnDuration(e *env.Env, o Options) env.Lock {
	return &OwnDuration{e, o, map[string]sighting{}}
}

// Acquire implements env.Lock.
func (l *OwnDuration) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &timedLease{plainLease: plainLease{l.e, "lock:" + key, token(l.e)}}
	err := polled(ctx, l.e, l.o, func() (bool, error) {
		lease.until = l.e.Clock.Now() + l.o.TTL
		set, err := setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
		if set || err != nil {
			return set, err
		}
		reply, err := l.e.Lock[0].Do(ctx, "GET", lease.key)
		record, _ := reply.(string)
		if err != nil || !l.stale(lease.key, record) {
			return false, err
		}
		lease.until = l.e.Clock.Now() + l.o.TTL
		n, err := eval(ctx, l.e.Lock[0], takeover, []string{lease.key}, record, lease.token, milliseconds(l.o.TTL))
		return n == 1, err
	})
	return lease, err
}

// stale says whether a record has not changed for the worker's own TTL.
func (l *OwnDuration) stale(key, record string) bool {
	now := l.e.Clock.Now()
	if l.seen[key].record != record {
		l.seen[key] = sighting{record, now}
	}
	return now-l.seen[key].since >= l.o.TTL
}
