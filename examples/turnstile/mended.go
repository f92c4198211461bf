package turnstile

import (
	"context"
	"strconv"

	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// Mended sets the key and its TTL in one command, and deletes only what it set.
type Mended struct {
	e *env.Env
	o lock.Options
}

// NewMended makes the lock of one worker.
func NewMended(e *env.Env, o lock.Options) env.Lock { return &Mended{e, o} }

// Acquire implements env.Lock.
func (m *Mended) Acquire(ctx context.Context, key string) (env.Lease, error) {
	t := &ticket{m.e.Lock[0], "turnstile:" + key, strconv.FormatUint(m.e.Rand.Uint64(), 16)}
	reply, err := t.redis.Do(ctx, "SET", t.key, t.token, "NX", "PX", m.o.TTL.Milliseconds())
	if err == nil && reply == nil {
		return nil, env.ErrBusy
	}
	return t, err
}

type ticket struct {
	redis      env.Redis
	key, token string
}

var deleteIfMine = env.NewScript("release",
	`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func (t *ticket) Token() string { return t.token }

func (t *ticket) Release(ctx context.Context) error {
	n, err := t.redis.Eval(ctx, deleteIfMine, []string{t.key}, t.token)
	if err == nil && n == int64(0) {
		return env.ErrNotOwner
	}
	return err
}
