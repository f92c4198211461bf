package lock

import (
	"context"
	_ "embed"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

//go:embed pubsub_acquire.lua
var pubsubAcquireSource string

//go:embed pubsub_release.lua
var pubsubReleaseSource string

var (
	pubsubAcquire = env.NewScript("pubsub-acquire", pubsubAcquireSource)
	pubsubRelease = env.NewScript("pubsub-release", pubsubReleaseSource)
)

// PubSubLock is the lock of Redisson, the Java client that both articles
// look up to: a hash with a hold count per owner, so that the owner may enter
// again; waiting clients are woken by a message when it is released; a
// watchdog renews it every third of its TTL.
//
// It promises one owner per key for as long as the work takes, and quick
// hand-over. Like its model it tells nobody when a renewal finds the lock
// gone: the watchdog goes quiet and the worker works on. So it breaks on a
// failover or a restart that loses the key, and on a pause beyond the TTL,
// until the worker releases. (Its model's TTL is 30 s; the default here is
// shorter so that a run sees leases end.)
type PubSubLock struct {
	e     *env.Env
	o     Options
	owner string
}

var _ env.Lock = (*PubSubLock)(nil)

// NewPubSubLock uses TTL, Renew and Wait.
func NewPubSubLock(e *env.Env, o Options) env.Lock {
	return &PubSubLock{e: e, o: o, owner: fmt.Sprintf("%s:%d", token(e), e.Worker)}
}

// Acquire implements env.Lock.
func (l *PubSubLock) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &pubsubLease{l: l, lockKey: key, key: "lock:{" + key + "}", channel: "released:{" + key + "}"}
	left, err := l.try(ctx, lease.key)
	if err == nil && left > 0 {
		err = l.await(ctx, lease)
	}
	if err != nil {
		return lease, err
	}
	lease.stop = l.e.Clock.Every(ctx, l.o.Renew, lease.renew)
	return lease, nil
}

// try answers how long the lock is taken for, 0 if it is ours now.
func (l *PubSubLock) try(ctx context.Context, key string) (left time.Duration, err error) {
	ms, err := eval(ctx, l.e.Lock[0], pubsubAcquire, []string{key}, l.owner, milliseconds(l.o.TTL))
	return time.Duration(ms) * time.Millisecond, err
}

// await listens for the release, and tries again when it comes or when the
// lock's TTL must have passed.
func (l *PubSubLock) await(ctx context.Context, lease *pubsubLease) error {
	end := l.e.Clock.Now() + l.o.Wait
	next, stop, err := l.e.Lock[0].Subscribe(ctx, lease.channel)
	if err != nil {
		return fmt.Errorf("%w: listening for the release: %w", env.ErrBusy, err)
	}
	defer stop()
	for {
		left, err := l.try(ctx, lease.key)
		if err != nil || left == 0 {
			return err
		}
		now := l.e.Clock.Now()
		if now >= end {
			return env.ErrBusy
		}
		if _, _, err := next(ctx, min(left, end-now)); err != nil {
			return fmt.Errorf("%w: listening for the release: %w", env.ErrBusy, err)
		}
	}
}

type pubsubLease struct {
	l                     *PubSubLock
	lockKey, key, channel string
	stop                  func()
	released              atomic.Bool
}

func (s *pubsubLease) Token() string { return s.l.owner }

func (s *pubsubLease) renew(ctx context.Context) (again bool) {
	if s.l.e.Step(ctx, "renewal") != nil || s.released.Load() {
		return false
	}
	return renewOwner(ctx, s.l.e, s.lockKey, s.key, s.l.owner, s.l.o.TTL)
}

func (s *pubsubLease) Release(ctx context.Context) error {
	s.released.Store(true)
	if s.stop != nil {
		s.stop()
	}
	n, err := eval(ctx, s.l.e.Lock[0], pubsubRelease, []string{s.key}, s.l.owner, milliseconds(s.l.o.TTL), s.channel)
	if err == nil && n < 0 {
		err = env.ErrNotOwner
	}
	return err
}
