package till_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/locktest"
)

const lease = 5 * time.Second

// bsm/redislock shows its users no deadline, so they take themselves for holders
// until they release: after a pause, and after a Refresh that nobody answered.
func TestRedislock(t *testing.T) {
	locktest.Test(t, locktest.Config{Expect: locktest.Breaks("pause", "loss", "partition", "restart", "clock")}, func(c redis.UniversalClient) locktest.Lock {
		return redislocks{redislock.New(c)}
	})
}

type redislocks struct{ *redislock.Client }

func (l redislocks) Acquire(ctx context.Context, key string) (locktest.Hold, error) {
	lock, err := l.Obtain(ctx, key, lease, nil)
	switch {
	case errors.Is(err, redislock.ErrNotObtained):
		return nil, locktest.ErrBusy
	case err != nil:
		return nil, err
	}
	return redislockHold{lock}, nil
}

type redislockHold struct{ lock *redislock.Lock }

func (h redislockHold) Extend(ctx context.Context) error {
	err := h.lock.Refresh(ctx, lease, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return locktest.ErrNotOwner
	}
	return err
}

func (h redislockHold) Release(ctx context.Context) error {
	err := h.lock.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return locktest.ErrNotOwner
	}
	return err
}

// redsync, on three independent servers. Its Until is the deadline of a holder.
func TestRedsync(t *testing.T) {
	locktest.TestIndependent(t, locktest.Config{TTL: lease, Nemeses: []string{"none", "pause", "restart"}, Expect: locktest.Breaks("restart")}, 3, func(clients []redis.UniversalClient) locktest.Lock {
		var pools []redsyncredis.Pool
		for _, c := range clients {
			pools = append(pools, goredis.NewPool(c))
		}
		return redsyncs{redsync.New(pools...)}
	})
}

type redsyncs struct{ *redsync.Redsync }

func (l redsyncs) Acquire(ctx context.Context, key string) (locktest.Hold, error) {
	m := l.NewMutex(key, redsync.WithExpiry(lease))
	err := m.TryLockContext(ctx)
	var taken *redsync.ErrTaken
	switch {
	case errors.As(err, &taken):
		return nil, locktest.ErrBusy
	case err != nil:
		return nil, err
	}
	return redsyncHold{m}, nil
}

type redsyncHold struct{ *redsync.Mutex }

// Extend and Release say what nobody knows where they reached no majority.
func (h redsyncHold) Extend(ctx context.Context) error { return sure(h.ExtendContext(ctx)) }

func (h redsyncHold) Release(ctx context.Context) error { return sure(h.UnlockContext(ctx)) }

func sure(done bool, err error) error {
	if err == nil && !done {
		err = errors.New("no majority")
	}
	return err
}
