package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// extend: for leases that their worker can renew.
//
//	0  acquire ── extend: ok ── ends ────── extend: no ──────── extend: no
//	1                refused       acquire ─────────── release
func extend(ctx context.Context, p *player) error {
	p.muteRenewals()
	if p.Worker == 1 {
		return contendRenewal(ctx, p)
	}
	lease, err := p.take(ctx)
	if err != nil {
		return err
	}
	x, can := lease.(env.Extender)
	if p.stage.renewable = can; !can {
		return nil
	}
	if err := errors.Join(p.at(ctx, 0.6), x.Extend(ctx), p.at(ctx, 1.9)); err != nil {
		return p.problem("could not renew its lease: %w", err)
	}
	if err := x.Extend(ctx); !errors.Is(err, env.ErrNotOwner) {
		return p.problem("renewed a lock that another holds: %v", err)
	}
	if err := p.at(ctx, 2.4); err != nil {
		return err
	}
	if err := x.Extend(ctx); !errors.Is(err, env.ErrNotOwner) {
		return p.problem("renewed a lease that had ended, and that another had held since: %v", err)
	}
	return nil
}

func contendRenewal(ctx context.Context, p *player) error {
	if err := p.at(ctx, 1.2); err != nil || !p.stage.renewable {
		return err
	}
	if err := errors.Join(p.refused(ctx), p.at(ctx, 1.7)); err != nil {
		return err
	}
	lease, err := p.take(ctx)
	if err != nil {
		return err
	}
	return errors.Join(p.at(ctx, 2.2), lease.Release(ctx))
}

// renewal: the first worker holds for two and a half ttls.
func renewal(ctx context.Context, p *player) error {
	if p.Worker == 0 {
		lease, err := p.take(ctx)
		if err != nil {
			return err
		}
		return errors.Join(p.at(ctx, 2.5), lease.Release(ctx))
	}
	for _, moment := range []float64{1.2, 2.1} {
		if err := errors.Join(p.at(ctx, moment), p.refused(ctx)); err != nil {
			return err
		}
	}
	if err := p.at(ctx, 2.6); err != nil {
		return err
	}
	_, err := p.take(ctx)
	return err
}

// failedRenewal: the answer to one renewal gets lost. The holder must keep
// the lock, or be told that it has not.
func failedRenewal(ctx context.Context, p *player) error {
	if p.Worker == 0 {
		lease, err := p.take(ctx)
		if err != nil {
			return err
		}
		if n, has := lease.(env.Notice); has {
			n.OnLost(func() { p.stage.told = true })
		}
		if err := p.at(ctx, 0.1); err != nil {
			return err
		}
		p.loseAnswer()
		err = p.at(ctx, 4)
		p.stage.freed = true
		freed := lease.Release(ctx)
		if p.stage.told && errors.Is(freed, env.ErrNotOwner) {
			freed = nil // it knew
		}
		return errors.Join(err, freed)
	}
	if err := p.at(ctx, 0.1); err != nil {
		return err
	}
	for !p.past(3.9) {
		lease, err := p.lock.Acquire(ctx, key)
		if err == nil && !p.stage.told && !p.stage.freed {
			return p.problem("got a lock whose holder has not been told that it is gone")
		}
		if err == nil {
			return lease.Release(ctx)
		}
		if err := p.Clock.Sleep(ctx, p.spec.TTL/20); err != nil {
			return err
		}
	}
	return nil
}

// lateRenewal: the holder's renewals come when its lease has ended.
//
//	0  acquire ── TTL ends ── renewal: no
//	1                                      acquire
func lateRenewal(ctx context.Context, p *player) error {
	if p.Worker == 1 {
		if err := p.at(ctx, 1.6); err != nil {
			return err
		}
		_, err := p.take(ctx)
		return err
	}
	p.holdRenewals(ctx, 1.4)
	if _, err := p.take(ctx); err != nil {
		return err
	}
	return p.at(ctx, 1.9)
}

// renewsAnother: they come when another has the lock, which dies without a
// release.
//
//	0  acquire ── TTL ends ───────── renewal: no
//	1                       acquire ────────────── dies ── TTL ends
//	2                                  refused                       acquire
func renewsAnother(ctx context.Context, p *player) error {
	switch p.Worker {
	case 0:
		p.holdRenewals(ctx, 1.5)
		if _, err := p.take(ctx); err != nil {
			return err
		}
		if err := p.at(ctx, 1.6); err != nil {
			return err
		}
		if p.renewed > 0 && !errors.Is(p.last, env.ErrNotOwner) {
			return p.problem("renewed a lock that another holds: %v, want %v", p.last, env.ErrNotOwner)
		}
		return p.at(ctx, 2.8)
	case 1:
		p.muteRenewals()
		if err := p.at(ctx, 1.1); err != nil {
			return err
		}
		_, err := p.take(ctx)
		return err
	default:
		if err := errors.Join(p.at(ctx, 1.7), p.refused(ctx), p.at(ctx, 2.2)); err != nil {
			return err
		}
		_, err := p.waitFor(ctx, 2.5)
		return err
	}
}

// noLeak: a renewal may be in flight at the release; after that there is
// none.
func noLeak(ctx context.Context, p *player) error {
	lease, err := p.take(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(p.at(ctx, 0.5), lease.Release(ctx), p.at(ctx, 0.55)); err != nil {
		return err
	}
	before := p.commands()
	if err := p.at(ctx, 3); err != nil {
		return err
	}
	if after := p.commands() - before; before == 0 || after > 0 {
		return p.problem("sent %d renewals before its release and %d after it, want some and none", before, after)
	}
	return nil
}

// lossIsTold: the key goes away, and the holder must hear of it at its next
// renewal.
func lossIsTold(ctx context.Context, p *player) error {
	if p.Worker == 1 {
		if err := p.at(ctx, 0.4); err != nil {
			return err
		}
		return p.forget(ctx)
	}
	lease, err := p.take(ctx)
	if err != nil {
		return err
	}
	lease.(env.Notice).OnLost(func() { p.stage.told = true })
	if err := p.at(ctx, 0.4+0.5); err != nil {
		return err
	}
	if !p.stage.told {
		return p.problem("has not been told that its lock went at 0.4 ttl")
	}
	return nil
}

// honestDeadline: the second worker tries all the time, and must not get the
// lock before the deadline that the first was shown.
func honestDeadline(ctx context.Context, p *player) error {
	if p.Worker == 0 {
		lease, err := p.take(ctx)
		if err != nil {
			return err
		}
		p.stage.until = lease.(env.Deadline).Until()
		if p.stage.until <= p.Clock.Now() {
			return p.problem("was shown a deadline that has passed")
		}
		return p.at(ctx, 1.5)
	}
	if err := p.at(ctx, 0.5); err != nil {
		return err
	}
	_, err := p.waitFor(ctx, 1.5)
	if now := p.Clock.Now(); err == nil && now < p.stage.until {
		return p.problem("got the lock %v before the deadline that its holder was shown", p.stage.until-now)
	}
	return err
}

// numbersGrow: two workers take turns.
func numbersGrow(ctx context.Context, p *player) error {
	for range 5 {
		lease, err := p.waitFor(ctx, 3)
		if err != nil {
			return err
		}
		n := lease.(env.Fence).Fence()
		if k := len(p.stage.fences); k > 0 && n <= p.stage.fences[k-1] {
			return p.problem("was given number %d after %d", n, p.stage.fences[k-1])
		}
		p.stage.fences = append(p.stage.fences, n)
		if err := errors.Join(lease.Release(ctx), p.Clock.Sleep(ctx, 5*time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

// noAcknowledgement: no replica can acknowledge.
func noAcknowledgement(ctx context.Context, p *player) error {
	if err := p.at(ctx, 0.2); err != nil {
		return err
	}
	if _, err := p.lock.Acquire(ctx, key); err == nil {
		return p.problem("was granted a lock that no replica has")
	}
	return nil
}

func cutReplicas(ctx context.Context, d Director, _ *stage) error {
	return d.Inject(ctx, histories.Fault{F: histories.Partition, From: []string{"master"}, To: []string{"replicas"}})
}
