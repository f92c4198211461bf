package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
)

// direct is the director: it leads the run through its phases.
//
//	running, under faults ── quiet, healed ── final attempts ── done, audit
func (r *run) direct(ctx context.Context) error {
	if err := workload.Setup(ctx, r.cluster.Env(), r.Spec); err != nil {
		return fmt.Errorf("putting the stock in: %w", err)
	}
	if err := r.cluster.StartWorkers(ctx); err != nil {
		return fmt.Errorf("starting workers: %w", err)
	}
	r.enter(env.Running)
	r.hurt(ctx)
	r.result.Interrupted = ctx.Err() != nil

	// What is left must be done even if the user has had enough: it heals.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Minute)
	defer cancel()
	r.enter(env.Quiet)
	r.heal(ctx)
	if !r.result.Interrupted && r.result.Unhealed == nil {
		r.finish(ctx)
	}
	r.enter(env.Done)
	killed, err := r.cluster.AwaitWorkers(ctx, workerLimit)
	r.result.Killed = killed
	if err != nil {
		return fmt.Errorf("ending workers: %w", err)
	}
	return r.audit(ctx)
}

func (r *run) enter(p env.Phase) {
	r.note(histories.Phase, p.String(), "", nil)
	r.cluster.SetPhase(p)
}

// hurt lets the nemesis play until the time limit.
func (r *run) hurt(ctx context.Context) {
	var over atomic.Bool
	until := r.cluster.Now() + r.TimeLimit
	r.cluster.Go(ctx, "nemesis", func(ctx context.Context) {
		r.result.Faults = nemesis.Run(ctx, world{r}, r.result.Schedule, &r.aim, until)
		over.Store(true)
	})
	r.cluster.Await(ctx, r.TimeLimit, func() bool { return ctx.Err() != nil })
	r.cluster.Await(context.WithoutCancel(ctx), healLimit, over.Load)
}

// heal puts everything right and looks whether it is.
func (r *run) heal(ctx context.Context) {
	err := r.cluster.Heal(ctx)
	r.note(histories.Heal, "end of faults", "", err)
	if err == nil {
		err = r.cluster.Healthy(ctx, healLimit)
		r.note(histories.Healthy, "", "", err)
	}
	r.result.Unhealed = err
}

// finish waits until every lease and every late request is over, then lets
// the workers try each lock once more.
func (r *run) finish(ctx context.Context) {
	lock := r.header.Lock
	lease := lock.TTL + lock.Grace
	if err := r.cluster.Sleep(ctx, lease+r.header.MaxDelay+slack); err != nil {
		return
	}
	r.enter(env.Final)
	want := r.finals()
	r.cluster.Await(ctx, lease+finalLimit, func() bool { return r.tally.finals() >= want })
}

// finals is how many last attempts are to be expected: one for each SKU whose
// worker is still there.
func (r *run) finals() int {
	n := 0
	for sku := range r.Spec.SKUs {
		if !r.tally.dead(sku % r.Spec.Workers) {
			n++
		}
	}
	return n
}

func (r *run) audit(ctx context.Context) error {
	events, err := workload.Audit(ctx, r.cluster.Env(), r.Spec, r.tally.keys())
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	for _, e := range events {
		e.Time = int64(r.cluster.Now())
		r.recorder.Record(e)
	}
	return nil
}

// world is what the nemesis sees of the run.
type world struct{ *run }

func (w world) Now() time.Duration { return w.cluster.Now() }

func (w world) Sleep(ctx context.Context, d time.Duration) error { return w.cluster.Sleep(ctx, d) }

func (w world) Await(ctx context.Context, limit time.Duration, ready func() bool) bool {
	return w.cluster.Await(ctx, limit, ready)
}

func (w world) Record(e histories.Event) { w.recorder.Record(e) }

func (w world) Inject(ctx context.Context, f histories.Fault) (nemesis.Effect, error) {
	effect, err := w.cluster.Inject(ctx, f)
	return nemesis.Effect(effect), err
}

// tally counts what the director needs to know.
type tally struct {
	mu      sync.Mutex
	touched map[string]bool // stock keys
	final   map[int64]bool  // last attempts under way
	ended   int             // last attempts that were answered; who is told "busy" tries again
	killed  map[int]bool    // workers
}

func (t *tally) see(e histories.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.touched == nil {
		t.touched, t.final, t.killed = map[string]bool{}, map[int64]bool{}, map[int]bool{}
	}
	switch {
	case e.Type == histories.Invoke && (e.F == histories.Sell || e.F == histories.Restock || e.F == histories.Cancel):
		t.touched[e.Key] = true
		if e.Final {
			t.final[e.Op] = true
		}
	case e.F == histories.Sell && t.final[e.Op]:
		delete(t.final, e.Op)
		if e.Error != histories.Busy {
			t.ended++
		}
	case e.F == histories.Kill || e.F == histories.Crash:
		for _, name := range e.Targets {
			if n, ok := histories.WorkerNumber(name); ok {
				t.killed[n] = true
			}
		}
	case e.F == histories.Start:
		for _, name := range e.Targets {
			if n, ok := histories.WorkerNumber(name); ok {
				delete(t.killed, n)
			}
		}
	}
}

func (t *tally) finals() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

func (t *tally) dead(worker int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.killed[worker]
}

func (t *tally) keys() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.touched))
}
