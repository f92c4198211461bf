package own

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// Lock is the lock of the program of one worker.
type Lock struct {
	e     *env.Env
	child protocol.Child

	mu     sync.Mutex // notes may come while the worker does something else
	leases []*lease   // the newest ones, newest last
}

var (
	_ env.Lock   = (*Lock)(nil)
	_ lock.Maker = NewLock
)

// NewLock heeds no options: the program was told them.
func NewLock(e *env.Env, _ lock.Options) env.Lock {
	l := &Lock{e: e, child: e.Own}
	e.Own.Listen(l.hear)
	return l
}

// Acquire implements env.Lock.
func (l *Lock) Acquire(ctx context.Context, key string) (env.Lease, error) {
	a := l.child.Ask(ctx, protocol.Request{Do: protocol.Acquire, Key: key})
	h := &lease{lock: l, key: key, token: a.Token, fence: a.Fence.N, until: a.Until}
	switch a.Outcome {
	case protocol.OK:
		l.remember(h)
		return h.as(l.child.Ready()), nil
	case protocol.Unknown:
		return h, failure(a)
	}
	return nil, failure(a)
}

// failure is the error of an answer that is not ok.
func failure(a protocol.Answer) error {
	switch a.Outcome {
	case protocol.OK:
		return nil
	case protocol.Busy:
		return env.ErrBusy
	case protocol.Gone:
		return env.ErrNotOwner
	case protocol.Refused:
		return refusal(a.Why)
	}
	return fmt.Errorf("%w: %s", env.ErrDoubt, a.Why)
}

// refusal is what had certainly no effect, for a reason of the program's own.
type refusal string

func (r refusal) Error() string { return "refused: " + string(r) }

// Is says that a refusal is of the kind of env.ErrRefused.
func (r refusal) Is(err error) bool { return err == env.ErrRefused }

// remembered is how many leases a note may be about.
const remembered = 8

func (l *Lock) remember(h *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leases = append(l.leases[max(0, len(l.leases)-remembered+1):], h)
}

// hear takes what the program tells of its leases unasked. A note without a
// token is about the newest lease of its key.
func (l *Lock) hear(n protocol.Note) {
	if n.Note != protocol.NoteLost && n.Note != protocol.NoteRenewed {
		return
	}
	l.mu.Lock()
	var h *lease
	for _, one := range slices.Backward(l.leases) {
		if one.key == n.Key && (n.Token == "" || n.Token == one.token) {
			h = one
			break
		}
	}
	l.mu.Unlock()
	switch {
	case h == nil:
	case n.Note == protocol.NoteLost:
		h.lose()
	default:
		h.move(n.Until)
		l.e.Extending(h.key, h.token)(h.shown(), nil)
	}
}

// lease is one grant.
type lease struct {
	lock  *Lock
	key   string
	token string
	fence int64

	mu    sync.Mutex
	until time.Duration // 0: none is shown
	lost  bool
	tell  func()
}

// Token implements env.Lease.
func (h *lease) Token() string { return h.token }

// Release implements env.Lease.
func (h *lease) Release(ctx context.Context) error {
	return failure(h.lock.child.Ask(ctx, protocol.Request{Do: protocol.Release, Key: h.key, Token: h.token}))
}

func (h *lease) extend(ctx context.Context) error {
	end := h.lock.e.Extending(h.key, h.token)
	a := h.lock.child.Ask(ctx, protocol.Request{Do: protocol.Extend, Key: h.key, Token: h.token})
	if a.Outcome == protocol.OK {
		h.move(a.Until)
	}
	err := failure(a)
	end(h.shown(), err)
	return err
}

// move has a renewal move the end that is shown. Never back: a renewal whose
// time is known from below only does not shorten what was granted.
func (h *lease) move(until time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = max(h.until, until)
}

func (h *lease) shown() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until
}

// lose tells the worker, once, that the lease is gone.
func (h *lease) lose() { h.notify(func() { h.lost = true }) }

func (h *lease) onLost(f func()) { h.notify(func() { h.tell = f }) }

func (h *lease) notify(change func()) {
	h.mu.Lock()
	change()
	tell := h.tell
	if !h.lost {
		tell = nil
	}
	if tell != nil {
		h.tell = nil
	}
	h.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// What a lease can do besides being released, one type each.
type (
	extender struct{ h *lease }
	deadline struct{ h *lease }
	notice   struct{ h *lease }
	fence    struct{ h *lease }
)

func (x extender) Extend(ctx context.Context) error { return x.h.extend(ctx) }
func (d deadline) Until() time.Duration             { return d.h.shown() }
func (n notice) OnLost(f func())                    { n.h.onLost(f) }
func (f fence) Fence() int64                        { return f.h.fence }

// as is the lease with the methods for what the program can do, and no others:
// the worker asks by the methods what it can expect.
func (h *lease) as(r protocol.Ready) env.Lease {
	x, d, n, f := extender{h}, deadline{h}, notice{h}, fence{h}
	what := 0
	for bit, can := range []string{protocol.CanExtend, protocol.CanDeadline, protocol.CanLost, protocol.CanFence} {
		if r.Has(can) {
			what |= 1 << bit
		}
	}
	switch what {
	case 1:
		return struct {
			*lease
			extender
		}{h, x}
	case 2:
		return struct {
			*lease
			deadline
		}{h, d}
	case 3:
		return struct {
			*lease
			extender
			deadline
		}{h, x, d}
	case 4:
		return struct {
			*lease
			notice
		}{h, n}
	case 5:
		return struct {
			*lease
			extender
			notice
		}{h, x, n}
	case 6:
		return struct {
			*lease
			deadline
			notice
		}{h, d, n}
	case 7:
		return struct {
			*lease
			extender
			deadline
			notice
		}{h, x, d, n}
	case 8:
		return struct {
			*lease
			fence
		}{h, f}
	case 9:
		return struct {
			*lease
			extender
			fence
		}{h, x, f}
	case 10:
		return struct {
			*lease
			deadline
			fence
		}{h, d, f}
	case 11:
		return struct {
			*lease
			extender
			deadline
			fence
		}{h, x, d, f}
	case 12:
		return struct {
			*lease
			notice
			fence
		}{h, n, f}
	case 13:
		return struct {
			*lease
			extender
			notice
			fence
		}{h, x, n, f}
	case 14:
		return struct {
			*lease
			deadline
			notice
			fence
		}{h, d, n, f}
	case 15:
		return struct {
			*lease
			extender
			deadline
			notice
			fence
		}{h, x, d, n, f}
	}
	return h
}
