package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// rig is a cluster for a test, and what it recorded.
type rig struct {
	*system
	t      testing.TB
	events []histories.Event
	lines  strings.Builder
}

// newRig builds a cluster. Options.Emit is the rig's.
func newRig(t testing.TB, config Config, o cluster.Options) *rig {
	t.Helper()
	r := &rig{t: t}
	o.Emit = func(e histories.Event) {
		line, err := e.Line()
		if err != nil {
			t.Errorf("event %+v: %v", e, err)
		}
		r.lines.Write(append(line, '\n'))
		r.events = append(r.events, e)
	}
	c, err := New(config).Cell(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r.system = c.(*system)
	return r
}

// direct runs the cluster under a director; the run must end well.
func (r *rig) direct(director func(ctx context.Context)) {
	r.t.Helper()
	if err := r.try(director); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) try(director func(ctx context.Context)) error {
	return r.Run(r.t.Context(), func(ctx context.Context) error {
		director(ctx)
		return nil
	})
}

// inject does a fault that must bite.
func (r *rig) inject(ctx context.Context, f histories.Fault) cluster.Effect {
	r.t.Helper()
	effect, err := r.Inject(ctx, f)
	if err != nil || effect.Proof == "" {
		r.t.Errorf("%s %v: proof %q, error %v", f.F, f.Targets, effect.Proof, err)
	}
	return effect
}

// must is the reply to a command that must not fail.
func (r *rig) must(ctx context.Context, to env.Redis, args ...any) any {
	r.t.Helper()
	reply, err := to.Do(ctx, args...)
	if err != nil {
		r.t.Fatalf("%v at %v: %v", args, r.Now(), err)
	}
	return reply
}

// at is a connection of the director's to one server.
func (r *rig) at(name string) env.Redis {
	return r.endpoint(r.system.director, r.site.byName[name].box)
}

func (r *rig) start(ctx context.Context) {
	if err := r.StartWorkers(ctx); err != nil {
		r.t.Fatal(err)
	}
}

// note is how test workers tell what they saw.
func note(e *env.Env, w env.Wire, text string) {
	w.Emit(histories.Event{Process: histories.Process(e.Worker), Type: histories.Info, F: "note", Note: text})
}

// notes are what the workers told, with the worker's number before it.
func (r *rig) notes() (all []string) {
	for _, e := range r.events {
		if e.F == "note" {
			all = append(all, e.Process.String()+" "+e.Note)
		}
	}
	return all
}

func (r *rig) sleep(ctx context.Context, d time.Duration) {
	r.t.Helper()
	if err := r.Sleep(ctx, d); err != nil {
		r.t.Fatal(err)
	}
}

// runs is a worker's program that cannot fail.
func runs(f func(ctx context.Context, e *env.Env, w env.Wire)) env.Worker {
	return func(ctx context.Context, _ []byte, e *env.Env, w env.Wire) error {
		f(ctx, e, w)
		return nil
	}
}
