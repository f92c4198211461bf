// Package lock has the lock designs under test, one file each, Lua beside
// them in .lua files. Some are right, some are right until a fault comes, some
// are known to be bad: the doc comment of each says where it comes from, what
// it promises, under which faults it breaks, and why.
//
// A design is a constructor from an env.Env and Options to an env.Lock. It
// touches the world through the Env alone: no clock, no goroutine, no
// network, no random source of its own (a test of package workload holds that). Recording is
// none of its business either, but for renewals in the background, which it
// announces by Env.Extending.
//
// Start with RedisLock, the plain lease lock that most others vary. The sales
// that use the locks are in package stock, the catalogue that puts the two
// together in package workload.
package lock

import (
	"context"
	"embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// Options are the settings of a lock design. Which of them a design uses is
// in its comment; the catalogue has the values its source gives.
type Options struct {
	TTL        time.Duration // of a lease, on the server
	Retries    int           // further tries after a busy one, for designs that count
	RetryDelay time.Duration // between two tries
	Jitter     time.Duration // at most this much more, at random
	Wait       time.Duration // a busy lock is waited for this long, for designs that do not count
	Renew      time.Duration // between two renewals in the background
	Drift      float64       // share of the TTL taken off for clocks that run apart
	Acks       int           // replicas that must have acknowledged
	AckWait    time.Duration // and how long they are waited for
}

// Source is the source of this package: the catalogue quotes its comments.
//
//go:embed *.go
var Source embed.FS

// Maker makes a lock for one worker.
type Maker func(e *env.Env, o Options) env.Lock

//go:embed release.lua
var releaseSource string

//go:embed renew.lua
var renewSource string

var (
	releaseScript = env.NewScript("release", releaseSource)
	renewScript   = env.NewScript("renew", renewSource)
)

// token makes a value that no other acquire has.
func token(e *env.Env) string {
	b := make([]byte, 0, 16)
	for range 2 {
		n := e.Rand.Uint64()
		for i := range 8 {
			b = append(b, byte(n>>(8*i)))
		}
	}
	return hex.EncodeToString(b)
}

// milliseconds is d as Redis wants it, at least 1.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(1, d.Milliseconds()), 10)
}

// setIfMissing is SET NX PX: the whole of a lease lock's acquire.
func setIfMissing(ctx context.Context, r env.Redis, key, value string, ttl time.Duration) (bool, error) {
	reply, err := r.Do(ctx, "SET", key, value, "NX", "PX", milliseconds(ttl))
	return reply != nil && err == nil, err
}

// eval runs a script that answers a number, and marks its error as in doubt
// where it may have written before it failed.
func eval(ctx context.Context, r env.Redis, script *env.Script, keys []string, args ...any) (int64, error) {
	reply, err := r.Eval(ctx, script, keys, args...)
	if err != nil {
		if env.ScriptUnknown(err) {
			err = fmt.Errorf("%w: %w", env.ErrDoubt, err)
		}
		return 0, err
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("%w: script %s answered %v, want a number", env.ErrDoubt, script.Name, reply)
	}
	return n, nil
}

// deleteIfMine deletes key if it holds value, in one step on the server.
func deleteIfMine(ctx context.Context, r env.Redis, key, value string) error {
	n, err := eval(ctx, r, releaseScript, []string{key}, value)
	if err == nil && n == 0 {
		err = env.ErrNotOwner
	}
	return err
}

// renewIfMine gives key a new TTL if it holds value, in one step on the server.
func renewIfMine(ctx context.Context, r env.Redis, key, value string, ttl time.Duration) error {
	n, err := eval(ctx, r, renewScript, []string{key}, value, milliseconds(ttl))
	if err == nil && n == 0 {
		err = env.ErrNotOwner
	}
	return err
}

// plainLease is a key that holds the token of one acquire. It is all that
// most lease locks need; what a design adds it adds around it.
type plainLease struct {
	e          *env.Env
	key, token string // key: as the server knows it
}

func (s *plainLease) Token() string { return s.token }

func (s *plainLease) Release(ctx context.Context) error {
	return deleteIfMine(ctx, s.e.Lock[0], s.key, s.token)
}

// counted tries once and Retries times more, RetryDelay and up to Jitter
// apart. An error of try ends it.
func counted(ctx context.Context, e *env.Env, o Options, try func() (bool, error)) error {
	for n := 0; ; n++ {
		ok, err := try()
		if ok || err != nil {
			return err
		}
		if n >= o.Retries {
			return env.ErrBusy
		}
		if err := pause(ctx, e, o.RetryDelay, o.Jitter); err != nil {
			return err
		}
	}
}

// polled tries every RetryDelay (and up to Jitter) until Wait has passed.
func polled(ctx context.Context, e *env.Env, o Options, try func() (bool, error)) error {
	for end := e.Clock.Now() + o.Wait; ; {
		ok, err := try()
		if ok || err != nil {
			return err
		}
		if e.Clock.Now() >= end {
			return env.ErrBusy
		}
		if err := pause(ctx, e, o.RetryDelay, o.Jitter); err != nil {
			return err
		}
	}
}

// pause waits between two tries. If the worker is told to stop meanwhile,
// the lock was busy and nothing is on its way.
func pause(ctx context.Context, e *env.Env, d, jitter time.Duration) error {
	if jitter > 0 {
		d += time.Duration(e.Rand.Int64N(int64(jitter) + 1))
	}
	if err := e.Clock.Sleep(ctx, d); err != nil {
		return fmt.Errorf("%w: stopped waiting", env.ErrBusy)
	}
	return nil
}
