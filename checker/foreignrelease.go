package checker

import (
	"math"

	"github.com/lockcheck/lockcheck/histories"
)

// foreignReleases finds releases that said "deleted" while another worker's
// belief covers the whole call.
//
//	A  release ──── ok "deleted"
//	B  [══════ believes ══════════)
//
// That alone is no proof: after a failover, B may believe in a lock that the
// old master had, while A releases its own on the new one. So one of two
// things must be certain besides: either the releaser's own lock cannot have
// been there any more (its lease was over, or it had none), or the releaser
// itself no longer believed to hold, and there has been one store all the
// time (no fault has hit a server yet) and B was granted the lock after A:
// then A's was gone by then.
func (r *run) foreignReleases(k *keyed) {
	own := ownLocks{}
	var l leaders
	next, holds := 0, exclusive(k.holds)
	for _, op := range exclusively(k.locks) {
		mine := own.of(op.Process)
		if op.F != histories.Release {
			mine.see(r, op)
			continue
		}
		for ; next < len(holds) && holds[next].from <= op.Call; next++ {
			l.see(holds[next])
		}
		if op.Outcome == histories.OK {
			if victim := l.other(op.Process); victim != nil && victim.to >= op.Return && victim.from < victim.to &&
				r.foreign(mine, op, victim, k.believed.at(op.Process, op.Call) != nil) {
				r.foreignRelease(k, mine, op, victim)
				if !r.serversHurt(op.Return) {
					own.of(victim.worker()).stolen(op)
				}
			}
		}
		mine.see(r, op)
	}
}

type ownLocks map[histories.Process]*ownLock

func (o ownLocks) of(p histories.Process) *ownLock {
	if o[p] == nil {
		o[p] = &ownLock{lease: math.MinInt64, ghost: math.MinInt64, elsewhere: math.MinInt64}
	}
	return o[p]
}

// ownLock is until when a worker's own lock may be in the store.
type ownLock struct {
	granted *histories.Op // the last ok acquire
	lease   int64         // from acquires and extends that said ok
	ghost   int64         // from acquires of unknown outcome …
	lands   int64         // … which may act until then
	taken   *histories.Op // the foreign release that deleted it

	// elsewhere is from what one store cannot have any more, but another may:
	// grants before the last one, and what was not named by a release that
	// said ok.
	//
	//	old master  acquire a ─ ok                                   release a ─ ok
	//	new master                  acquire b ─ ok   release b ─ ok
	elsewhere int64
}

// stolen notes that another worker's release has deleted this lock.
func (o *ownLock) stolen(by *histories.Op) {
	o.taken, o.lease = by, math.MinInt64
}

func (o *ownLock) see(r *run, op *histories.Op) {
	end := r.leaseEnd(op)
	switch {
	case op.F == histories.Release && op.Outcome == histories.OK && !r.spec.Reentrant:
		o.released(op)
	case op.F == histories.Release || op.Outcome == histories.Fail:
	case op.F == histories.Extend:
		o.lease = max(o.lease, end)
		if !o.isLast(op) {
			o.elsewhere = max(o.elsewhere, end)
		}
	case op.Outcome == histories.OK:
		o.elsewhere, o.lease = max(o.elsewhere, o.lease), max(o.lease, end)
		o.granted, o.taken = op, nil
	default:
		o.ghost, o.lands = max(o.ghost, end), max(o.lands, r.lastsUntil(op))
	}
}

// released notes a release that said ok: the store that it reached has nothing
// of this worker any more.
func (o *ownLock) released(op *histories.Op) {
	if !o.isLast(op) {
		o.elsewhere = max(o.elsewhere, o.lease)
	}
	o.lease = math.MinInt64
	if o.lands < op.Call {
		o.elsewhere, o.ghost = max(o.elsewhere, o.ghost), math.MinInt64
	}
}

// isLast reports whether an operation names the last grant, or none.
func (o *ownLock) isLast(op *histories.Op) bool {
	return o.granted != nil && (op.Token == "" || o.granted.Token == "" || op.Token == o.granted.Token)
}

// leaseEnd is the latest moment at which the lease that op began or renewed
// can end; Never if there is no lease.
func (r *run) leaseEnd(op *histories.Op) int64 {
	if r.spec.TTL <= 0 {
		return histories.Never
	}
	end := histories.Later(r.ended(op), r.spec.Lease(op))
	if op.Outcome == histories.Info {
		end = histories.Later(end, r.h.Header.MaxDelay)
	}
	return end
}

// over reports whether the worker's own lock was certainly gone at t.
func (o *ownLock) over(t int64) bool { return max(o.lease, o.ghost) < t }

func (r *run) foreign(mine *ownLock, op *histories.Op, victim *hold, believing bool) bool {
	hurt := r.serversHurt(op.Return)
	if mine.over(op.Call) {
		// A skewed clock may make a lease last longer than its TTL.
		return !hurt || op.Return < r.skewed && mine.elsewhere < op.Call
	}
	// Granted at the very instant of the call, the other may have come just
	// after the release had acted.
	return !believing && !hurt && victim.from < op.Call &&
		mine.granted != nil && mine.ghost < op.Call && mine.granted.Return <= victim.acquire.Call
}

func (r *run) foreignRelease(k *keyed, mine *ownLock, op *histories.Op, victim *hold) {
	granted, taken, over := mine.granted, mine.taken, r.spec.TTL > 0 && mine.lease != math.MinInt64 && mine.over(op.Call)
	v := Violation{Property: ForeignRelease, From: op.Call, To: op.Return, Ops: []int64{op.ID}}
	r.add(k, v, func(v *Violation) {
		v.Workers = []histories.Process{op.Process, victim.worker()}
		v.Evidence = evidence(granted, victim.acquire, op)
		v.Summary = sprintf("%s released %s at %s, but it was %s that held it, since %s",
			workerName(op.Process), k.name, moment(op.Call), workerName(victim.worker()), moment(victim.from))
		v.Faults = r.during(op.Call-int64(r.spec.TTL), op.Return)
		switch {
		case granted == nil:
			v.Because = sprintf("%s held nothing to release", workerName(op.Process))
		case taken != nil:
			v.Cause = ReleasedByAnother
			v.Because = sprintf("%s had deleted the lock of %s at %s", workerName(taken.Process), workerName(op.Process), moment(taken.Call))
		case over:
			v.Cause = LeaseRanOut
			v.Because = r.leaseStory(k, op.Process, granted, op.Call) + ", and its release did not look whose lock it was"
		default:
			v.Because = sprintf("%s was granted the lock at %s, after %s", workerName(victim.worker()), moment(victim.from), workerName(op.Process))
		}
	})
}
