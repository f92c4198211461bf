package lock

import (
	"context"
	_ "embed"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

//go:embed resurrect.lua
var resurrectSource string

var resurrectScript = env.NewScript("resurrect", resurrectSource)

// RenewResurrect is a known-bad lock: its renewal sets the key again if it is
// missing. Found in lock libraries for Ruby.
//
//	A  acquire ── paused beyond the TTL ─────────────── extend: ok
//	B                          acquire, sells, release
//
// It breaks when another took and released the lock in the gap: the renewal
// says ok, and its worker writes from what it read before the gap. No two
// holds overlap; the sale in between is overwritten all the same.
type RenewResurrect struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*RenewResurrect)(nil)

// NewRenewResurrect uses TTL, Retries, RetryDelay and Jitter.
func NewRenewResurrect(e *env.Env, o Options) env.Lock { return &RenewResurrect{e, o} }

// Acquire implements env.Lock.
func (l *RenewResurrect) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &resurrecting{plainLease: plainLease{l.e, "lock:" + key, token(l.e)}, lockKey: key, ttl: l.o.TTL}
	var sent time.Duration
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		sent = l.e.Clock.Now()
		return setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
	})
	lease.until = sent + l.o.TTL
	return lease, err
}

type resurrecting struct {
	plainLease
	lockKey    string
	ttl, until time.Duration
}

// Until implements env.Deadline.
func (s *resurrecting) Until() time.Duration { return s.until }

// Extend implements env.Extender.
func (s *resurrecting) Extend(ctx context.Context) error {
	end := s.e.Extending(s.lockKey, s.token)
	until := s.e.Clock.Now() + s.ttl
	n, err := eval(ctx, s.e.Lock[0], resurrectScript, []string{s.key}, s.token, milliseconds(s.ttl))
	switch {
	case err == nil && n == 0:
		err = env.ErrNotOwner
	case err == nil:
		s.until = until
	}
	end(until, err)
	return err
}
