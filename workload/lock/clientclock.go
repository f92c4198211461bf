package lock

import (
	"context"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// ClientClock is a known-bad lock: the value is the owner's wall clock plus
// the TTL, and every client decides by its own wall clock whether it has
// passed. Found in early Redis lock libraries and in tables with an
// "expires_at" column.
//
// It breaks when clocks differ: a client whose clock is a TTL ahead steals
// every lock that is held. Two smaller mistakes come with it: a key that has
// just been deleted counts as expired, and the release deletes whatever is
// there as long as its own time has not passed.
type ClientClock struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*ClientClock)(nil)

// NewClientClock uses TTL, Retries, RetryDelay and Jitter.
func NewClientClock(e *env.Env, o Options) env.Lock { return &ClientClock{e, o} }

// Acquire implements env.Lock.
func (l *ClientClock) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &wallLease{e: l.e, key: "lock:" + key}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		now := l.e.Clock.Wall()
		lease.ends = now.Add(l.o.TTL)
		set, err := l.e.Lock[0].Do(ctx, "SETNX", lease.key, stamp(lease.ends))
		if err != nil || set == int64(1) {
			return err == nil, err
		}
		held, err := l.e.Lock[0].Do(ctx, "GET", lease.key)
		if err != nil || live(held, now) {
			return false, err
		}
		before, err := l.e.Lock[0].Do(ctx, "GETSET", lease.key, stamp(lease.ends))
		return err == nil && !live(before, now), err
	})
	return lease, err
}

func stamp(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// live says whether the deadline in a reply lies ahead. A missing one does
// not parse and so does not.
func live(reply any, now time.Time) bool {
	text, _ := reply.(string)
	ms, err := strconv.ParseInt(text, 10, 64)
	return err == nil && ms > now.UnixMilli()
}

type wallLease struct {
	e    *env.Env
	key  string
	ends time.Time
}

func (s *wallLease) Token() string { return stamp(s.ends) }

func (s *wallLease) Release(ctx context.Context) error {
	if !s.e.Clock.Wall().Before(s.ends) {
		return env.ErrNotOwner
	}
	deleted, err := s.e.Lock[0].Do(ctx, "DEL", s.key)
	if err == nil && deleted == int64(0) {
		err = env.ErrNotOwner
	}
	return err
}
