package lock

import (
	"context"

	"github.com/lockcheck/lockcheck/workload/env"
)

// SharedOwner is a known-bad re-entrant lock: the owner is named by its host,
// and several workers share the host. The server takes the second one for the
// first entering again. Reported for pod names, for "pid 1" in containers, for
// thread ids where coroutines share a thread.
//
// It breaks without any fault, as soon as two workers of one host want the
// same key.
type SharedOwner struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*SharedOwner)(nil)

// NewSharedOwner uses TTL, Retries, RetryDelay and Jitter.
func NewSharedOwner(e *env.Env, o Options) env.Lock { return &SharedOwner{e, o} }

// Acquire implements env.Lock.
func (l *SharedOwner) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &reentrantLease{l.e, l.o, "lock:" + key, l.e.Hostname}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		n, err := eval(ctx, l.e.Lock[0], reentrantAcquire, []string{lease.key}, lease.owner, milliseconds(l.o.TTL))
		return n > 0, err
	})
	return lease, err
}
