// Package redislock puts bsm/redislock under locktest, at the versions of its
// go-*.mod files.
package redislock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/locktest"
)

const lease = 5 * time.Second

// TestRandomTokens obtains locks as the README of the library does.
func TestRandomTokens(t *testing.T) {
	play(t, func() *redislock.Options { return nil })
}

// TestRefresh renews as the README of the library does.
func TestRefresh(t *testing.T) {
	locktest.Test(t, locktest.Config{TTL: lease, Nemeses: []string{"none", "pause"}}, func(c redis.UniversalClient) locktest.Lock {
		return locker{Client: redislock.New(c), renews: true}
	})
}

func play(t *testing.T, options func() *redislock.Options) {
	cfg := locktest.Config{TTL: lease, Nemeses: []string{"none", "crash"}, Workers: 12}
	locktest.Test(t, cfg, func(c redis.UniversalClient) locktest.Lock {
		return locker{Client: redislock.New(c), options: options()}
	})
}

type locker struct {
	*redislock.Client
	options *redislock.Options
	renews  bool
}

func (l locker) Acquire(ctx context.Context, key string) (locktest.Hold, error) {
	lock, err := l.Obtain(ctx, key, lease, l.options)
	switch {
	case errors.Is(err, redislock.ErrNotObtained):
		return nil, locktest.ErrBusy
	case err != nil:
		return nil, err
	}
	if l.renews {
		return renewed{hold{lock}}, nil
	}
	return hold{lock}, nil
}

// renewed is a hold that is renewed. The library shows no deadline.
type renewed struct{ hold }

func (h renewed) Extend(ctx context.Context) error {
	err := h.lock.Refresh(ctx, lease, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return locktest.ErrNotOwner
	}
	return err
}

// hold shows no deadline and is not renewed: it is given back well within its lease.
type hold struct{ lock *redislock.Lock }

func (h hold) Release(ctx context.Context) error {
	err := h.lock.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return locktest.ErrNotOwner
	}
	return err
}
