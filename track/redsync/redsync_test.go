// Package redsync puts go-redsync/redsync under locktest, at the versions of its
// go-*.mod files.
package redsync

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/locktest"
)

const lease = 5 * time.Second

// TestMutex has no options but the expiry.
func TestMutex(t *testing.T) { play(t, 3) }

// TestSetNXOnExtend has mutexes that take the lock anew when they are to extend it
// and it is gone.
func TestSetNXOnExtend(t *testing.T) { play(t, 3, redsync.WithSetNXOnExtend()) }

func play(t *testing.T, servers int, options ...redsync.Option) {
	options = append(options, redsync.WithExpiry(lease))
	locktest.TestIndependent(t, locktest.Config{TTL: lease, Nemeses: []string{"none", "pause"}}, servers, func(clients []redis.UniversalClient) locktest.Lock {
		var pools []redsyncredis.Pool
		for _, c := range clients {
			pools = append(pools, goredis.NewPool(c))
		}
		return locker{redsync.New(pools...), options}
	})
}

type locker struct {
	*redsync.Redsync
	options []redsync.Option
}

func (l locker) Acquire(ctx context.Context, key string) (locktest.Hold, error) {
	m := l.NewMutex(key, append(l.options, redsync.WithTries(1))...)
	err := m.LockContext(ctx)
	var taken *redsync.ErrTaken
	switch {
	case errors.As(err, &taken):
		return nil, locktest.ErrBusy
	case err != nil:
		return nil, err
	}
	return hold{m}, nil
}

// hold has redsync's own deadline, in its method Until.
type hold struct{ *redsync.Mutex }

func (h hold) Extend(ctx context.Context) error  { return sure(h.ExtendContext(ctx)) }
func (h hold) Release(ctx context.Context) error { return sure(h.UnlockContext(ctx)) }

// sure makes "no majority" an error of unknown effect.
func sure(done bool, err error) error {
	if err == nil && !done {
		err = errors.New("no majority")
	}
	return err
}
