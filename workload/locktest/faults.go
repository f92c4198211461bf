package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// serverAway: an acquire that gets no answer is no grant, and what it left
// behind is gone after a TTL.
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
	if p.now() > p.stage.away {
		return p.problem("took longer than all time-outs together")
	}
	if err := p.Clock.Sleep(ctx, p.stage.away-p.now()); err != nil {
		return err
	}
	lease, err = p.waitFor(ctx, float64(p.stage.away)/float64(p.spec.TTL)+2.5)
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

// awayUntil is more than the time-outs of all requests of one acquire: five
// servers are asked and then told to forget it.
const awayUntil = 25 * time.Second

func cutWorker(ctx context.Context, d Director, st *stage) error {
	to := "locks"
	if st.spec.Topology().Lock == env.NoLock {
		to = "sql"
	}
	return errors.Join(
		d.Inject(ctx, histories.Fault{F: histories.Partition, From: []string{"worker-0"}, To: []string{to}}),
		d.Sleep(ctx, st.away),
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
	p.loseAnswer()
	lease, err := p.lock.Acquire(ctx, key)
	if lease != nil && (err == nil || env.Unknown(err)) {
		_ = lease.Release(ctx) // it may have nothing to release
	}
	return p.at(ctx, 4.5)
}

// wallClocks: the second worker's wall clock is ahead by more than a TTL.
func wallClocks(ctx context.Context, p *player) error {
	if p.Worker == 0 {
		if _, err := p.take(ctx); err != nil {
			return err
		}
		return p.at(ctx, 0.8)
	}
	return errors.Join(p.at(ctx, 0.5), p.refused(ctx))
}

func skewWorker(ctx context.Context, d Director, st *stage) error {
	ttl := st.spec.TTL
	return errors.Join(
		d.Sleep(ctx, ttl/10),
		d.Inject(ctx, histories.Fault{F: histories.Skew, Targets: []string{"worker-1"}, Offset: ttl + time.Second}))
}
