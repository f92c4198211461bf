package lock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

//go:embed reentrant_acquire.lua
var reentrantAcquireSource string

//go:embed reentrant_release.lua
var reentrantReleaseSource string

var (
	reentrantAcquire = env.NewScript("reentrant-acquire", reentrantAcquireSource)
	reentrantRelease = env.NewScript("reentrant-release", reentrantReleaseSource)
)

// Reentrant is the first article's answer to a worker that takes the same
// lock twice: a hash with a counter. The owner may enter again; only the last
// release frees the lock.
//
// It promises one owner per key, however often it enters, within the TTL. It
// breaks as RedisLock does. A request that is sent twice counts twice (see
// RetryBlind).
type Reentrant struct {
	e     *env.Env
	o     Options
	owner string
}

var _ env.Lock = (*Reentrant)(nil)

// NewReentrant uses TTL, Retries, RetryDelay and Jitter.
func NewReentrant(e *env.Env, o Options) env.Lock {
	return &Reentrant{e: e, o: o, owner: fmt.Sprintf("%s:%d", token(e), e.Worker)}
}

// Acquire implements env.Lock.
func (l *Reentrant) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &reentrantLease{l.e, l.o, "lock:" + key, l.owner}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		n, err := eval(ctx, l.e.Lock[0], reentrantAcquire, []string{lease.key}, lease.owner, milliseconds(l.o.TTL))
		return n > 0, err
	})
	return lease, err
}

//go:embed hash_renew.lua
var hashRenewSource string

var hashRenew = env.NewScript("hash-renew", hashRenewSource)

// renewOwner renews a lock that is a hash of owners, in the background, and
// stops when it has gone. An error it takes for a passing one.
func renewOwner(ctx context.Context, e *env.Env, lockKey, key, owner string, ttl time.Duration) (again bool) {
	end := e.Extending(lockKey, owner)
	n, err := eval(ctx, e.Lock[0], hashRenew, []string{key}, owner, milliseconds(ttl))
	if err == nil && n == 0 {
		err = env.ErrNotOwner
	}
	end(0, err)
	return !errors.Is(err, env.ErrNotOwner)
}

type reentrantLease struct {
	e          *env.Env
	o          Options
	key, owner string
}

func (s *reentrantLease) Token() string { return s.owner }

func (s *reentrantLease) Release(ctx context.Context) error {
	n, err := eval(ctx, s.e.Lock[0], reentrantRelease, []string{s.key}, s.owner, milliseconds(s.o.TTL))
	if err == nil && n < 0 {
		err = env.ErrNotOwner
	}
	return err
}
