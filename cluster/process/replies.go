//go:build unix

package process

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

// ownRedis is env.Redis as one worker of a process has it. The connections are
// the process's; here it is known which worker asks, and for what operation.
type ownRedis struct {
	env.Redis
	p      *process
	worker int
}

func (p *process) owned(worker int, list ...env.Redis) []env.Redis {
	own := make([]env.Redis, len(list))
	for i, r := range list {
		if r != nil {
			own[i] = ownRedis{r, p, worker}
		}
	}
	return own
}

// Do implements env.Redis.
func (o ownRedis) Do(ctx context.Context, args ...any) (any, error) {
	return o.call(ctx, fmt.Sprint(args[0]), func() (any, error) { return o.Redis.Do(ctx, args...) })
}

// Eval implements env.Redis.
func (o ownRedis) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (any, error) {
	return o.call(ctx, "EVAL", func() (any, error) { return o.Redis.Eval(ctx, script, keys, args...) })
}

// Pinned implements env.Redis.
func (o ownRedis) Pinned(ctx context.Context, f func(env.Redis) error) error {
	return o.Redis.Pinned(ctx, func(r env.Redis) error { return f(ownRedis{r, o.p, o.worker}) })
}

// call makes one request, unless the worker's work stands still, and hands its
// reply on, unless that is to get lost: then the worker waits for it in vain.
func (o ownRedis) call(ctx context.Context, command string, send func() (any, error)) (any, error) {
	if err := o.p.stay(ctx, o.worker); err != nil {
		return nil, fmt.Errorf("%w: %w", env.ErrRefused, err) // nothing was sent
	}
	began := time.Now()
	reply, err := send()
	if err == nil && o.p.loses(ctx, o.worker, reply, func(f string) bool { return cluster.Tells(f, command, reply) }) {
		reply, err = nil, o.p.inVain(ctx, began)
	}
	if o.p.stay(ctx, o.worker) != nil {
		return nil, ctx.Err()
	}
	return reply, err
}

// inVain waits for a reply that got lost, as long as a request may take that began
// then.
func (p *process) inVain(ctx context.Context, began time.Time) error {
	if err := wait.Sleep(ctx, p.CallTimeout-time.Since(began)); err != nil {
		return err
	}
	return fmt.Errorf("%w: the reply got lost", env.ErrTimeout)
}

// ownSQL is env.SQL as one worker of a process has it.
type ownSQL struct {
	env.SQL
	p      *process
	worker int
}

func (p *process) ownedSQL(worker int, s env.SQL) env.SQL {
	if s == nil {
		return nil
	}
	return ownSQL{s, p, worker}
}

// Query implements env.SQL.
func (o ownSQL) Query(ctx context.Context, query string, args ...any) ([][]any, error) {
	began := time.Now()
	rows, err := o.SQL.Query(ctx, query, args...)
	if err == nil && o.loses(ctx, query, rows) {
		return nil, o.p.inVain(ctx, began)
	}
	return rows, err
}

// Tx implements env.SQL. What gets lost is the answer to the COMMIT.
func (o ownSQL) Tx(ctx context.Context, f func(env.Tx) error) error {
	var began time.Time
	err := o.SQL.Tx(ctx, func(tx env.Tx) error {
		defer func() { began = time.Now() }()
		return f(tx)
	})
	if err == nil && o.loses(ctx, cluster.Commit, nil) {
		return fmt.Errorf("commit: %w: %w", env.ErrDoubt, o.p.inVain(ctx, began))
	}
	return err
}

func (o ownSQL) loses(ctx context.Context, statement string, rows [][]any) bool {
	return o.p.loses(ctx, o.worker, cluster.Statement(statement), func(f string) bool { return cluster.TellsSQL(f, statement, rows) })
}

// stay waits while the worker's work stands still. What is periodic goes on.
func (p *process) stay(ctx context.Context, worker int) error {
	if isPeriodic(ctx) {
		return nil
	}
	return p.work[worker].wait(ctx)
}

// follow keeps account of the operations that workers are at.
func (p *process) follow(e histories.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := int(e.Process)
	switch {
	case e.Op == 0:
	case e.Type == histories.Invoke:
		p.open[n] = append(p.open[n], e)
	default:
		p.open[n] = slices.DeleteFunc(p.open[n], func(o histories.Event) bool { return o.Op == e.Op })
	}
}

// does reports whether a request of a worker is part of an operation f. What
// is asked periodically renews, or goes on with a release that belongs to no
// sale any more; all else is of a sale. p.mu is held.
func (p *process) does(ctx context.Context, worker int, f string) bool {
	return slices.ContainsFunc(p.open[worker], func(o histories.Event) bool {
		background := p.ticks[worker].Load() && (o.F == histories.Extend || o.F == histories.Release && o.Parent == 0)
		return o.F == f && background == isPeriodic(ctx)
	})
}

// loses reports whether a fault lies in wait for this reply, which tells that some
// operations have acted, and says so.
func (p *process) loses(ctx context.Context, worker int, reply any, tells func(f string) bool) bool {
	a, ok := p.ambush(func(a Ambush) bool {
		return a.F == histories.Loss && a.Worker == worker && tells(a.Step) && p.does(ctx, worker, a.Step)
	})
	if ok {
		p.say(Note{Hit: a.ID, At: time.Duration(monotonicNow() - p.Start), Text: cluster.LostReply(worker, a.Step, reply)})
	}
	return ok
}
