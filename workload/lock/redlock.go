package lock

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// Redlock takes the lock on several independent Redis servers and has it when
// a majority said yes in time. It shows its worker a deadline: the TTL, less
// the time that acquiring took, less a share for clocks that run apart. (The
// first article's answer to failovers; the algorithm is from redis.io, where
// its limits are discussed too.)
//
// It promises one holder per key up to the deadline it shows while its servers
// forget nothing, and that a minority away is not noticed. It breaks when
// servers restart empty within a TTL or have their clocks jump forward: a
// majority of them always, and one is enough where the holder has a bare
// majority because another wanted the lock at the same time (redsync#186). Keys
// that are written to disk at once (--persistence=always) mend that. A worker that is paused between its look at the deadline
// and its write writes late all the same: nothing at the store stops it.
type Redlock struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*Redlock)(nil)

// NewRedlock uses TTL, Drift, Retries, RetryDelay and Jitter. It uses all
// servers of Env.Lock.
func NewRedlock(e *env.Env, o Options) env.Lock { return &Redlock{e, o} }

// Acquire implements env.Lock.
func (l *Redlock) Acquire(ctx context.Context, key string) (env.Lease, error) {
	lease := &quorumLease{e: l.e, key: "lock:" + key, token: token(l.e)}
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		start := l.e.Clock.Now()
		yes := lease.set(ctx, l.o.TTL)
		drift := time.Duration(l.o.Drift * float64(l.o.TTL))
		lease.until = start + l.o.TTL - drift
		if yes >= quorum(l.e) && l.e.Clock.Now() < lease.until {
			return true, nil
		}
		return false, lease.undo(ctx, yes)
	})
	return lease, err
}
