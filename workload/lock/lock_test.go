package lock

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/workload/env"
)

// stubClock moves when somebody sleeps.
type stubClock struct {
	env.Clock
	now    time.Duration
	sleeps []time.Duration
}

func (c *stubClock) Now() time.Duration { return c.now }

func (c *stubClock) Sleep(ctx context.Context, d time.Duration) error {
	c.now += d
	c.sleeps = append(c.sleeps, d)
	return ctx.Err()
}

// stubRedis answers what it is told to: SET from set, scripts from eval.
type stubRedis struct {
	env.Redis
	set, eval answer
}

type answer struct {
	reply any
	err   error
}

func (r *stubRedis) Do(context.Context, ...any) (any, error) { return r.set.reply, r.set.err }

func (r *stubRedis) Eval(context.Context, *env.Script, []string, ...any) (any, error) {
	return r.eval.reply, r.eval.err
}

func newEnv(redis ...*stubRedis) (*env.Env, *stubClock) {
	clock := &stubClock{}
	e := &env.Env{Clock: clock, Rand: rand.New(rand.NewPCG(1, 2))}
	for _, r := range redis {
		e.Lock = append(e.Lock, r)
	}
	return e, clock
}

func busy() (bool, error) { return false, nil }

func TestCountedTriesOnceAndRetriesTimesMore(t *testing.T) {
	e, clock := newEnv()
	err := counted(t.Context(), e, Options{Retries: 3, RetryDelay: 50 * time.Millisecond, Jitter: 50 * time.Millisecond}, busy)
	if err != env.ErrBusy || len(clock.sleeps) != 3 {
		t.Fatalf("error %v after %d pauses, want %v after 3", err, len(clock.sleeps), env.ErrBusy)
	}
	for _, d := range clock.sleeps {
		if d < 50*time.Millisecond || d > 100*time.Millisecond {
			t.Errorf("paused %v, want 50 to 100 ms", d)
		}
	}
}

func TestPolledGivesUpWhenItsTimeIsOver(t *testing.T) {
	e, clock := newEnv()
	err := polled(t.Context(), e, Options{RetryDelay: 5 * time.Millisecond, Wait: 100 * time.Millisecond}, busy)
	if err != env.ErrBusy || clock.now != 100*time.Millisecond {
		t.Errorf("error %v after %v, want %v after 100ms", err, clock.now, env.ErrBusy)
	}
}

func TestAnErrorEndsTheTries(t *testing.T) {
	e, clock := newEnv()
	try := func() (bool, error) { return false, env.ErrTimeout }
	for name, err := range map[string]error{
		"counted": counted(t.Context(), e, Options{Retries: 3}, try),
		"polled":  polled(t.Context(), e, Options{Wait: time.Second}, try),
	} {
		if err != env.ErrTimeout || len(clock.sleeps) > 0 {
			t.Errorf("%s: %v after %d pauses, want the time-out at once", name, err, len(clock.sleeps))
		}
	}
}

func TestWhoIsToldToStopWaitingWasRefused(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e, _ := newEnv()
	err := counted(ctx, e, Options{Retries: 3}, busy)
	if !errors.Is(err, env.ErrBusy) || env.Unknown(err) {
		t.Errorf("%v: nothing is on its way, so the lock was busy", err)
	}
}

func TestBackOffDoublesUpToItsBound(t *testing.T) {
	e, clock := newEnv(&stubRedis{})
	l := NewStockLockBackoff(e, Options{TTL: time.Second, RetryDelay: 100 * time.Millisecond, Wait: 500 * time.Millisecond})
	if _, err := l.Acquire(t.Context(), "k"); err != env.ErrBusy {
		t.Fatal(err)
	}
	want := []time.Duration{50, 100, 100, 100, 100, 100}
	for i := range want {
		want[i] *= time.Millisecond
	}
	if diff := cmp.Diff(want, clock.sleeps); diff != "" {
		t.Errorf("without jitter half of each delay is left:\n%s", diff)
	}
}

func TestScriptsThatMayHaveWrittenAreInDoubt(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"no answer", env.ErrTimeout, true},
		{"out of memory in the middle", env.ServerError("OOM command not allowed"), true},
		{"a replica refuses the first write", env.ServerError("READONLY You can't write"), false},
		{"another script runs", env.ServerError("BUSY Redis is busy"), false},
		{"nothing was sent", env.ErrRefused, false},
	} {
		_, err := eval(t.Context(), &stubRedis{eval: answer{nil, c.err}}, releaseScript, []string{"k"}, "v")
		if got := env.Unknown(err); got != c.want {
			t.Errorf("%s: unknown is %v, want %v", c.name, got, c.want)
		}
	}
}

var (
	yes     = &stubRedis{set: answer{"OK", nil}, eval: answer{int64(1), nil}}
	no      = &stubRedis{set: answer{nil, nil}, eval: answer{int64(0), nil}}
	away    = &stubRedis{set: answer{nil, env.ErrRefused}, eval: answer{nil, env.ErrRefused}}
	silent  = &stubRedis{set: answer{nil, env.ErrTimeout}, eval: answer{nil, env.ErrTimeout}}
	sticky  = &stubRedis{set: answer{"OK", nil}, eval: answer{nil, env.ErrTimeout}}
	forgets = &stubRedis{set: answer{"OK", nil}, eval: answer{int64(0), nil}}
)

func TestRedlockNeedsAMajority(t *testing.T) {
	for _, c := range []struct {
		name    string
		servers []*stubRedis
		want    error
	}{
		{"all five", []*stubRedis{yes, yes, yes, yes, yes}, nil},
		{"three of five, the others away", []*stubRedis{yes, away, yes, silent, yes}, nil},
		{"two of five, all told to forget it", []*stubRedis{yes, yes, no, no, no}, env.ErrBusy},
		{"none of five, two away", []*stubRedis{no, no, no, away, away}, env.ErrBusy},
		{"two of five, one may come late", []*stubRedis{yes, yes, no, no, silent}, env.ErrDoubt},
		{"two of five, one will not forget it", []*stubRedis{yes, sticky, no, no, no}, env.ErrDoubt},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, _ := newEnv(c.servers...)
			lease, err := NewRedlock(e, Options{TTL: time.Second, Drift: 0.01}).Acquire(t.Context(), "k")
			if !errors.Is(err, c.want) || c.want == env.ErrBusy && env.Unknown(err) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if until := lease.(env.Deadline).Until(); until != 990*time.Millisecond {
				t.Errorf("deadline %v, want the ttl less 1 %%", until)
			}
		})
	}
}

func TestARedlockIsReleasedIfAMajorityHadIt(t *testing.T) {
	for _, c := range []struct {
		name    string
		servers []*stubRedis
		want    error
	}{
		{"all had it", []*stubRedis{yes, yes, yes}, nil},
		{"one away", []*stubRedis{yes, away, yes}, nil},
		{"a minority had it", []*stubRedis{yes, forgets, forgets}, env.ErrNotOwner},
		{"nobody knows", []*stubRedis{yes, forgets, silent}, env.ErrDoubt},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, _ := newEnv(c.servers...)
			s := &quorumLease{e: e, key: "lock:k", token: "t"}
			if err := s.Release(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestTokensDiffer(t *testing.T) {
	e, _ := newEnv()
	a, b := token(e), token(e)
	if a == b || len(a) != 32 {
		t.Errorf("%q and %q", a, b)
	}
}

func TestANoticeIsGivenOnceWhicheverComesFirst(t *testing.T) {
	for name, play := range map[string]func(*notice, func()){
		"told, then lost": func(n *notice, f func()) { n.tell(f); n.give(); n.give() },
		"lost, then told": func(n *notice, f func()) { n.give(); n.tell(f); n.give() },
	} {
		var n notice
		told := 0
		play(&n, func() { told++ })
		if told != 1 {
			t.Errorf("%s: told %d times", name, told)
		}
	}
}
