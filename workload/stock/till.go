package stock

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Till is where a worker sells: its world, its lock, and the record of what
// it does. One purchase at a time; only Extending,
// Releasing and Breaking may be called beside it.
type Till struct {
	Env  *env.Env
	Lock env.Lock // nil: the design uses none
	// Initial is the stock of each key at first, which a shop knows.
	Initial int64

	// TTL is the lease that this worker asks for, if workers differ in that.
	TTL time.Duration

	// Begin records the invocation of a step and gives its number; end
	// records how it ended, with the fields of its argument.
	Begin func(invoke histories.Event) (op int64, end func(histories.Event))
	// Note records an event that is no operation.
	Note func(histories.Event)

	// Sell is the number of the sale that is being made, Final whether it is
	// one of the last attempts. The worker sets them.
	Sell  int64
	Final bool

	// grants are the newest leases of this worker, newest last. Only the
	// worker replaces it; renewals in the background read it.
	grants atomic.Pointer[[]grant]
}

// Hold is a lease that its worker uses.
type Hold struct {
	env.Lease
	grant
	lost atomic.Bool
}

// grant is how the history names a lease.
type grant struct {
	key   string
	token string // of the design; empty until it is granted
	mark  string // makes the token unique per acquire
	sell  int64
}

func (g grant) event(f string) histories.Event {
	return histories.Event{F: f, Key: g.key, Parent: g.sell, Token: g.token + g.mark}
}

// remembered is how many grants a till knows by name: a late renewal of a
// lease that was released long ago is recorded without its mark.
const remembered = 32

// Acquire takes the lock on key and records that. If the outcome is unknown
// it releases, so that the history has an answer and the next customer need
// not wait for the TTL.
func (t *Till) Acquire(ctx context.Context, key string) (*Hold, error) {
	op, end := t.Begin(histories.Event{F: histories.Acquire, Key: key, Parent: t.Sell, Final: t.Final, TTL: int64(t.TTL)})
	g := grant{key: key, mark: "#" + strconv.FormatInt(op, 10), sell: t.Sell}
	t.remember(g)
	lease, err := t.Lock.Acquire(ctx, key)
	if lease != nil {
		g.token = lease.Token()
		t.remember(g)
	}
	if err != nil {
		return nil, t.notAcquired(ctx, g, lease, err, end)
	}
	ok := histories.Event{Type: histories.OK, Token: g.token + g.mark}
	if d, has := lease.(env.Deadline); has {
		ok.Until = histories.At(d.Until())
	}
	if f, has := lease.(env.Fence); has {
		ok.Fence = histories.N(f.Fence())
	}
	end(ok)
	h := &Hold{Lease: lease, grant: g}
	if n, has := lease.(env.Notice); has {
		n.OnLost(func() {
			h.lost.Store(true)
			lost := g.event(histories.Lost)
			lost.Type = histories.Info
			t.Note(lost)
		})
	}
	return h, nil
}

func (t *Till) notAcquired(ctx context.Context, g grant, lease env.Lease, err error, end func(histories.Event)) error {
	how := ended(err)
	if how.Type == histories.Info && lease != nil {
		// What is there now, if anything, has this token: a release of it is
		// of no other grant.
		how.Token = g.token + g.mark
	}
	end(how)
	switch {
	case errors.Is(err, env.ErrBusy) && !env.Unknown(err):
		return err
	case env.Unknown(err) && lease != nil:
		t.release(ctx, g, lease)
	}
	return untouched(err)
}

// Release gives the lock back and records that. Sales defer it: however a
// sale ends, its lock is released. What it answers changes nothing any more.
func (t *Till) Release(ctx context.Context, h *Hold) {
	if t.Step(ctx, "before-release") == nil {
		t.release(ctx, h.grant, h.Lease)
	}
}

func (t *Till) release(ctx context.Context, g grant, lease env.Lease) {
	_, end := t.Begin(g.event(histories.Release))
	end(ended(lease.Release(ctx)))
}

// Read reads stock and records that. Nothing has been written yet, so an
// error stops the sale and leaves everything as it was.
func (t *Till) Read(ctx context.Context, key string, f func() (int64, error)) (int64, error) {
	_, end := t.Begin(histories.Event{F: histories.Read, Key: key, Parent: t.Sell})
	n, err := f()
	if err != nil {
		end(histories.Event{Type: histories.Fail, Error: err.Error()})
		return 0, untouched(err)
	}
	end(histories.Event{Type: histories.OK, Value: histories.N(n)})
	return n, nil
}

// Work is the business step between looking and writing.
func (t *Till) Work(ctx context.Context, p Purchase) error {
	return untouched(t.Env.Clock.Sleep(ctx, p.Work))
}

// Write changes stock by f, which answers what is left, and records that.
// The invocation is recorded right before the request is sent. What lies
// between the look at the deadline (check) and the request is the gap that no
// lease closes, and a nemesis may wait in it:
//
//	check: 2 s to go ── before-write: frozen for 3 s ── write sent, 1 s too late
//
// A look that comes too late leaves no write in the history.
func (t *Till) Write(ctx context.Context, e histories.Event, check func() error, f func() (left histories.Num, err error)) (histories.Num, error) {
	if check != nil {
		if err := check(); err != nil {
			return histories.Num{}, untouched(err)
		}
	}
	if err := t.Step(ctx, "before-write"); err != nil {
		return histories.Num{}, untouched(err)
	}
	end := t.Writing(e)
	left, err := f()
	end(left, err)
	return left, err
}

// Writing records the invocation of a write; end records how it ended. It is
// for writes that take effect later than they are made: at a commit.
func (t *Till) Writing(e histories.Event) (end func(left histories.Num, err error)) {
	e.F, e.Parent = histories.Write, t.Sell
	_, done := t.Begin(e)
	return func(left histories.Num, err error) {
		how := ended(err)
		how.Left = left
		done(how)
	}
}

// Extend renews a lease in the foreground.
func (t *Till) Extend(ctx context.Context, h *Hold) error {
	x, can := h.Lease.(env.Extender)
	if !can {
		return untouched(errors.New("this lock cannot be renewed"))
	}
	return untouched(x.Extend(ctx))
}

// Step lets a nemesis in.
func (t *Till) Step(ctx context.Context, name string) error { return t.Env.Step(ctx, name) }

// Held is a check for Write: ErrLeaseOver if the lease has told its worker,
// by its deadline or by a notice, that it has ended.
func (t *Till) Held(h *Hold) func() error {
	return func() error {
		d, has := h.Lease.(env.Deadline)
		if h.lost.Load() || has && d.Until() <= t.Env.Clock.Now() {
			return ErrLeaseOver
		}
		return nil
	}
}

// Fence is the number of the grant, if it has one.
func (h *Hold) Fence() histories.Num {
	if f, has := h.Lease.(env.Fence); has {
		return histories.N(f.Fence())
	}
	return histories.Num{}
}

// Extending is Env.Extending: it records the renewal of a lease of this till.
func (t *Till) Extending(key, token string) func(until time.Duration, err error) {
	extend := t.granted(key, token).event(histories.Extend)
	extend.TTL = int64(t.TTL)
	_, end := t.Begin(extend)
	return func(until time.Duration, err error) {
		done := ended(err)
		if err == nil && until > 0 {
			done.Until = histories.At(until)
		}
		end(done)
	}
}

// Releasing is Env.Releasing: it records later releases of a lease of this
// till, which belong to no sale any more.
func (t *Till) Releasing(key, token string) func() func(error) {
	g := t.granted(key, token)
	g.sell = 0
	return func() func(error) {
		_, end := t.Begin(g.event(histories.Release))
		return func(err error) { end(ended(err)) }
	}
}

// Breaking is Env.Breaking: it records the deletion of anybody's lock.
func (t *Till) Breaking(key, token string) func(error) {
	_, end := t.Begin(histories.Event{F: histories.Break, Key: key, Token: token})
	return func(err error) { end(ended(err)) }
}

// remember adds g, or puts it in the place of the same grant.
func (t *Till) remember(g grant) {
	var all []grant
	if p := t.grants.Load(); p != nil {
		all = slices.DeleteFunc(slices.Clone(*p), func(o grant) bool { return o.mark == g.mark })
	}
	all = append(all, g)
	all = all[max(0, len(all)-remembered):]
	t.grants.Store(&all)
}

// granted is the newest lease on key that has this token, or is about to.
func (t *Till) granted(key, token string) grant {
	if p := t.grants.Load(); p != nil {
		for _, g := range slices.Backward(*p) {
			if g.key == key && (g.token == token || g.token == "") {
				g.token = token
				return g
			}
		}
	}
	return grant{key: key, token: token}
}

// ended is the completion of a step that answered err.
func ended(err error) histories.Event {
	switch {
	case err == nil:
		return histories.Event{Type: histories.OK}
	case Unknown(err):
		return histories.Event{Type: histories.Info, Error: err.Error()}
	case errors.Is(err, env.ErrNotOwner):
		return histories.Event{Type: histories.Fail, Error: histories.NotOwner}
	case errors.Is(err, env.ErrBusy):
		return histories.Event{Type: histories.Fail, Error: histories.Busy}
	case errors.Is(err, ErrSoldOut):
		return histories.Event{Type: histories.Fail, Error: histories.SoldOut}
	}
	return histories.Event{Type: histories.Fail, Error: err.Error()}
}
