package lock

import (
	"context"
	"fmt"

	"github.com/lockcheck/lockcheck/workload/env"
)

// DelAny is a known-bad lock: SET NX with a TTL, but the value is a constant
// and the release is a plain DEL. Found in cache libraries of web frameworks
// and behind more than one oversold flash sale (shared incidents: "release
// hits somebody else's lock").
//
//	A  acquire ────── works past the TTL ──────── DEL
//	B                     acquire ─── works ────────┊──────
//	C                                               acquire   (beside B)
//
// It holds while every lease outlasts its work. One overrun is enough to
// break it for all later holders: the late finisher frees the next one's lock.
type DelAny struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*DelAny)(nil)

// NewDelAny uses TTL, Retries, RetryDelay and Jitter.
func NewDelAny(e *env.Env, o Options) env.Lock { return &DelAny{e, o} }

// Acquire implements env.Lock. It leaves nothing to clean up with: its
// release could not tell whose lock it deletes.
func (l *DelAny) Acquire(ctx context.Context, key string) (env.Lease, error) {
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		return setIfMissing(ctx, l.e.Lock[0], "lock:"+key, "1", l.o.TTL)
	})
	if err != nil {
		return nil, err
	}
	return &anyLease{l.e, "lock:" + key}, nil
}

type anyLease struct {
	e   *env.Env
	key string
}

func (s *anyLease) Token() string { return "1" }

// Release deletes whatever is there.
func (s *anyLease) Release(ctx context.Context) error {
	reply, err := s.e.Lock[0].Do(ctx, "DEL", s.key)
	if err != nil {
		return err
	}
	switch n, ok := reply.(int64); {
	case !ok:
		return fmt.Errorf("%w: DEL answered %v, want a number", env.ErrDoubt, reply)
	case n == 0:
		return env.ErrNotOwner
	}
	return nil
}
