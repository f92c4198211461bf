//go:build unix

package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/clustertest"
	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// shared is the Provider of all tests: containers are started once.
var (
	shared    *Provider
	sharedErr error
)

// TestMain is the worker process, too: StartWorkers starts this executable
// with the argument that lockcheck gets.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := process.Main(context.Background(), os.Stdin, os.Stdout, testWorker); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	shared, sharedErr = newShared()
	code := m.Run()
	if shared != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := shared.Close(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "closing the provider:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// newShared makes the Provider, and the image beforehand: that is the one step
// that takes minutes, once on a machine.
func newShared() (*Provider, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	p, err := New(ctx, Config{Log: testLog()})
	if err == nil {
		_, err = p.image(ctx, redisKind)
	}
	return p, err
}

func testLog() *slog.Logger {
	if os.Getenv("LOCKCHECK_TEST_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// needEngine skips where there is no engine. Where DOCKER_HOST names one, that
// one is meant to be tested and no other: without it the test fails.
func needEngine(t *testing.T) *Provider {
	t.Helper()
	if sharedErr != nil {
		if host := os.Getenv("DOCKER_HOST"); host != "" {
			t.Fatalf("DOCKER_HOST=%s: %v", host, sharedErr)
		}
		t.Skip("needs a container engine: ", sharedErr)
	}
	return shared
}

// testSpec says what testWorker does.
type testSpec struct {
	Keys int           // lock keys to choose from; 0: what clustertest wants
	TTL  time.Duration // of a lock
	Hold time.Duration
	SQL  bool // buy by SQL instead
}

// testWorker takes a lock, holds it, gives it back, and says so.
func testWorker(ctx context.Context, spec []byte, e *env.Env, w env.Wire) error {
	var s testSpec
	if err := json.Unmarshal(spec, &s); err != nil {
		return err
	}
	if s.Keys == 0 {
		return clustertest.Worker(ctx, spec, e, w)
	}
	stop := e.Clock.Every(ctx, 20*time.Millisecond, func(context.Context) bool {
		w.Emit(histories.Event{Process: histories.Process(e.Worker), Type: histories.Info, F: "tick", Value: histories.N(e.Clock.Wall().UnixNano())})
		return true
	})
	defer stop()
	for i := 0; w.Phase() < env.Done; i++ {
		if w.Phase() == env.Running {
			lockOnce(ctx, s, e, w, int64(e.Life*1_000_000+i*100+e.Worker+1))
		}
		if err := e.Clock.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func lockOnce(ctx context.Context, s testSpec, e *env.Env, w env.Wire, op int64) {
	event := func(typ histories.Type, f string, err error) histories.Event {
		ev := histories.Event{Process: histories.Process(e.Worker), Type: typ, F: f, Op: op}
		if err != nil {
			ev.Error = err.Error()
		}
		return ev
	}
	key := fmt.Sprintf("key-%d", e.Rand.IntN(s.Keys))
	acquire := event(histories.Invoke, histories.Acquire, nil)
	acquire.Key = key
	w.Emit(acquire)
	got, err := e.Lock[0].Do(ctx, "SET", key, fmt.Sprint(op), "NX", "PX", s.TTL.Milliseconds())
	switch {
	case err == nil && got == nil:
		w.Emit(event(histories.Fail, histories.Acquire, env.ErrBusy))
		return
	case env.Unknown(err):
		w.Emit(event(histories.Info, histories.Acquire, err))
		return
	case err != nil:
		w.Emit(event(histories.Fail, histories.Acquire, err))
		return
	}
	ok := event(histories.OK, histories.Acquire, nil)
	ok.Key = key
	w.Emit(ok)
	if err := e.Step(ctx, "before-work"); err != nil {
		return
	}
	if err := e.Clock.Sleep(ctx, s.Hold); err != nil {
		return
	}
	if err := e.Step(ctx, "before-release"); err != nil {
		return
	}
	release := event(histories.Invoke, histories.Release, nil)
	release.Key = key
	w.Emit(release)
	_, err = e.Lock[0].Do(ctx, "DEL", key)
	if err != nil {
		w.Emit(event(histories.Info, histories.Release, err))
		return
	}
	w.Emit(event(histories.OK, histories.Release, nil))
}

// record keeps the events of a run.
type record struct {
	mu     sync.Mutex
	events []histories.Event
}

func (r *record) emit(e histories.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// find answers the events that match, after a moment of the run.
func (r *record) find(after time.Duration, match func(histories.Event) bool) []histories.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []histories.Event
	for _, e := range r.events {
		if e.Time > int64(after) && match(e) {
			out = append(out, e)
		}
	}
	return out
}

func of(f string, t histories.Type) func(histories.Event) bool {
	return func(e histories.Event) bool { return e.F == f && e.Type == t }
}

// scene is one system with workers at work, for a director to hurt.
type scene struct {
	*testing.T
	cluster.Cluster
	record *record
	system *system
}

// play runs a director over a system whose workers are running.
func play(t *testing.T, o cluster.Options, s testSpec, director func(context.Context, *scene)) {
	t.Helper()
	p := needEngine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	rec := &record{}
	o.Emit = rec.emit
	var err error
	if o.Spec, err = json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	c, err := p.Cell(ctx, o)
	if err != nil {
		t.Fatal("system:", err)
	}
	sc := &scene{t, c, rec, c.(*system)}
	err = c.Run(ctx, func(ctx context.Context) error {
		if err := c.StartWorkers(ctx); err != nil {
			return err
		}
		director(ctx, sc)
		c.SetPhase(env.Done)
		killed, err := c.AwaitWorkers(ctx, 10*time.Second)
		if len(killed) > 0 {
			err = errors.Join(err, fmt.Errorf("had to kill %v", killed))
		}
		return err
	})
	if err != nil {
		t.Error("run:", err)
	}
}

// must injects a fault and wants its proof.
func (s *scene) must(ctx context.Context, f histories.Fault) cluster.Effect {
	s.Helper()
	began := time.Now()
	e, err := s.Inject(ctx, f)
	s.Logf("%s %v: %s (%s)", f.F, e.Targets, e.Proof, time.Since(began).Round(time.Millisecond))
	if err != nil {
		s.Fatalf("%s: %v", f.F, err)
	}
	if e.Proof == "" {
		s.Errorf("%s %v left no proof", f.F, e.Targets)
	}
	return e
}

// await waits for an event.
func (s *scene) await(ctx context.Context, what string, after time.Duration, match func(histories.Event) bool) histories.Event {
	s.Helper()
	if !s.Await(ctx, 20*time.Second, func() bool { return len(s.record.find(after, match)) > 0 }) {
		for _, e := range s.record.find(max(after, s.Now()-5*time.Second), func(e histories.Event) bool { return e.F != "tick" && e.Error != "" }) {
			s.Logf("in the last 5 s: %s worker %s %s %s: %s", time.Duration(e.Time), e.Process, e.F, e.Type, e.Error)
		}
		s.Fatalf("no event in 20 s: %s", what)
	}
	return s.record.find(after, match)[0]
}

// grant waits for a new grant.
func (s *scene) grant(ctx context.Context) histories.Event {
	s.Helper()
	return s.await(ctx, "a grant", s.Now(), of(histories.Acquire, histories.OK))
}

// testSelf is what StartWorkers starts here.
func testSelf(t *testing.T) (string, []string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self, []string{"worker"}
}
