package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Who a case is for.
var (
	every     = func(workload.Design) bool { return true }
	withLease = func(d workload.Design) bool { return !d.NoLease }
	renewing  = func(d workload.Design) bool { return d.Renews }
	noticing  = func(d workload.Design) bool { return d.LockSpec.Notice }
	showing   = func(d workload.Design) bool { return d.LockSpec.Deadline }
	fenced    = func(d workload.Design) bool { return d.LockSpec.Fenced }
	waiting   = func(d workload.Design) bool { return d.Waits }
)

// allCases are the cases, the most basic ones first. In each, worker 0 holds
// first.
var allCases = []Case{
	{Name: "one holder at a time", applies: every, workers: 4, script: oneHolder},
	{Name: "only the owner releases", applies: withLease, workers: 3, script: onlyTheOwner},
	{Name: "a release that takes long deletes no other's lock", applies: withLease, workers: 3, script: slowRelease},
	{Name: "a lease ends by itself", applies: withLease, workers: 2, script: leaseEnds},
	{Name: "a worker that dies while acquiring leaves nothing forever", applies: withLease, workers: 2, script: diesAcquiring},
	{Name: "a waiter that dies keeps nobody out", applies: withLease, workers: 3, script: diesWaiting},
	{Name: "re-entry as declared", applies: every, workers: 2, script: reentry},
	{Name: "waiting can be cancelled", applies: every, inside: true, workers: 3, script: cancelled},
	{Name: "no grant while the server is away", applies: every, workers: 1, script: serverAway, direct: cutWorker},
	{Name: "a lost answer costs a ttl at most", applies: withLease, workers: 2, script: lostAnswer},
	{Name: "wall clocks of workers do not matter", applies: withLease, inside: true, workers: 2, script: wallClocks, direct: skewWorker},
	{Name: "a renewal keeps the lease, and does not revive one", applies: withLease, workers: 2, script: extend},
	{Name: "background renewal outlasts the ttl", applies: renewing, workers: 2, script: renewal},
	{Name: "one failed renewal is not the end", applies: renewing, workers: 2, script: failedRenewal},
	{Name: "a late renewal in the background does not revive the lease", applies: renewing, workers: 2, script: lateRenewal},
	{Name: "a late renewal in the background keeps no other's lock", applies: renewing, workers: 3, script: renewsAnother},
	{Name: "no renewal after the release", applies: renewing, workers: 1, script: noLeak},
	{Name: "a loss is told", applies: noticing, workers: 2, script: lossIsTold},
	{Name: "the shown deadline is honest", applies: showing, workers: 2, script: honestDeadline},
	{Name: "numbers of grants grow", applies: fenced, workers: 2, script: numbersGrow},
	{Name: "no grant without the acknowledgements", applies: waiting, workers: 1, script: noAcknowledgement, direct: cutReplicas},
}

// oneHolder: all want the lock again and again.
func oneHolder(ctx context.Context, p *player) error {
	for range 10 {
		lease, err := p.waitFor(ctx, 5)
		if err != nil {
			return err
		}
		p.stage.inside++
		if p.stage.inside > 1 {
			return p.problem("is inside with %d others", p.stage.inside-1)
		}
		if err := p.Clock.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
		p.stage.inside--
		if err := lease.Release(ctx); err != nil {
			return p.problem("could not release its own lock: %w", err)
		}
	}
	return nil
}

// 0  acquire ───── ttl ──── × ─────── release: not the owner
// 1                            acquire ── believes ─────────────
// 2                                          refused
func onlyTheOwner(ctx context.Context, p *player) error {
	switch p.Worker {
	case 0:
		p.muteRenewals()
		lease, err := p.take(ctx)
		if err != nil {
			return err
		}
		if err := p.at(ctx, 1.5); err != nil {
			return err
		}
		if err := lease.Release(ctx); !errors.Is(err, env.ErrNotOwner) {
			return p.problem("released a lock that another holds: %v, want %v", err, env.ErrNotOwner)
		}
		return nil
	case 1:
		p.muteRenewals()
		if err := p.at(ctx, 1.1); err != nil {
			return err
		}
		_, err := p.take(ctx)
		return errors.Join(err, p.at(ctx, 1.9))
	default:
		return errors.Join(p.at(ctx, 1.6), p.refused(ctx))
	}
}

// slowRelease: whatever a release does between two commands takes a third of
// a TTL, and the lease ends meanwhile.
func slowRelease(ctx context.Context, p *player) error {
	switch p.Worker {
	case 0:
		lease, err := p.take(ctx)
		if err != nil {
			return err
		}
		if err := p.at(ctx, 0.9); err != nil {
			return err
		}
		p.slow(p.spec.TTL / 3)
		_ = lease.Release(ctx) // it may be ours or not
		return nil
	case 1:
		if err := p.at(ctx, 0.95); err != nil {
			return err
		}
		_, err := p.waitFor(ctx, 1.2)
		return errors.Join(err, p.at(ctx, 1.6))
	default:
		return errors.Join(p.at(ctx, 1.4), p.refused(ctx))
	}
}

// leaseEnds: the holder ends without a word.
func leaseEnds(ctx context.Context, p *player) error {
	if p.Worker == 0 {
		_, err := p.take(ctx)
		return err
	}
	if err := errors.Join(p.at(ctx, 0.5), p.refused(ctx)); err != nil {
		return err
	}
	_, err := p.waitFor(ctx, 1.8)
	return err
}

// diesAcquiring: the first one dies between two commands of its acquire, if
// there are two.
func diesAcquiring(ctx context.Context, p *player) error {
	if p.Worker == 0 {
		p.die()
		_, _ = p.lock.Acquire(ctx, key)
		return nil
	}
	if err := p.at(ctx, 0.1); err != nil {
		return err
	}
	_, err := p.waitFor(ctx, 2)
	return err
}

// diesWaiting: a waiter dies between two tries, if its design says where.
//
//	0  acquire ─────────── release
//	1     waits ── dies
//	2                          gets it
func diesWaiting(ctx context.Context, p *player) error {
	switch p.Worker {
	case 0:
		lease, err := p.take(ctx)
		if err != nil {
			return err
		}
		return errors.Join(p.at(ctx, 0.5), lease.Release(ctx))
	case 1:
		patient := p.spec
		patient.Retries, patient.Wait = 3, p.spec.TTL/10
		l := patient.NewLock(p.Env)
		p.die()
		if err := p.at(ctx, 0.1); err != nil {
			return err
		}
		if _, err := l.Acquire(ctx, key); err == nil {
			return p.problem("got a lock that another holds")
		}
		return nil
	default:
		if err := p.at(ctx, 0.6); err != nil {
			return err
		}
		_, err := p.waitFor(ctx, 2.5)
		return err
	}
}

// reentry: the holder enters again, and leaves as often.
func reentry(ctx context.Context, p *player) error {
	d := p.spec.Of
	if p.Worker == 1 {
		if err := errors.Join(p.at(ctx, 0.2), p.refused(ctx), p.at(ctx, 0.8)); err != nil {
			return err
		}
		lease, err := p.take(ctx)
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}
	outer, err := p.take(ctx)
	if err != nil {
		return err
	}
	inner, err := p.lock.Acquire(ctx, key)
	switch {
	case d.LockSpec.Reentrant && err != nil:
		return p.problem("could not enter again: %w", err)
	case !d.LockSpec.Reentrant && err == nil:
		return p.problem("entered again, though the lock is not declared re-entrant")
	case !d.LockSpec.Reentrant && !errors.Is(err, env.ErrBusy):
		return p.problem("was refused with %w, not because the lock is busy", err)
	}
	if d.LockSpec.Reentrant {
		if err := errors.Join(p.at(ctx, 0.1), inner.Release(ctx)); err != nil {
			return p.problem("could not leave: %w", err)
		}
	}
	return errors.Join(p.at(ctx, 0.6), outer.Release(ctx))
}

// cancelled: a patient worker is told to stop waiting, and does, for good.
func cancelled(ctx context.Context, p *player) error {
	switch p.Worker {
	case 0:
		lease, err := p.take(ctx)
		if err != nil {
			return err
		}
		return errors.Join(p.at(ctx, 0.5), lease.Release(ctx))
	case 1:
		patient := p.spec
		patient.Retries, patient.Wait = 1000, time.Hour
		l := patient.NewLock(p.Env)
		waiting, cancel := context.WithCancel(ctx)
		defer cancel()
		p.Clock.Every(ctx, p.spec.TTL/4, func(context.Context) bool { cancel(); return false })
		if err := p.at(ctx, 0.1); err != nil {
			return err
		}
		_, err := l.Acquire(waiting, key)
		if err == nil {
			return p.problem("got the lock after it was told to stop")
		}
		if p.past(0.45) {
			return p.problem("went on waiting after it was told to stop at 0.25 ttl")
		}
		return nil
	default:
		if err := p.at(ctx, 0.6); err != nil {
			return err
		}
		_, err := p.take(ctx)
		return err
	}
}
