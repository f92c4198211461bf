package workload

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// Shift is the program of one worker of a small scene: it makes MaxOps purchases
// of the last article, one after the other, tries each again while nobody answers
// it, for Wait at most, and then waits for the last attempt, which is worker 0's.
// Each worker begins a little after the one before. None looks at the phase again
// and again, as in Program.
func (r Resolved) Shift(ctx context.Context, e *env.Env, w env.Patient) error {
	k := newWorker(r, e, w)
	defer k.tidy(ctx)()
	if err := e.Clock.Sleep(ctx, time.Duration(e.Worker)*stagger); err != nil {
		return err
	}
	for range r.MaxOps {
		if err := k.visit(ctx); err != nil {
			return err
		}
	}
	if err := k.drain(ctx); err != nil {
		return err
	}
	if err := w.Await(ctx, env.Final); err != nil {
		return err
	}
	if e.Worker == 0 {
		k.till.Lock = r.impatient().NewLock(e)
		if err := k.lastAttempt(ctx, len(k.batch)-1, r.RetryDelay); err != nil {
			return err
		}
	}
	return w.Await(ctx, env.Done)
}

// impatient are the settings of a lock that answers at once, so that each refusal has
// its moment: a lock that stays taken is seen to.
func (r Resolved) impatient() Resolved {
	r.Retries, r.Wait = -1, time.Millisecond
	return r
}

// stagger is longer than a lock takes to be acquired on five servers.
const stagger = 2 * time.Millisecond

// visit makes one purchase.
func (k *worker) visit(ctx context.Context) error {
	until := k.env.Clock.Now() + k.spec.Wait
	for c := k.customer(); ; {
		err := k.sell(ctx, len(k.batch)-1, c)
		if ctx.Err() != nil || !unanswered(err) || k.env.Clock.Now() >= until {
			return ctx.Err()
		}
		if err := k.env.Clock.Sleep(ctx, k.spec.RetryDelay); err != nil {
			return err
		}
	}
}
