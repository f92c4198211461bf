// Package turnstile is a lock as it is written in an afternoon, and what lockcheck
// finds in it. It is a module of its own: it shows how a lock that lives elsewhere
// is tested.
package turnstile

import (
	"context"
	"errors"

	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// Turnstile counts the workers that want in: the one that counts to one is in, the
// others step back. The counter expires, so that a holder that dies keeps nobody out for long.
//
// The mistake: to step back is a command of its own.
//
//	counter   -    1         2                 -            -1
//	holder    INCR ......................... DEL
//	other               INCR (busy)                   DECR
//
// From -1 nobody ever counts to one again, and no TTL ends it.
type Turnstile struct {
	e *env.Env
	o lock.Options
}

// New makes the lock of one worker.
func New(e *env.Env, o lock.Options) env.Lock { return &Turnstile{e, o} }

// Acquire implements env.Lock.
func (t *Turnstile) Acquire(ctx context.Context, key string) (env.Lease, error) {
	p := &pass{t.e.Lock[0], "turnstile:" + key}
	n, err := p.redis.Do(ctx, "INCR", p.key)
	if err != nil {
		return p, err // nobody knows whether it counted: the release cleans up
	}
	if n != int64(1) {
		_, err := p.redis.Do(ctx, "DECR", p.key)
		return nil, errors.Join(env.ErrBusy, err)
	}
	_, err = p.redis.Do(ctx, "PEXPIRE", p.key, t.o.TTL.Milliseconds())
	return p, err
}

// pass is a way in.
type pass struct {
	redis env.Redis
	key   string
}

// Token implements env.Lease: the server does not know who is in.
func (p *pass) Token() string { return "" }

// Release implements env.Lease.
func (p *pass) Release(ctx context.Context) error {
	_, err := p.redis.Do(ctx, "DEL", p.key)
	return err
}
