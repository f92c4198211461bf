package checker

import (
	"slices"
	"sort"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// leasesLost finds releases and extends that were told "not the owner" although
// the lease was certainly in force, and nothing that the history has can have
// ended it.
//
//	A  acquire ─ ok   release ─ not the owner     ┊
//	   └──────────────── ttl ─────────────────────┘
//
// A lease is certainly in force until a TTL after the call of the acquire or
// extend that began or renewed it: the request may have acted as early as that.
// These may have ended it sooner:
//
//   - a fault that hit servers, links or clocks at any time before;
//   - a release of its own worker, in doubt or done;
//   - a release of another that is in doubt, or that may have found anything but
//     its own worker's lease;
//   - a recorded deletion, a foreign release;
//   - a grant to another who believes beside it: that is a double hold, and told
//     as one;
//   - an acquire of its own worker after it.
//
// A lock without a TTL is judged by lock-not-linearizable: no answer of "not the
// owner" fits it while it is held.
func (r *run) leasesLost(k *keyed) {
	if r.spec.TTL <= 0 || !slices.ContainsFunc(k.locks, saysNotOwner) {
		return
	}
	x := r.endersOf(k)
	var others leaders
	next := 0
	leases := map[histories.Process]*knownLease{}
	for _, op := range k.locks {
		for ; next < len(k.holds) && k.holds[next].from <= op.Call; next++ {
			others.see(&k.holds[next])
		}
		mine := leases[op.Process]
		if mine == nil {
			mine = &knownLease{}
			leases[op.Process] = mine
		}
		mine.hear(op.Call)
		if saysNotOwner(op) && !mine.told && mine.names(op) && op.Return < mine.sure(r) && !x.mayHaveEnded(r, mine.grant, op) {
			mine.told = true
			if h := others.other(op.Process); h == nil || h.to <= mine.grant.Return {
				r.leaseLost(k, *mine, op)
			}
		}
		mine.see(op)
	}
}

func saysNotOwner(op *histories.Op) bool {
	return op.Outcome == histories.Fail && op.Error == histories.NotOwner && (op.F == histories.Release || op.F == histories.Extend)
}

// knownLease is what a worker knows of its newest lease.
type knownLease struct {
	grant     *histories.Op // nil: none, or it is in doubt
	confirmed *histories.Op // the acquire or the last extend that said ok
	pending   *histories.Op // an extend that says ok, but has not by now
	ended     bool          // a release by its worker has ended it, or may have
	told      bool          // its loss has been reported
}

// clocks is the share of a TTL by which the clocks of workers and servers may
// differ in measuring it, with no fault.
const clocks = 100

// sure is until when the lease is certainly in force.
func (l *knownLease) sure(r *run) int64 {
	lease := r.spec.Lease(l.confirmed)
	end := histories.Later(l.confirmed.Call, lease-lease/clocks)
	if l.confirmed.Until.Known {
		end = min(end, l.confirmed.Until.N)
	}
	return end
}

// names reports whether an operation is about this lease.
func (l *knownLease) names(op *histories.Op) bool {
	return l.grant != nil && !l.ended && l.grant.Return <= op.Call &&
		(op.Token == "" || l.grant.Token == "" || op.Token == l.grant.Token)
}

// hear takes in what was answered by now.
func (l *knownLease) hear(now int64) {
	if l.pending != nil && l.pending.Return <= now {
		l.confirmed, l.pending = l.pending, nil
	}
}

func (l *knownLease) see(op *histories.Op) {
	switch {
	case op.F == histories.Acquire && op.Outcome == histories.OK:
		*l = knownLease{grant: op, confirmed: op}
	case op.F == histories.Acquire && op.Outcome == histories.Info:
		*l = knownLease{} // what is released from now on may be this one
	case op.F == histories.Release && op.Outcome != histories.Fail:
		l.ended = true
	case op.F == histories.Extend && op.Outcome == histories.OK && l.names(op):
		l.pending = op
	}
}

// enders are what may have ended a lease before its time.
type enders struct {
	breaks  breakIndex
	doubt   []lasting                       // releases that may have deleted anybody's
	own     map[histories.Process][]lasting // releases by worker
	foreign int64                           // the first foreign release; Never if there is none
}

func (r *run) endersOf(k *keyed) enders {
	x := enders{breaks: r.breaksOf(k), own: map[histories.Process][]lasting{}, foreign: histories.Never}
	if list, _ := k.broken(ForeignRelease); len(list) > 0 {
		x.foreign = list[0].From
	}
	leases := map[histories.Process]*knownLease{}
	for _, op := range k.locks {
		mine := leases[op.Process]
		if mine == nil {
			mine = &knownLease{}
			leases[op.Process] = mine
		}
		mine.hear(op.Call)
		if op.F == histories.Release && op.Outcome != histories.Fail {
			ended := op.Return
			if op.Outcome == histories.Info {
				ended = r.lastsUntil(op)
			}
			x.own[op.Process] = withLasting(x.own[op.Process], op.Call, ended)
			if op.Outcome == histories.Info || !mine.names(op) || op.Return >= mine.sure(r) {
				x.doubt = withLasting(x.doubt, op.Call, ended)
			}
		}
		mine.see(op)
	}
	return x
}

// mayHaveEnded reports whether anything may have ended a grant before op was
// refused.
func (x *enders) mayHaveEnded(r *run, grant, op *histories.Op) bool {
	own := x.own[op.Process]
	return r.serversHurt(op.Return+1) || r.skewed <= op.Return || x.foreign <= op.Return ||
		x.breaks.of(grant) <= op.Return ||
		actedWithin(x.doubt, grant.Call, op.Return) || actedWithin(own, grant.Call, op.Return) ||
		r.interrupted(op)
}

// actedWithin reports whether one of a list may have acted in [from, to].
func actedWithin(list []lasting, from, to int64) bool {
	i := sort.Search(len(list), func(i int) bool { return list[i].call > to })
	return i > 0 && list[i-1].ended >= from
}

// interrupted reports whether anybody was frozen or slowed down while op was
// under way: its client may have sent it twice, and been told of the second.
func (r *run) interrupted(op *histories.Op) bool {
	i := sort.Search(len(r.slow), func(i int) bool { return r.slow[i].call > op.Return })
	return i > 0 && r.slow[i-1].ended >= op.Call
}

func (r *run) leaseLost(k *keyed, l knownLease, op *histories.Op) {
	v := Violation{Property: LeaseLost, From: l.confirmed.Call, To: op.Return, Ops: []int64{op.ID}}
	r.add(k, v, func(v *Violation) {
		v.Workers = []histories.Process{op.Process}
		v.Evidence = evidence(l.grant, l.confirmed, op)
		if l.confirmed == l.grant {
			v.Evidence = evidence(l.grant, op)
		}
		left := time.Duration(histories.Later(l.confirmed.Call, r.spec.Lease(l.confirmed)) - op.Return)
		v.Summary = sprintf("%s was told at %s that %s is not its own, %s before its lease can have ended",
			workerName(op.Process), moment(op.Return), k.name, length(int64(left)))
		v.Faults = r.during(l.grant.Call, op.Return)
		v.Because = r.whyLeaseLost(l, op)
	})
}

// whyLeaseLost says what the history leaves over; what it was, nobody recorded.
func (r *run) whyLeaseLost(l knownLease, op *histories.Op) string {
	s := "no fault hit a server or a clock, and no release, deletion or other grant is recorded that can have ended it: "
	if l.confirmed != l.grant {
		return s + sprintf("it was there when it was renewed at %s; the %s looks elsewhere, or somebody deleted it unrecorded", moment(l.confirmed.Return), op.F)
	}
	return s + sprintf("it never was a grant, the %s looks elsewhere, or somebody deleted it unrecorded", op.F)
}
