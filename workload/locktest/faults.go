package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
)

// serverAway: an acquire that gets no answer is no grant, and what it left
// behind is gone after a ttl.
func serverAway(ctx context.Context, p *player) error {
	if err := p.at(ctx, 0.2); err != nil {
		return err
	}
	lease, err := p.lock.Acquire(ctx, key)
	if err == nil {
		return p.problem("was granted the lock by a server that is away")
	}
	if lease != nil && env.Unknown(err) {
		_ = lease.Release(ctx) // there may be nothing to release
	}
	if p.now() > awayUntil {
		return p.problem("took longer than all time-outs together")
	}
	if err := p.Clock.Sleep(ctx, awayUntil-p.now()); err != nil {
		return err
	}
	lease, err = p.waitFor(ctx, float64(awayUntil)/float64(p.spec.TTL)+2.5)
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

// awayUntil is more than the time-outs of all requests of one acquire: five
// servers are asked and then told to forget it.
const awayUntil = 25 * time.Second

func cutWorker(ctx context.Context, d Director, s workload.Resolved) error {
	to := "locks"
	if s.Topology().Lock == env.NoLock {
		to = "sql"
	}
	return errors.Join(
		d.Inject(ctx, histories.Fault{F: histories.Partition, From: []string{"worker-0"}, To: []string{to}}),
		d.Sleep(ctx, awayUntil),
		d.Inject(ctx, histories.Fault{F: histories.Heal}))
}

// lostAnswer: what the first worker asks for is done, and it is not told.
func lostAnswer(ctx context.Context, p *player) error {
	if p.Worker == 1 {
		if err := p.at(ctx, 1); err != nil {
			return err
		}
		_, err := p.waitFor(ctx, 4)
		return err
	}
	p.lose.Store(1)
	lease, err := p.lock.Acquire(ctx, key)
	if lease != nil && (err == nil || env.Unknown(err)) {
		_ = lease.Release(ctx) // it may have nothing to release
	}
	return p.at(ctx, 4.5)
}

// deaf is a connection whose worker does not hear some of the answers.
type deaf struct {
	env.Redis
	p *player
}

// noAnswer is how long a request waits for an answer that does not come.
const noAnswer = time.Second

func (d deaf) hear(ctx context.Context, reply any, err error) (any, error) {
	if d.p.lose.Load() <= 0 {
		return reply, err
	}
	d.p.lose.Add(-1)
	if err := d.p.Clock.Sleep(ctx, noAnswer); err != nil {
		return nil, err
	}
	return nil, env.ErrTimeout
}

// Do implements env.Redis.
func (d deaf) Do(ctx context.Context, args ...any) (any, error) {
	reply, err := d.Redis.Do(ctx, args...)
	return d.hear(ctx, reply, err)
}

// Eval implements env.Redis.
func (d deaf) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (any, error) {
	reply, err := d.Redis.Eval(ctx, script, keys, args...)
	return d.hear(ctx, reply, err)
}

// Pinned implements env.Redis.
func (d deaf) Pinned(ctx context.Context, f func(env.Redis) error) error {
	return d.Redis.Pinned(ctx, func(r env.Redis) error { return f(deaf{r, d.p}) })
}

// wallClocks: the second worker's wall clock is ahead by more than a ttl.
func wallClocks(ctx context.Context, p *player) error {
	if p.Worker == 0 {
		if _, err := p.take(ctx); err != nil {
			return err
		}
		return p.at(ctx, 0.8)
	}
	return errors.Join(p.at(ctx, 0.5), p.refused(ctx))
}

func skewWorker(ctx context.Context, d Director, s workload.Resolved) error {
	return errors.Join(
		d.Sleep(ctx, s.TTL/10),
		d.Inject(ctx, histories.Fault{F: histories.Skew, Targets: []string{"worker-1"}, Offset: s.TTL + time.Second}))
}
