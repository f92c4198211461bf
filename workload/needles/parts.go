package needles

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

var (
	deleteScript = env.NewScript("release",
		`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
	renewScript = env.NewScript("renew",
		`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`)
)

// set is SET NX PX.
func set(ctx context.Context, r env.Redis, key, token string, ttl time.Duration) (bool, error) {
	reply, err := r.Do(ctx, "SET", key, token, "NX", "PX", ttl.Milliseconds())
	return reply != nil && err == nil, err
}

// ifMine runs a script that does something if the key holds the token, and
// answers 0 if it does not.
func ifMine(ctx context.Context, r env.Redis, script *env.Script, key string, args ...any) error {
	n, err := r.Eval(ctx, script, []string{key}, args...)
	if err == nil && n == int64(0) {
		return env.ErrNotOwner
	}
	return err
}

// token is a value that no other acquire has.
func token(e *env.Env) string { return strconv.FormatUint(e.Rand.Uint64(), 36) }

// lease is a key that holds a token until a deadline, which it shows.
type lease struct {
	e          *env.Env
	name       string // of the lock, as the worker knows it
	key, token string
	until      time.Duration
}

func newLease(e *env.Env, name string) *lease {
	return &lease{e: e, name: name, key: "lock:" + name, token: token(e)}
}

func (s *lease) Token() string        { return s.token }
func (s *lease) Until() time.Duration { return s.until }

func (s *lease) Release(ctx context.Context) error {
	return ifMine(ctx, s.e.Lock[0], deleteScript, s.key, s.token)
}

// polled tries each RetryDelay and up to Jitter until Wait has passed. An error ends it.
func polled(ctx context.Context, e *env.Env, o lock.Options, try func() (bool, error)) error {
	for end := e.Clock.Now() + o.Wait; ; {
		if ok, err := try(); ok || err != nil {
			return err
		}
		pause := o.RetryDelay + time.Duration(e.Rand.Int64N(int64(o.Jitter)+1))
		if e.Clock.Now() >= end || e.Clock.Sleep(ctx, pause) != nil {
			return env.ErrBusy
		}
	}
}

// acquired is SET NX, polled, with the deadline counted from before the request.
func acquired(ctx context.Context, e *env.Env, o lock.Options, s *lease) error {
	return polled(ctx, e, o, func() (bool, error) {
		s.until = e.Clock.Now() + o.TTL
		return set(ctx, e.Lock[0], s.key, s.token, o.TTL)
	})
}

// renewed is a lease without a deadline of its own: a task renews it, and gives
// notice when it is lost.
type renewed struct {
	plain
	stop     func()
	released atomic.Bool
	lost     atomic.Bool
	listener atomic.Pointer[func()]
}

// plain is a lease that shows no deadline.
type plain struct {
	e                *env.Env
	name, key, value string
}

func (s *plain) Token() string { return s.value }

func (s *plain) Release(ctx context.Context) error {
	return ifMine(ctx, s.e.Lock[0], deleteScript, s.key, s.value)
}

// OnLost implements env.Notice.
func (s *renewed) OnLost(f func()) {
	s.listener.Store(&f)
	if s.lost.Load() {
		f()
	}
}

// giveUp tells the worker that the lease is gone.
func (s *renewed) giveUp() {
	if f := s.listener.Load(); !s.lost.Swap(true) && f != nil {
		(*f)()
	}
}

func (s *renewed) Release(ctx context.Context) error {
	s.released.Store(true)
	if s.stop != nil {
		s.stop()
	}
	return s.plain.Release(ctx)
}

// renew renews the key once, on record.
func (s *renewed) renew(ctx context.Context, ttl time.Duration) error {
	end := s.e.Extending(s.name, s.value)
	err := ifMine(ctx, s.e.Lock[0], renewScript, s.key, s.value, ttl.Milliseconds())
	end(0, err)
	return err
}

// certain reports whether err leaves no doubt.
func certain(err error) bool { return err == nil || errors.Is(err, env.ErrNotOwner) }
