package checker

import (
	"github.com/lockcheck/lockcheck/histories"
)

// leaseGaps finds extends that said ok although the lease had ended and
// someone else held the lock in between.
//
//	A  acquire ok [═══════ until)                 extend ─ ok
//	B                            acquire ok [══) release
//
// The beliefs of A and B do not overlap, but A goes on as if it had held the
// lock all the time: what it read before, it will write now. The lease must
// certainly have ended: a TTL after the last answer that granted or renewed
// it, unless a clock was tampered with; or, while there has been one store
// only, by its own deadline: what B was granted there, A no longer had.
func (r *run) leaseGaps(k *keyed) {
	var l latestHolders
	last := map[histories.Process]*lastHeard{}
	next, holds := 0, exclusive(k.holds)
	for _, op := range exclusively(k.locks) {
		for ; next < len(holds) && holds[next].from <= op.Call; next++ {
			l.see(holds[next])
		}
		c := last[op.Process]
		if c == nil {
			c = &lastHeard{}
			last[op.Process] = c
		}
		if op.F == histories.Extend && op.Outcome == histories.OK && c.confirmed != nil && c.over(r, op) {
			if between := l.other(op.Process); between != nil && between.from >= c.confirmed.Return {
				r.leaseGap(k, c, between, op)
			}
		}
		c.see(r, op)
	}
}

// lastHeard is what a worker last heard of its own lease.
type lastHeard struct {
	confirmed *histories.Op // the last ok acquire or extend; nil if a later acquire may have acted
	ends      int64         // the latest moment at which it can end
	until     int64         // the worker's own deadline; Never if none is shown
	released  *histories.Op // the release that said ok since, if it ended the lease before its time
}

func (c *lastHeard) see(r *run, op *histories.Op) {
	switch {
	case op.F == histories.Release && op.Outcome == histories.OK && c.confirmed != nil:
		if op.Return < c.ends {
			c.ends, c.released = op.Return, op
		}
	case op.F == histories.Release:
	case op.F == histories.Acquire && op.Outcome == histories.Info:
		*c = lastHeard{} // what is renewed from now on may be this one
	case op.Outcome == histories.OK:
		c.confirmed, c.ends, c.until, c.released = op, r.leaseEnd(op), histories.Never, nil
		if op.Until.Known {
			c.until = op.Until.N
		}
	case op.Outcome == histories.Info && op.F == histories.Extend && c.confirmed != nil:
		c.ends, c.until = max(c.ends, r.leaseEnd(op)), histories.Never
	}
}

// over reports whether the lease had certainly ended when extend was sent.
func (c *lastHeard) over(r *run, extend *histories.Op) bool {
	if c.ends < extend.Call && extend.Return < r.skewed {
		return true // a skewed clock may make a lease last longer than its TTL
	}
	return min(c.ends, c.until) < extend.Call && r.oneStore(extend.Return)
}

// oneStore reports whether nothing worse had happened to servers by at than
// that their clocks were changed: then no two of them gave one lock away.
func (r *run) oneStore(at int64) bool { return at <= r.split }

// latestHolders are the holds of two workers that began last: one of them is
// of another worker than any given one.
type latestHolders [2]*hold

func (l *latestHolders) see(h *hold) {
	if h.from == h.to {
		return
	}
	if l[0] != nil && l[0].worker() != h.worker() {
		l[1] = l[0]
	}
	l[0] = h
}

func (l *latestHolders) other(p histories.Process) *hold {
	for _, h := range l {
		if h != nil && h.worker() != p {
			return h
		}
	}
	return nil
}

func (r *run) leaseGap(k *keyed, c *lastHeard, between *hold, op *histories.Op) {
	confirmed, heard := c.confirmed, *c // c goes on
	v := Violation{Property: LeaseGap, From: min(c.ends, c.until), To: op.Return, Ops: []int64{op.ID}}
	r.add(k, v, func(v *Violation) {
		v.Workers = []histories.Process{op.Process, between.worker()}
		v.Evidence = evidence(confirmed, heard.released, between.acquire, between.release, op)
		v.Summary = sprintf("%s was told at %s that its lease on %s goes on, but it had ended and %s held the lock in between, from %s",
			workerName(op.Process), moment(op.Return), k.name, workerName(between.worker()), moment(between.from))
		v.Faults = r.during(confirmed.Call, op.Return)
		v.Cause, v.Because = r.whyGap(k, &heard, between, op)
	})
}

// whyGap tells how a lease had ended, and what the extend that said ok did: it may
// have begun a new one, have prolonged another's, or have found what a server
// remembered of one that was released.
func (r *run) whyGap(k *keyed, c *lastHeard, between *hold, op *histories.Op) (Cause, string) {
	if c.released != nil {
		why := sprintf("%s had released it at %s", workerName(op.Process), moment(c.released.Call))
		if cause, because := r.whyForgotten("that release", c.released.Call, op.Return); cause != CauseUnknown {
			return cause, why + ", but " + because
		}
		return RenewedReleased, why + ", and its renewal went on: it " + r.didTo(between, op)
	}
	return LeaseRanOut, r.leaseStory(k, op.Process, c.confirmed, op.Call) + ", and the renewal " + r.didTo(between, op) + " instead of failing"
}

// didTo says what an extend did to a lock that another had held since.
func (r *run) didTo(between *hold, op *histories.Op) string {
	switch {
	case between.to >= op.Return && r.oneStore(op.Return):
		return sprintf("prolonged the lock of %s", workerName(between.worker()))
	case between.to <= op.Call && between.why == byRelease:
		return "took the lock anew"
	}
	return "took the lock anew, or prolonged another's,"
}
