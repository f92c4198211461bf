package lock

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// Presence is a known-bad lock: the worker that listens on a channel has it. A
// contender publishes and counts who heard it; if nobody did, it listens
// itself, and counts again. The lock is free as soon as the connection of its
// holder is gone, which is its charm. Reported for Python's portalocker.
//
//	A  listens ── connection lost ───────── listens again, tells nobody
//	B                              counts 0, listens: granted
//
// It breaks whenever the holder's connection does, be it by a server that
// dies, a cut or an idle time-out: the client library connects again by
// itself, and both listen. Where a server is replaced, nobody listens at the
// new one.
type Presence struct {
	e *env.Env
}

var _ env.Lock = (*Presence)(nil)

// NewPresence uses no options: it tries once.
func NewPresence(e *env.Env, _ Options) env.Lock { return &Presence{e} }

// Acquire implements env.Lock.
func (l *Presence) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := &listening{e: l.e, channel: "lock:" + key, name: "holder:" + key, token: token(l.e)}
	if n, err := s.listeners(ctx); err != nil || n > 0 {
		return nil, refused(err)
	}
	if err := s.listen(ctx); err != nil {
		return nil, refused(err)
	}
	switch n, err := s.listeners(ctx); {
	case err != nil, n > 1: // two that come at the same time both go
		s.line.Load().hangUp()
		return nil, refused(err)
	}
	_, _ = l.e.Lock[0].Do(ctx, "SET", s.name, s.token)
	s.leave = l.e.Clock.Every(ctx, reconnect, s.keep)
	return s, nil
}

// refused is what a try ends with that asked a server and left nothing behind.
func refused(err error) error {
	if err == nil {
		return env.ErrBusy
	}
	return fmt.Errorf("%w: %v", env.ErrBusy, err)
}

// listening is a subscription, renewed when it breaks.
type listening struct {
	e              *env.Env
	channel, token string
	name           string // of the key that says who holds, for people to look at
	line           atomic.Pointer[line]
	leave          func()
	released       atomic.Bool
}

// line is one connection that listens.
type line struct {
	next   func(ctx context.Context, limit time.Duration) (string, bool, error)
	hangUp func()
}

// broken is what is heard where no connection could be opened.
var broken = &line{
	next:   func(context.Context, time.Duration) (string, bool, error) { return "", false, env.ErrRefused },
	hangUp: func() {},
}

// reconnect is how soon the client library notices that its connection is
// gone, and opens another.
const reconnect = 200 * time.Millisecond

// listeners is how many hear what is said on the channel.
func (s *listening) listeners(ctx context.Context) (int64, error) {
	reply, err := s.e.Lock[0].Do(ctx, "PUBLISH", s.channel, s.token)
	n, _ := reply.(int64)
	return n, err
}

func (s *listening) listen(ctx context.Context) error {
	next, stop, err := s.e.Lock[0].Subscribe(ctx, s.channel)
	if err != nil {
		s.line.Store(broken)
		return err
	}
	s.line.Store(&line{next, stop})
	if s.released.Load() { // meanwhile
		stop()
	}
	return nil
}

// keep listens, and opens another connection when there is none any more.
func (s *listening) keep(ctx context.Context) (again bool) {
	for !s.released.Load() {
		_, heard, err := s.line.Load().next(ctx, time.Millisecond)
		if err != nil && !s.released.Load() {
			s.line.Load().hangUp()
			_ = s.listen(ctx) // the next round tries again
		}
		if !heard {
			break
		}
	}
	return !s.released.Load()
}

func (s *listening) Token() string { return s.token }

func (s *listening) Release(ctx context.Context) error {
	s.released.Store(true)
	s.leave()
	s.line.Load().hangUp()
	_, _ = s.e.Lock[0].Do(ctx, "DEL", s.name) // the lock is free already
	return nil
}
