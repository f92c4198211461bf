// Package clustertest holds clusters to one meaning of faults. Its script plays
// every kind of fault on a cluster, and wants of each: the targets that roles and
// names stand for, the marks that a history has of it, a proof, and what workers
// notice. Each cluster's tests play the same script.
//
// Start with Play; the script itself is the table cases.
package clustertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Options are what the script wants of a cluster: two processes of two workers.
func Options(lock env.Kind) cluster.Options {
	return cluster.Options{
		Topology: env.Topology{Lock: lock}, Seed: 1, Workers: 4, PerHost: 2,
		Spec: json.RawMessage(`{}`), Program: Worker, CallTimeout: 250 * time.Millisecond,
	}
}

// Worker takes a lock and gives it back, again and again, and ticks meanwhile: the
// tick stands for what a worker does periodically, the rest for its work.
func Worker(ctx context.Context, _ []byte, e *env.Env, w env.Wire) error {
	tell := func(t histories.Type, f string, op int64) {
		w.Emit(histories.Event{Process: histories.Process(e.Worker), Type: t, F: f, Op: op})
	}
	defer e.Clock.Every(ctx, 20*time.Millisecond, func(context.Context) bool {
		tell(histories.Info, "tick", 0)
		return true
	})()
	for i := int64(0); w.Phase() < env.Done; i++ {
		op := int64(e.Life)*1_000_000 + i*10 + int64(e.Worker) + 1
		key := "lock-" + strconv.Itoa(e.Worker)
		tell(histories.Invoke, histories.Acquire, op)
		if _, err := e.Lock[0].Do(ctx, "SET", key, op, "PX", 60_000); err != nil {
			tell(histories.Info, histories.Acquire, op)
		} else {
			tell(histories.OK, histories.Acquire, op)
		}
		if err := e.Step(ctx, histories.StepBeforeWrite); err != nil {
			return err
		}
		if err := e.Clock.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// Play plays the script on clusters of both kinds that have roles to resolve. open
// lends a cluster.
func Play(t *testing.T, open func(t *testing.T, o cluster.Options) cluster.Cluster) {
	seen := map[string]bool{}
	for lock, list := range cases {
		t.Run(string(lock), func(t *testing.T) {
			s := &stage{}
			o := Options(lock)
			o.Emit = s.emit
			s.Cluster = open(t, o)
			for _, c := range list {
				if k, ok := c.fault.Kind(); ok && !c.refused {
					seen[k.Name] = true
				}
				if k, ok := c.end.Kind(); ok {
					seen[k.Name] = true
				}
			}
			s.run(t, list)
		})
	}
	for _, k := range histories.Kinds {
		if !seen[k.Name] {
			t.Errorf("the script does not play %s", k.Name)
		}
	}
}

// stage is one cluster, and what happened on it.
type stage struct {
	cluster.Cluster
	mu     sync.Mutex
	events []histories.Event
}

func (s *stage) emit(e histories.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// find are the events after a moment that fit.
func (s *stage) find(after time.Duration, fits func(histories.Event) bool) (found []histories.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Time > int64(after) && fits(e) {
			found = append(found, e)
		}
	}
	return found
}

// patience is how long the script waits for what must happen.
const patience = 30 * time.Second

func (s *stage) await(ctx context.Context, f *findings, what string, after time.Duration, fits func(histories.Event) bool) {
	if !s.Await(ctx, patience, func() bool { return len(s.find(after, fits)) > 0 }) {
		f.errorf("waited in vain for %s", what)
	}
}

// run plays the faults one after another. What is found is told afterwards: a
// simulated cluster lets no other goroutine in.
func (s *stage) run(t *testing.T, list []scripted) {
	told := make([]findings, len(list))
	err := s.Run(t.Context(), func(ctx context.Context) error {
		if err := s.StartWorkers(ctx); err != nil {
			return err
		}
		for i := range list {
			s.play(ctx, &told[i], list[i])
		}
		s.SetPhase(env.Done)
		_, err := s.AwaitWorkers(ctx, patience)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for i, c := range list {
		t.Run(c.name, func(t *testing.T) {
			if told[i].proof != "" {
				t.Log(told[i].proof)
			}
			for _, text := range told[i].errors {
				t.Error(text)
			}
		})
	}
}

// findings are what is wrong with a fault, and how it showed.
type findings struct {
	proof  string
	errors []string
}

func (f *findings) errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

// scripted is one fault, what must be seen of it, and how it ends.
type scripted struct {
	name    string
	fault   histories.Fault
	refused bool
	targets []string         // that its mark names; sorted
	oneOf   bool             // one of these
	mark    *histories.Event // that it brings about later
	works   []int            // workers that go on with their work
	idle    []int            // workers whose work brings no grant
	ticks   []int            // workers that go on ticking
	quiet   []int            // workers that do not tick
	end     histories.Fault  // none: it ends by itself
	ends    []string         // targets of that
	unsaid  bool             // the end may have nothing to prove
}

func (s *stage) play(ctx context.Context, f *findings, c scripted) {
	s.await(ctx, f, "work of everybody", s.Now(), granted(0))
	at := s.Now()
	effect, err := s.Inject(ctx, c.fault)
	if c.refused {
		if !errors.Is(err, cluster.ErrUnavailable) {
			f.errorf("%+v, error %v: want it to be refused", effect, err)
		}
		return
	}
	hit := c.check(f, effect, err)
	s.notices(ctx, f, c, at)
	if c.end.F != "" {
		end := c.end
		ended, err := s.Inject(ctx, end)
		want := c.ends
		if c.oneOf {
			want = hit
		}
		if got := sorted(ended.Targets); err != nil || cmp.Diff(want, got) != "" || ended.Proof == "" && !c.unsaid {
			f.errorf("%s hit %q, want %q; proof %q, error %v", end.F, got, want, ended.Proof, err)
		}
	}
	if err := s.Healthy(ctx, patience); err != nil {
		f.errorf("%v", err)
	}
	healed := s.Now()
	for w := range 4 {
		s.await(ctx, f, "a grant of "+histories.WorkerName(w), healed, granted(w))
		s.await(ctx, f, "a tick of "+histories.WorkerName(w), healed, ticked(w))
	}
}

// check wants the targets and the proof of a fault.
func (c scripted) check(f *findings, effect cluster.Effect, err error) (hit []string) {
	hit = sorted(effect.Targets)
	switch {
	case err != nil:
		f.errorf("%v", err)
	case effect.Proof == "":
		f.errorf("%s of %q left no proof", c.fault.F, hit)
	}
	f.proof = fmt.Sprintf("%s hit %q: %s", c.fault.F, hit, effect.Proof)
	if c.oneOf {
		if len(hit) != 1 || !slices.Contains(c.targets, hit[0]) {
			f.errorf("hit %q, want one of %q", hit, c.targets)
		}
	} else if diff := cmp.Diff(c.targets, hit); diff != "" {
		f.errorf("targets: %s", diff)
	}
	if k, _ := c.fault.Kind(); (effect.At > 0) != (k.Step && c.fault.F == histories.Pause) {
		f.errorf("it took effect at %v", effect.At)
	}
	return hit
}

// notices looks at what workers do under a fault.
func (s *stage) notices(ctx context.Context, f *findings, c scripted, at time.Duration) {
	if c.mark != nil {
		s.await(ctx, f, "the mark "+c.mark.F, at, func(e histories.Event) bool {
			return e.Process == histories.Nemesis && e.F == c.mark.F && e.Note == c.mark.Note && slices.Equal(e.Targets, c.mark.Targets)
		})
	}
	const underWay = 50 * time.Millisecond // what may have begun before
	still := s.Now() + underWay
	if err := s.Sleep(ctx, 6*underWay); err != nil {
		f.errorf("%v", err)
		return
	}
	for _, w := range c.works {
		s.await(ctx, f, "a grant of "+histories.WorkerName(w), still, granted(w))
	}
	for _, w := range c.ticks {
		s.await(ctx, f, "a tick of "+histories.WorkerName(w), still, ticked(w))
	}
	for _, w := range c.idle {
		if n := len(s.find(still, granted(w))); n > 0 {
			f.errorf("%d grants of %s", n, histories.WorkerName(w))
		}
	}
	for _, w := range c.quiet {
		if n := len(s.find(still, ticked(w))); n > 0 {
			f.errorf("%d ticks of %s", n, histories.WorkerName(w))
		}
	}
}

func granted(w int) func(histories.Event) bool {
	return func(e histories.Event) bool {
		return int(e.Process) == w && e.F == histories.Acquire && e.Type == histories.OK
	}
}

func ticked(w int) func(histories.Event) bool {
	return func(e histories.Event) bool { return int(e.Process) == w && e.F == "tick" }
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }
