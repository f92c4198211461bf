package lock

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// Deadlined is a lease lock like StockLock that tells its worker when the
// lease ends: a TTL after the request was sent, by the worker's own monotonic
// clock. Whether it helps is up to the sale: the known-bad Overwriting never
// looks (`ttl-no-fence`), Careful looks before it writes (`lease-aware`).
//
// It promises one holder per key up to the deadline it shows, however long
// its worker is paused, as long as the server keeps the key and its clock does
// not run ahead. It breaks on a failover, a restart or a clock jump that ends
// the lease early.
type Deadlined struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*Deadlined)(nil)

// NewDeadlined uses TTL, Retries, RetryDelay and Jitter.
func NewDeadlined(e *env.Env, o Options) env.Lock { return &Deadlined{e, o} }

// Acquire implements env.Lock.
func (l *Deadlined) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &timedLease{plainLease: plainLease{l.e, "lock:" + key, token(l.e)}}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		lease.until = l.e.Clock.Now() + l.o.TTL
		return setIfMissing(ctx, l.e.Lock[0], lease.key, lease.token, l.o.TTL)
	})
	return lease, err
}

// timedLease is a lease that shows its end.
type timedLease struct {
	plainLease
	until time.Duration
}

// Until implements env.Deadline.
func (s *timedLease) Until() time.Duration { return s.until }
