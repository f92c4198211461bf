package lock

import (
	"context"
	"fmt"
	"strconv"

	"github.com/lockcheck/lockcheck/workload/env"
)

// WaitLock is the second article's advice for high availability: SET NX on a
// replicated master, then WAIT on the same connection until replicas have
// acknowledged. With too few acknowledgements it is not acquired and what was
// set is deleted again. The key is tagged with braces, so that the design
// runs on a Redis Cluster as well.
//
// It promises that a grant survives a failover: the replica with the most
// data is promoted, and an acknowledging replica has the key. It breaks when
// a replica that has not acknowledged is promoted all the same (the others
// were out of reach: WAIT is no consensus), when the master restarts empty
// before anyone notices, and, like every lock that shows no deadline, when its
// lease ends while its worker is paused or works.
type WaitLock struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*WaitLock)(nil)

// NewWaitLock uses TTL, Retries, RetryDelay, Jitter, Acks and AckWait.
func NewWaitLock(e *env.Env, o Options) env.Lock { return &WaitLock{e, o} }

// Acquire implements env.Lock.
func (l *WaitLock) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &plainLease{l.e, "lock:{" + key + "}", token(l.e)}
	err := counted(ctx, l.e, l.o, func() (ok bool, err error) {
		err = l.e.Lock[0].Pinned(ctx, func(r env.Redis) error {
			ok, err = l.set(ctx, r, lease)
			return err
		})
		return ok, err
	})
	return lease, err
}

// set sets the key and waits for its acknowledgements. After the key is set,
// every error leaves the outcome in doubt unless the key is surely gone again.
func (l *WaitLock) set(ctx context.Context, r env.Redis, lease *plainLease) (bool, error) {
	ok, err := setIfMissing(ctx, r, lease.key, lease.token, l.o.TTL)
	if !ok || err != nil {
		return false, err
	}
	acks, err := r.Do(ctx, "WAIT", strconv.Itoa(l.o.Acks), milliseconds(l.o.AckWait))
	if err != nil {
		return false, fmt.Errorf("%w: %v", env.ErrDoubt, err)
	}
	n, _ := acks.(int64)
	if n >= int64(l.o.Acks) {
		return true, nil
	}
	if err := deleteIfMine(ctx, r, lease.key, lease.token); err != nil {
		return false, fmt.Errorf("%w: %d acknowledgements, and not cleaned up: %v", env.ErrDoubt, n, err)
	}
	return false, fmt.Errorf("%w: %d acknowledgements", env.ErrBusy, n)
}
