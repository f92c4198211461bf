//go:build unix

package process

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

func TestQueueInAProcessIsFirstComeFirstServed(t *testing.T) {
	m := newMemory()
	leave, ok, err := m.Enter(t.Context(), "q", time.Second)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, ok, _ := m.Enter(t.Context(), "q", 10*time.Millisecond); ok {
		t.Fatal("two are in")
	}
	if _, ok, _ := m.Enter(t.Context(), "other", time.Second); !ok {
		t.Error("another queue is closed too")
	}
	order := make(chan int, 3)
	for i := range 3 {
		go func() {
			leave, _, _ := m.Enter(context.Background(), "q", 5*time.Second)
			order <- i
			leave()
		}()
		err := wait.Until(t.Context(), 5*time.Second, func(context.Context) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			if len(m.queues["q"]) != i+2 {
				return context.Canceled
			}
			return nil
		})
		if err != nil {
			t.Fatal("not in the queue:", i)
		}
	}
	leave()
	leave() // twice is once
	for want := range 3 {
		if got := <-order; got != want {
			t.Errorf("%d came in when it was the turn of %d", got, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if leave, _, err := m.Enter(ctx, "q", time.Second); err == nil {
		leave() // it was free: both answers are right
	}
	if m.Add("n", 2) != 2 || m.Add("n", -3) != -1 || m.Add("o", 1) != 1 {
		t.Error("numbers do not add up")
	}
}

func testClock(ctx context.Context) *Clock {
	return &Clock{start: monotonicNow(), ctx: ctx, shift: &atomic.Pointer[ClockShift]{}, held: &gate{}}
}

func TestPeriodicTasksEndInEveryWay(t *testing.T) {
	ends := map[string]func(c *Clock, f func(context.Context) bool, cancel context.CancelFunc) (stop func()){
		"stopped": func(c *Clock, f func(context.Context) bool, _ context.CancelFunc) func() {
			return c.Every(context.Background(), time.Millisecond, f)
		},
		"the worker ends": func(c *Clock, f func(context.Context) bool, cancel context.CancelFunc) func() {
			c.Every(context.Background(), time.Millisecond, f)
			return cancel
		},
	}
	for name, start := range ends {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			calls := make(chan context.Context, 100)
			stop := start(testClock(ctx), func(ctx context.Context) bool { calls <- ctx; return true }, cancel)
			last := <-calls
			stop()
			select {
			case <-last.Done():
			case <-time.After(5 * time.Second):
				t.Error("the task was not told")
			}
		})
	}
	t.Run("it says so itself", func(t *testing.T) {
		calls := make(chan context.Context, 100)
		defer testClock(t.Context()).Every(t.Context(), time.Millisecond, func(ctx context.Context) bool { calls <- ctx; return false })()
		<-(<-calls).Done()
		if len(calls) > 0 {
			t.Error("it was called again")
		}
	})
}

func TestWallClockJumpsAndDriftsMonotonicDoesNot(t *testing.T) {
	c := testClock(t.Context())
	c.shift.Store(&ClockShift{Offset: time.Hour, Drift: 0.5, Since: c.Now() - time.Minute})
	if off := time.Until(c.Wall()) - time.Hour - 30*time.Second; off.Abs() > time.Second {
		t.Errorf("wall clock is %s from an hour and half a minute ahead", off)
	}
	if c.Now() > time.Minute {
		t.Errorf("monotonic clock jumped to %s", c.Now())
	}
}

func TestKeyOfACommand(t *testing.T) {
	for command, want := range map[string]string{
		"SET k v": "k", "get k": "k", "EVALSHA sha 1 k a": "k", "eval src 1 k": "k", "WAIT 1 100": "", "GET": "",
	} {
		var args []any
		for _, a := range strings.Fields(command) {
			args = append(args, a)
		}
		if got, ok := keyOf(args); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", command, got, ok)
		}
	}
}

func TestOrphanedWorkerEndsByItself(t *testing.T) {
	in, parent := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Main(context.Background(), in, io.Discard, func(context.Context, []byte, *env.Env, env.Wire) error {
			select {} // takes no notice of anything
		})
	}()
	if _, err := io.WriteString(parent, `{"workers":[0],"spec":{},"servers":{}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	_ = parent.Close()
	select {
	case err := <-done:
		if err == nil {
			t.Error("an orphan ends without an error")
		}
	case <-time.After(10 * time.Second):
		t.Error("the orphan lives on")
	}
}

func TestWorkerThatIsNotSpokenToSaysWhatItIs(t *testing.T) {
	err := Main(t.Context(), strings.NewReader(""), io.Discard, nil)
	if err == nil || !strings.Contains(err.Error(), "for lockcheck itself") {
		t.Error(err)
	}
}
