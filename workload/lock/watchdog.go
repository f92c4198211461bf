package lock

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// Watchdog is a lease lock that a background task renews every third of its
// TTL, for work whose length is not known beforehand (the first article's
// answer to leases that are too short). When a renewal is refused, or no
// renewal has been confirmed for a whole TTL, it gives notice: its worker
// knows that the lock is gone and can stop.
//
// It promises one holder per key for as long as the work takes, and that a
// loss is told. It breaks as long as the notice has not come: a worker that is
// paused is told only when it wakes, and after a failover that lost the key
// the next renewal is up to a third of the TTL away.
//
//	A  acquire ── renew ── paused beyond the TTL ──────── renew: lost
//	B                                    acquire ── believes ──────
type Watchdog struct {
	e *env.Env
	o Options
}

var _ env.Lock = (*Watchdog)(nil)

// NewWatchdog uses TTL, Renew, Retries, RetryDelay and Jitter.
func NewWatchdog(e *env.Env, o Options) env.Lock { return &Watchdog{e, o} }

// Acquire implements env.Lock.
func (l *Watchdog) Acquire(ctx context.Context, key string) (env.Lease, error) {
	w := &watched{plainLease: plainLease{l.e, "lock:" + key, token(l.e)}, lockKey: key, ttl: l.o.TTL}
	var sent time.Duration
	err := counted(ctx, l.e, l.o, func() (bool, error) {
		sent = l.e.Clock.Now()
		return setIfMissing(ctx, l.e.Lock[0], w.key, w.token, l.o.TTL)
	})
	if err != nil {
		return w, err
	}
	w.confirmed = sent
	w.stop = l.e.Clock.Every(ctx, l.o.Renew, w.renew)
	return w, nil
}

// watched is a lease with a renewing task. confirmed belongs to the task.
type watched struct {
	plainLease
	lockKey   string
	ttl       time.Duration
	confirmed time.Duration // when the last renewal that was answered was sent
	stop      func()
	released  atomic.Bool
	loss      notice
}

func (w *watched) renew(ctx context.Context) (again bool) {
	if w.e.Step(ctx, "renewal") != nil || w.released.Load() {
		return false
	}
	sent := w.e.Clock.Now()
	end := w.e.Extending(w.lockKey, w.token)
	err := renewIfMine(ctx, w.e.Lock[0], w.key, w.token, w.ttl)
	end(0, err)
	switch {
	case w.released.Load():
		// It was released while the renewal was on its way: "not the
		// owner" is then no loss.
		return false
	case err == nil:
		w.confirmed = sent
	case errors.Is(err, env.ErrNotOwner), w.e.Clock.Now()-w.confirmed >= w.ttl:
		w.loss.give()
		return false
	}
	return true
}

func (w *watched) Release(ctx context.Context) error {
	w.released.Store(true)
	if w.stop != nil {
		w.stop()
	}
	return w.plainLease.Release(ctx)
}

// OnLost implements env.Notice.
func (w *watched) OnLost(f func()) { w.loss.tell(f) }

// notice tells one listener that a lease was lost, whichever of the two
// comes first.
type notice struct {
	lost, told atomic.Bool
	listener   atomic.Pointer[func()]
}

func (n *notice) give() { n.lost.Store(true); n.pass() }

func (n *notice) tell(f func()) { n.listener.Store(&f); n.pass() }

func (n *notice) pass() {
	if f := n.listener.Load(); f != nil && n.lost.Load() && n.told.CompareAndSwap(false, true) {
		(*f)()
	}
}
