package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockcheck/lockcheck/workload/env"
)

// RetryBlind is a known-bad re-entrant lock with a watchdog: its client
// library sends a request again when no answer came, and the acquire script
// counts. Reported for Redisson after slow answers; every client library with
// retries on by default does this to scripts that are not idempotent.
//
//	A  acquire ─ (acts: 1, answer lost) ─ again (2) ─ ok … release (1) ─ ok
//	A's watchdog   renew … renew … renew …
//	B              busy … busy … busy, forever
//
// It breaks when an answer is lost: one release leaves a count of one, the
// lock counts as held, and its watchdog keeps it so.
type RetryBlind struct {
	e     *env.Env
	o     Options
	owner string
}

var _ env.Lock = (*RetryBlind)(nil)

// NewRetryBlind uses TTL, Renew, Retries, RetryDelay and Jitter.
func NewRetryBlind(e *env.Env, o Options) env.Lock {
	return &RetryBlind{e: e, o: o, owner: fmt.Sprintf("%s:%d", token(e), e.Worker)}
}

// resends is how often the client library sends a request in all.
const resends = 3

// again is what such a library does. (The library's caller sees the last
// error only; for the record, one try without an answer leaves all in doubt.)
func again(f func() (int64, error)) (n int64, err error) {
	doubtful := false
	for range resends {
		n, err = f()
		if !errors.Is(err, env.ErrTimeout) && !errors.Is(err, env.ErrReset) {
			break
		}
		doubtful = doubtful || env.Unknown(err)
	}
	if err != nil && doubtful {
		err = fmt.Errorf("%w: %v", env.ErrDoubt, err)
	}
	return n, err
}

// Acquire implements env.Lock.
func (l *RetryBlind) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &resentLease{l: l, lockKey: key, key: "lock:" + key}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		n, err := again(func() (int64, error) {
			return eval(ctx, l.e.Lock[0], reentrantAcquire, []string{lease.key}, l.owner, milliseconds(l.o.TTL))
		})
		return n > 0, err
	})
	if err == nil {
		lease.stop = l.e.Clock.Every(ctx, l.o.Renew, lease.renew)
	}
	return lease, err
}

type resentLease struct {
	l            *RetryBlind
	lockKey, key string
	stop         func()
}

func (s *resentLease) Token() string { return s.l.owner }

func (s *resentLease) renew(ctx context.Context) (again bool) {
	if s.l.e.Step(ctx, "renewal") != nil {
		return false
	}
	return renewOwner(ctx, s.l.e, s.lockKey, s.key, s.l.owner, s.l.o.TTL)
}

// Release leaves once. The watchdog stops when the count is down to zero.
func (s *resentLease) Release(ctx context.Context) error {
	n, err := again(func() (int64, error) {
		return eval(ctx, s.l.e.Lock[0], reentrantRelease, []string{s.key}, s.l.owner, milliseconds(s.l.o.TTL))
	})
	if s.stop != nil && n <= 0 {
		s.stop()
	}
	if err == nil && n < 0 {
		err = env.ErrNotOwner
	}
	return err
}
