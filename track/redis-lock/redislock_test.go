// Package redislock puts bsm/redis-lock, the predecessor of bsm/redislock, under
// locktest.
package redislock

import (
	"context"
	"net"
	"testing"
	"time"

	lock "github.com/bsm/redis-lock"
	oldredis "github.com/go-redis/redis"
	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/locktest"
)

const lease = 5 * time.Second

// TestLockAgain renews by Lock, as the README of the library does: of a Locker
// that is locked, Lock refreshes the lease.
func TestLockAgain(t *testing.T) {
	locktest.Test(t, locktest.Config{TTL: lease, Nemeses: []string{"none", "pause"}}, func(c redis.UniversalClient) locktest.Lock {
		o := c.(*redis.Client).Options()
		return locker{oldredis.NewClient(&oldredis.Options{
			Dialer:             func() (net.Conn, error) { return o.Dialer(context.Background(), "tcp", o.Addr) },
			IdleCheckFrequency: -1,
		})}
	})
}

type locker struct{ client *oldredis.Client }

func (l locker) Close() error { return l.client.Close() }

func (l locker) Acquire(ctx context.Context, key string) (locktest.Hold, error) {
	held := lock.New(l.client, key, &lock.Options{LockTimeout: lease})
	ok, err := held.LockWithContext(ctx)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, locktest.ErrBusy
	}
	return hold{held}, nil
}

// hold shows no deadline: the library has none.
type hold struct{ *lock.Locker }

func (h hold) Extend(ctx context.Context) error {
	ok, err := h.LockWithContext(ctx)
	if err == nil && !ok {
		return locktest.ErrNotOwner
	}
	return err
}

func (h hold) Release(context.Context) error {
	err := h.Unlock()
	if err == lock.ErrLockUnlockFailed {
		return locktest.ErrNotOwner
	}
	return err
}
