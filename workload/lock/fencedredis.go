package lock

import (
	"context"
	_ "embed"

	"github.com/lockcheck/lockcheck/workload/env"
)

//go:embed fence.lua
var fenceSource string

var fenceScript = env.NewScript("fence", fenceSource)

// FencedRedis is a lease lock whose grants carry a growing number: one script
// sets the key and increments a counter beside it, on the lock's own master.
// It shows its worker a deadline. The sale shows the number to the store,
// which refuses smaller ones than it has seen.
//
// It promises that a worker that comes late is refused, as long as the counter
// never goes back. A failover or a restart can take it back: then numbers are
// given twice, the store cannot tell the late one from the new one, or refuses
// the new ones until they have caught up. (FencedSQL counts where nothing is
// forgotten.)
type FencedRedis struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*FencedRedis)(nil)

// NewFencedRedis uses TTL, Retries, RetryDelay and Jitter.
func NewFencedRedis(e *env.Env, o Options) env.Lock { return &FencedRedis{e, o} }

// Acquire implements env.Lock.
func (l *FencedRedis) Acquire(ctx context.Context, key string) (env.Lease, error) {
	keys := []string{"lock:{" + key + "}", "fence:{" + key + "}"}
	lease := &fencedLease{timedLease: timedLease{plainLease: plainLease{l.e, keys[0], token(l.e)}}}
	err := counted(ctx, l.e, l.o, func() (ok bool, err error) {
		lease.until = l.e.Clock.Now() + l.o.TTL
		lease.fence, err = eval(ctx, l.e.Lock[0], fenceScript, keys, lease.token, milliseconds(l.o.TTL))
		return lease.fence > 0, err
	})
	return lease, err
}

// fencedLease is a lease with a deadline and a number.
type fencedLease struct {
	timedLease
	fence int64
}

// Fence implements env.Fence.
func (s *fencedLease) Fence() int64 { return s.fence }
