package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// ledger records what a till does.
type ledger struct {
	events []histories.Event
	next   int64
}

func (l *ledger) begin(e histories.Event) (int64, func(histories.Event)) {
	l.next++
	e.Op, e.Type = l.next, histories.Invoke
	l.events = append(l.events, e)
	return e.Op, func(done histories.Event) {
		done.Op, done.F = e.Op, e.F
		l.events = append(l.events, done)
	}
}

func (l *ledger) note(e histories.Event) { l.events = append(l.events, e) }

// lines are the events in short: "acquire info timeout".
func (l *ledger) lines() (lines []string) {
	for _, e := range l.events {
		line := e.F + " " + string(e.Type)
		if e.Token != "" {
			line += " " + e.Token
		}
		if e.Error != "" {
			line += ": " + e.Error
		}
		lines = append(lines, line)
	}
	return lines
}

// stubClock stands still.
type stubClock struct{ env.Clock }

func (stubClock) Now() time.Duration { return time.Second }

// stubLock answers what it is told to.
type stubLock struct {
	lease env.Lease
	err   error
}

func (l stubLock) Acquire(context.Context, string) (env.Lease, error) { return l.lease, l.err }

// stubLease shows a deadline and can be lost.
type stubLease struct {
	until   time.Duration
	release error
	lost    func()
}

func (*stubLease) Token() string                   { return "t" }
func (s *stubLease) Release(context.Context) error { return s.release }
func (s *stubLease) Until() time.Duration          { return s.until }
func (s *stubLease) OnLost(f func())               { s.lost = f }

func newTill(l env.Lock) (*Till, *ledger) {
	book := &ledger{}
	e := &env.Env{Clock: stubClock{}, Step: func(context.Context, string) error { return nil }}
	return &Till{Env: e, Lock: l, Begin: book.begin, Note: book.note, Sell: 7}, book
}

func TestAcquireRecordsHowItEnded(t *testing.T) {
	lease := &stubLease{until: 5 * time.Second}
	for _, c := range []struct {
		name string
		lock stubLock
		want []string
		busy bool
	}{
		{"granted", stubLock{lease, nil}, []string{"acquire invoke", "acquire ok t#1"}, false},
		{"busy", stubLock{lease, fmt.Errorf("%w: four times", env.ErrBusy)}, []string{"acquire invoke", "acquire fail: busy"}, true},
		{"refused", stubLock{lease, env.ErrRefused}, []string{"acquire invoke", "acquire fail: connection refused"}, false},
		{
			"unknown: what may be there is released", stubLock{lease, env.ErrTimeout},
			[]string{"acquire invoke", "acquire info t#1: timeout", "release invoke t#1", "release ok"}, false,
		},
		{"unknown, and nothing to release with", stubLock{nil, env.ErrTimeout}, []string{"acquire invoke", "acquire info: timeout"}, false},
		{
			"busy in doubt is unknown", stubLock{lease, fmt.Errorf("%w: %w", env.ErrDoubt, env.ErrBusy)},
			[]string{"acquire invoke", "acquire info t#1: in doubt: busy", "release invoke t#1", "release ok"}, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			till, book := newTill(c.lock)
			_, err := till.Acquire(t.Context(), "stock:sku-1")
			if diff := cmp.Diff(c.want, book.lines()); diff != "" {
				t.Error(diff)
			}
			if err != nil && Unknown(err) {
				t.Errorf("%v: no unit has been touched, so the sale has failed for sure", err)
			}
			if got := err == env.ErrBusy || errors.Is(err, env.ErrBusy) && !errors.Is(err, ErrUntouched); got != c.busy {
				t.Errorf("%v counts as busy: %v, want %v", err, got, c.busy)
			}
		})
	}
}

func TestReleaseSaysWhoseTheLockWas(t *testing.T) {
	for err, want := range map[error]string{
		nil:                                      "release ok",
		env.ErrTimeout:                           "release info: timeout",
		fmt.Errorf("sku-1: %w", env.ErrNotOwner): "release fail: not the owner",
	} {
		till, book := newTill(stubLock{&stubLease{until: time.Minute, release: err}, nil})
		h, _ := till.Acquire(t.Context(), "stock:sku-1")
		till.Release(t.Context(), h)
		if got := book.lines(); got[len(got)-1] != want {
			t.Errorf("%v is recorded as %q, want %q", err, got[len(got)-1], want)
		}
	}
}

func TestHeldLooksAtTheDeadlineAndTheNotice(t *testing.T) {
	for _, c := range []struct {
		name  string
		until time.Duration
		lose  bool
		want  error
	}{
		{"time left", 2 * time.Second, false, nil},
		{"the deadline is now", time.Second, false, ErrLeaseOver},
		{"time left, but lost", 2 * time.Second, true, ErrLeaseOver},
	} {
		t.Run(c.name, func(t *testing.T) {
			lease := &stubLease{until: c.until}
			till, book := newTill(stubLock{lease, nil})
			h, _ := till.Acquire(t.Context(), "stock:sku-1")
			if c.lose {
				lease.lost()
				if last := book.events[len(book.events)-1]; last.F != histories.Lost || last.Token != "t#1" || last.Parent != 7 {
					t.Errorf("the notice is recorded as %+v", last)
				}
			}
			wrote := false
			_, err := till.Write(t.Context(), histories.Event{Key: "sku-1#0"}, till.Held(h), func() (histories.Num, error) {
				wrote = true
				return histories.N(1), nil
			})
			if !errors.Is(err, c.want) || wrote != (c.want == nil) {
				t.Errorf("error %v, wrote %v; want %v", err, wrote, c.want)
			}
			recorded := slices.ContainsFunc(book.events, func(e histories.Event) bool { return e.F == histories.Write })
			if recorded != wrote {
				t.Errorf("a write is recorded: %v; one was sent: %v", recorded, wrote)
			}
		})
	}
}

func TestRenewalsAreOfTheLeaseWithTheirToken(t *testing.T) {
	till, book := newTill(stubLock{&stubLease{until: time.Minute}, nil})
	for range 3 {
		h, _ := till.Acquire(t.Context(), "stock:sku-1")
		till.Release(t.Context(), h)
	}
	till.Extending("stock:sku-1", "t")(9*time.Second, nil)
	till.Extending("stock:sku-1", "other")(0, env.ErrNotOwner)
	got := book.lines()
	want := []string{"extend invoke t#5", "extend ok", "extend invoke other", "extend fail: not the owner"}
	if diff := cmp.Diff(want, got[len(got)-4:]); diff != "" {
		t.Error(diff)
	}
	if e := book.events[len(book.events)-3]; e.Until != histories.At(9*time.Second) {
		t.Errorf("the renewal's deadline is %v", e.Until)
	}
}

func TestReleasesInTheBackgroundAreOfTheLeaseThatWasTheNewest(t *testing.T) {
	till, book := newTill(stubLock{&stubLease{until: time.Minute}, nil})
	h, _ := till.Acquire(t.Context(), "stock:sku-1")
	again := till.Releasing("stock:sku-1", "t")
	till.Release(t.Context(), h)
	_, _ = till.Acquire(t.Context(), "stock:sku-1")
	again()(env.ErrTimeout)
	again()(env.ErrNotOwner)
	got := book.lines()
	want := []string{"release invoke t#1", "release info: timeout", "release invoke t#1", "release fail: not the owner"}
	if diff := cmp.Diff(want, got[len(got)-4:]); diff != "" {
		t.Error(diff)
	}
	if e := book.events[len(book.events)-4]; e.Parent != 0 || e.Key != "stock:sku-1" {
		t.Errorf("recorded as %+v: want no sale, and the key", e)
	}
}

func TestADeletionByAJanitorIsOfNobodysLease(t *testing.T) {
	till, book := newTill(stubLock{&stubLease{}, nil})
	_, _ = till.Acquire(t.Context(), "stock:sku-1")
	till.Breaking("stock:sku-1", "t")(nil)
	till.Breaking("stock:sku-1", "")(env.ErrNotOwner)
	got := book.lines()
	want := []string{"break invoke t", "break ok", "break invoke", "break fail: not the owner"}
	if diff := cmp.Diff(want, got[len(got)-4:]); diff != "" {
		t.Error(diff)
	}
	if e := book.events[len(book.events)-4]; e.Parent != 0 || e.Key != "stock:sku-1" {
		t.Errorf("recorded as %+v: want no sale, and the key", e)
	}
}

func TestUnknownListensToTheOutermostWord(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"sold", nil, false},
		{"sold out", ErrSoldOut, false},
		{"fenced off, with a reason", fmt.Errorf("%w: 7", ErrFenced), false},
		{"a time-out of a write", env.ErrTimeout, true},
		{"a time-out before any write", untouched(env.ErrTimeout), false},
		{"in doubt before any write", untouched(doubt(env.ErrTimeout)), false},
		{"a later step that did nothing", doubt(untouched(env.ErrRefused)), true},
		{"a later step that was refused", doubt(env.ErrRefused), true},
		{"something else", errors.New("?"), true},
	} {
		if got := Unknown(c.err); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestOrdersStayInTheSlotOfTheirStock(t *testing.T) {
	// Redis Cluster hashes what is between the braces, or else the whole key.
	if got, want := Orders("sku-1#0"), "orders:{sku-1#0}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
