package lock

import (
	"context"
	"fmt"

	"github.com/lockcheck/lockcheck/workload/env"
)

// RedisLock is the lease lock of the first article: SET NX with a TTL, a
// value that names the owner, a few retries with random back-off, release
// and renewal by comparing and acting in one Lua script.
//
// It promises that one worker holds a key at a time, as long as the TTL
// outlasts the work, the server keeps the key, and its clock runs evenly.
//
// It breaks when the lease ends while its owner still works or is paused (the
// owner has no way to notice), when a failover or a restart loses the key
// (replication is asynchronous), and when the server's clock jumps forward.
// The owner is made once per lock object, not per acquire: a release that is
// stuck in the network and lands late deletes the same worker's next lease.
type RedisLock struct {
	e     *env.Env
	o     Options
	owner string
}

var _ env.Lock = (*RedisLock)(nil)

// NewRedisLock uses TTL, Retries, RetryDelay and Jitter.
func NewRedisLock(e *env.Env, o Options) env.Lock {
	owner := fmt.Sprintf("%s:%d:%016x", e.Hostname, e.PID, e.Rand.Uint64())
	return &RedisLock{e: e, o: o, owner: owner}
}

// Acquire implements env.Lock.
func (l *RedisLock) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &redisLease{l, key}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		return setIfMissing(ctx, l.e.Lock[0], "lock:"+key, l.owner, l.o.TTL)
	})
	return lease, err
}

type redisLease struct {
	l   *RedisLock
	key string
}

func (s *redisLease) Token() string { return s.l.owner }

func (s *redisLease) Release(ctx context.Context) error {
	return deleteIfMine(ctx, s.l.e.Lock[0], "lock:"+s.key, s.l.owner)
}

// Extend implements env.Extender: for work whose length is not known
// beforehand. The stock service of the article never calls it.
func (s *redisLease) Extend(ctx context.Context) error {
	end := s.l.e.Extending(s.key, s.l.owner)
	err := renewIfMine(ctx, s.l.e.Lock[0], "lock:"+s.key, s.l.owner, s.l.o.TTL)
	end(0, err)
	return err
}
