package till_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/locktest"

	"example.com/till"
)

// The adapter of the module's own lock: words for words.
type ourLock struct{ till.Till }

func (l ourLock) Acquire(ctx context.Context, key string) (locktest.Hold, error) {
	turn, err := l.Take(ctx, key)
	if err != nil {
		return nil, word(err)
	}
	return ourHold{turn}, nil
}

type ourHold struct{ *till.Turn }

func (h ourHold) Extend(ctx context.Context) error  { return word(h.Renew(ctx)) }
func (h ourHold) Release(ctx context.Context) error { return word(h.GiveBack(ctx)) }

func word(err error) error {
	switch {
	case errors.Is(err, till.ErrTaken):
		return fmt.Errorf("%w: %w", locktest.ErrBusy, err)
	case errors.Is(err, till.ErrGone):
		return fmt.Errorf("%w: %w", locktest.ErrNotOwner, err)
	}
	return err
}

// A lease on one server bears everything but what takes it away on the server.
func TestOurLock(t *testing.T) {
	locktest.Test(t, locktest.Config{Expect: locktest.Breaks("restart", "clock")}, func(c redis.UniversalClient) locktest.Lock {
		return ourLock{till.Till{Redis: c, Lease: 5 * time.Second}}
	})
}

// The same lock, whose users do not look at the deadline: they take themselves for
// holders until they give back, and a pause is too much.
func TestWithoutItsDeadline(t *testing.T) {
	locktest.Test(t, locktest.Config{Nemeses: []string{"none", "pause"}, Expect: locktest.Breaks("pause")}, func(c redis.UniversalClient) locktest.Lock {
		return heedless{ourLock{till.Till{Redis: c, Lease: 5 * time.Second}}}
	})
}

type heedless struct{ ourLock }

func (l heedless) Acquire(ctx context.Context, key string) (locktest.Hold, error) {
	h, err := l.ourLock.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return struct{ locktest.Hold }{h}, nil // Release alone
}

// The lock with a mistake: it deletes whatever is there.
func TestAReleaseByPlainDEL(t *testing.T) {
	locktest.Test(t, locktest.Config{Nemeses: []string{"none", "pause"}, Expect: locktest.Breaks("pause")}, func(c redis.UniversalClient) locktest.Lock {
		return careless{ourLock{till.Till{Redis: c, Lease: 5 * time.Second}}}
	})
}

type careless struct{ ourLock }

func (l careless) Acquire(ctx context.Context, key string) (locktest.Hold, error) {
	h, err := l.ourLock.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return carelessHold{h.(ourHold), l.Redis, key}, nil
}

type carelessHold struct {
	ourHold
	redis redis.UniversalClient
	key   string
}

func (h carelessHold) Release(ctx context.Context) error { return h.redis.Del(ctx, h.key).Err() }
