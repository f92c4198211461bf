package checker

import (
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/histories"
)

// Causes are told from the operations and the marks of the history. A cause
// is named when the history has its events, first the ones that explain the
// violation alone; a cause in doubt is left out.

// whyDoubleHold explains how b was granted while a believed.
func (r *run) whyDoubleHold(k *keyed, a, b *hold) (Cause, string) {
	if op := r.foreignReleaseBetween(k, a, b); op != nil {
		return ReleasedByAnother, sprintf("%s released at %s what %s had held since %s",
			workerName(op.Process), moment(op.Call), workerName(a.worker()), moment(a.from))
	}
	if op := r.brokenBetween(k, a, b); op != nil {
		return DeletedByAnother, sprintf("%s deleted at %s the lock that %s had held since %s, and told it nothing",
			workerName(op.Process), moment(op.Call), workerName(a.worker()), moment(a.from))
	}
	if cause, because := r.whyLeaseEnded(k, a, b.from); cause != CauseUnknown {
		return cause, because
	}
	if cause, because := r.whyForgotten("the lock", a.acquire.Call, b.from); cause != CauseUnknown {
		return cause, because
	}
	if t := ownerOf(a.acquire); t != "" && t == ownerOf(b.acquire) {
		return SharedOwner, sprintf("both call themselves %q, so the lock takes them for one", t)
	}
	if cause, because := r.whyMadeUp(a, b); cause != CauseUnknown {
		return cause, because
	}
	if op := r.releaseSentAgain(k, a, b); op != nil {
		return OwnLateRelease, sprintf("a release that %s sent again at %s, of a lease it had had before, deleted what it had held since %s",
			workerName(op.Process), moment(op.Call), moment(a.from))
	}
	if op := r.releaseInFlight(k, a, b); op != nil {
		return whyLateRelease(op, a)
	}
	if cause, because := r.whyLateDelete(k, a, b); cause != CauseUnknown {
		return cause, because
	}
	if cut := r.holderCut(k, a, b); cut != nil {
		return ConnectionGone, sprintf("%s: the lock of %s has no lease, and nobody is known to have given it back or deleted it",
			faultStory(cut), workerName(a.worker()))
	}
	return CauseUnknown, r.nothingKnown(k, a, b)
}

// holderCut is a cut of the connections of a's worker, before b was granted a lock
// that has no lease: one that lives as long as its holder's connection. Where
// somebody may have deleted the lock, it explains nothing.
func (r *run) holderCut(k *keyed, a, b *hold) *fault {
	if r.spec.TTL > 0 {
		return nil
	}
	for _, op := range k.breaks {
		if op.Outcome != histories.Fail && op.Call <= b.from && r.lastsUntil(op) >= a.from && mayBreak(op, a.acquire) {
			return nil
		}
	}
	return r.find(histories.Kill, a.from, b.from, func(f *fault) bool {
		return f.from >= a.from && kind(f.event).Hits == histories.HitsConnections && f.hitsWorker(r, a.worker())
	})
}

// ownerOf is what a design wrote into the lock. The recorder adds "#op" to
// tokens, so that each acquire's is unique.
func ownerOf(op *histories.Op) string {
	owner, _, _ := strings.Cut(op.Token, "#")
	return owner
}

// foreignReleaseBetween is a foreign release that deleted the lock under a
// before b was granted it. One that was sent when a's lease had certainly run out
// deleted somebody else's.
func (r *run) foreignReleaseBetween(k *keyed, a, b *hold) *histories.Op {
	foreign, _ := k.broken(ForeignRelease)
	if len(foreign) == 0 {
		return nil
	}
	over := r.leaseEnd(k.confirmed(a, b.from))
	for i := range foreign {
		op := r.op(foreign[i].Ops[0])
		if op.Call >= a.from && op.Call <= min(b.from, over) && op.Process != a.worker() {
			return op
		}
	}
	return nil
}

// confirmed is the last ok acquire or extend of a hold that was sent before t: it
// may have acted by then, also where its answer came later.
func (k *keyed) confirmed(h *hold, t int64) *histories.Op {
	last := h.acquire
	if h.resumed != nil {
		last = h.resumed
	}
	for _, op := range k.locks {
		if op.Call > t {
			break
		}
		if op.F == histories.Extend && op.Outcome == histories.OK && op.Process == h.worker() && op.Return >= last.Return {
			last = op
		}
	}
	return last
}

// whyLeaseEnded tells whether hold h had outlived its lease at t.
func (r *run) whyLeaseEnded(k *keyed, h *hold, t int64) (Cause, string) {
	last := k.confirmed(h, t)
	if r.spec.TTL <= 0 || t < histories.Later(last.Call, r.spec.Lease(last)) {
		return CauseUnknown, ""
	}
	return r.renewalCause(k, h.worker(), last.Call, t), r.leaseStory(k, h.worker(), last, t)
}

// renewalCause tells a renewal that stopped from a lease without renewal, whose
// worker slept, or whose renewal came too late. from is when the lease was granted
// or renewed last.
func (r *run) renewalCause(k *keyed, p histories.Process, from, to int64) Cause {
	pause := r.pauseOf(p, from, to)
	if pause != nil && (pause.event.Fault == nil || pause.event.Fault.Step != histories.StepRenewal) {
		return LeaseRanOut
	}
	renewed := false
	for _, op := range k.locks {
		if op.Call > to {
			break
		}
		if op.F == histories.Extend && op.Process == p {
			renewed = true
			if op.Call > from && op.Outcome == histories.OK {
				return LeaseRanOut // answered too late
			}
		}
	}
	if renewed || r.renews && pause != nil {
		return RenewalStopped
	}
	return LeaseRanOut
}

// leaseStory says when the lease that confirmed began or renewed ran out, and
// what kept its worker from noticing.
func (r *run) leaseStory(k *keyed, p histories.Process, confirmed *histories.Op, now int64) string {
	verb, at := "granted", confirmed.Return
	if confirmed.F == histories.Extend {
		verb = "renewed last"
	}
	if at > now { // the answer came later than what it explains
		verb, at = "renewed last by a request", confirmed.Call
	}
	s := sprintf("the lease of %s on %s, %s at %s, lasted %s", workerName(p), k.name, verb, moment(at), length(int64(r.spec.Lease(confirmed))))
	if pause := r.pauseOf(p, at, now); pause != nil {
		s += "; " + r.pauseStory(pause, p)
	}
	return s
}

func (r *run) pauseOf(p histories.Process, from, to int64) *fault {
	return r.find(histories.Pause, from, to, func(f *fault) bool { return f.hitsWorker(r, p) })
}

// hitsWorker reports whether a fault hits a worker by name.
func (f *fault) hitsWorker(r *run, p histories.Process) bool {
	k := kind(f.event)
	part := k.Hits == histories.HitsWorkers && !k.Step // of a worker; other faults hit its process
	hit := func(name string) bool {
		n, ok := workerNumber(name)
		return ok && (n == p || !part && r.host(n) == r.host(p))
	}
	if f.event.Fault != nil && (slices.ContainsFunc(f.event.Fault.From, hit) || slices.ContainsFunc(f.event.Fault.To, hit)) {
		return true
	}
	return slices.ContainsFunc(f.event.Targets, hit)
}

// splitsWorkers reports whether a cut has workers, but not all of them, on one side.
func splitsWorkers(f *fault) bool {
	if f.event.Fault == nil {
		return slices.ContainsFunc(f.event.Targets, histories.IsWorker)
	}
	some := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return histories.IsWorker(name) && name != histories.RoleWorkers })
	}
	return some(f.event.Fault.From) || some(f.event.Fault.To)
}

// whyMadeUp tells whether one of the two was granted a lock by nobody: while
// it was cut off from the lock service, or that was down.
func (r *run) whyMadeUp(a, b *hold) (Cause, string) {
	// A worker that made a grant up had waited in vain for a real one.
	h := b
	if a.acquire.Return-a.acquire.Call > b.acquire.Return-b.acquire.Call {
		h = a
	}
	from, to := h.acquire.Call, h.from
	cut := r.find(histories.Partition, from, to, func(f *fault) bool { return splitsWorkers(f) && !r.leavesServers(f) })
	if cut == nil {
		cut = r.find(histories.Kill, from, to, func(f *fault) bool { return f.server && r.promotion(f.from, to) == nil && !r.leavesServers(f) })
	}
	if cut == nil {
		cut = r.find(histories.Loss, from, to, nil)
	}
	if cut == nil {
		return CauseUnknown, ""
	}
	return FailedOpen, sprintf("%s went on at %s although %s", workerName(h.worker()), moment(h.from), faultStory(cut))
}

// leavesServers reports whether a fault leaves servers alone that another fault hits:
// of several independent ones it takes a majority to make a grant impossible.
func (r *run) leavesServers(f *fault) bool {
	return len(r.roles) == 0 && slices.ContainsFunc(r.faults, func(o fault) bool {
		return slices.ContainsFunc(o.event.Targets, func(name string) bool {
			return !histories.IsWorker(name) && strings.HasPrefix(name, "redis-") && !slices.Contains(f.event.Targets, name)
		})
	})
}

// whyStale explains why a worker wrote after its hold.
func (r *run) whyStale(h *hold, w *histories.Op) (Cause, string) {
	switch h.why {
	case byRelease:
		return BeforeCommit, sprintf("%s sent its release at %s and wrote at %s", workerName(w.Process), moment(h.to), moment(w.Call))
	case byNotice:
		return FailedOpen, sprintf("%s was told at %s that the lock was gone, and went on", workerName(w.Process), moment(h.to))
	}
	why := sprintf("its deadline was at %s, its write at %s", moment(h.ended()), moment(w.Call))
	if pause := r.pauseOf(w.Process, h.acquire.Call, w.Call); pause != nil {
		why += "; " + r.pauseStory(pause, w.Process)
	}
	return r.renewalCause(r.keyOf(h.acquire.Key), w.Process, h.from, w.Call), why
}
