package checker

import (
	"github.com/lockcheck/lockcheck/histories"
)

// A release that was sent under an older hold may act under a newer one, of
// another worker or its own.
//
//	A  acquire a [═══) release a ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ acts
//	A                              acquire b [═══════════)   the same owner

// releaseInFlight is a release of unknown outcome, of an older hold than a, that
// may have ended the lock under a before b was granted it: one that names the
// owner of a, or none; or any, where releases of this history do not compare.
func (r *run) releaseInFlight(k *keyed, a, b *hold) *histories.Op {
	blind := r.comparesNothing()
	for _, op := range k.locks {
		if op.Call > b.from {
			break
		}
		if op.F != histories.Release || op.Outcome != histories.Info || r.lastsUntil(op) < a.from {
			continue
		}
		if op.Token != "" && a.acquire.Token != "" && ownerOf(op) != ownerOf(a.acquire) && !blind {
			continue
		}
		if op.Process == a.worker() {
			if op.Call <= a.acquire.Call {
				return op
			}
			continue
		}
		if h := k.endedBy(op); h == nil || h.from < a.from {
			return op
		}
	}
	return nil
}

// releaseSentAgain is a release of another lease of a's worker, with the same
// owner, that was sent while a was held and said ok before b was granted it.
//
//	A  acquire a ── no answer ── acquire b [══════╳══)
//	A                                        release a, again: ok
func (r *run) releaseSentAgain(k *keyed, a, b *hold) *histories.Op {
	if r.spec.Reentrant {
		return nil
	}
	for _, op := range k.locks {
		if op.Call > b.from {
			break
		}
		if op.F == histories.Release && op.Outcome == histories.OK && op.Process == a.worker() && op.Call >= a.from && op.Call < a.to &&
			op.Token != a.acquire.Token && ownerOf(op) == ownerOf(a.acquire) && ownerOf(op) != "" {
			return op
		}
	}
	return nil
}

// comparesNothing reports whether some release of the history deleted what was
// another worker's: then none of them looks whose lock it deletes.
func (r *run) comparesNothing() bool {
	for _, k := range r.keys {
		if _, foreign := k.broken(ForeignRelease); foreign > 0 {
			return true
		}
	}
	return false
}

// endedBy is the hold that a release ended, or that its worker had had last
// before it; nil if there is none.
func (k *keyed) endedBy(release *histories.Op) *hold {
	return k.believed.last(release.Process, release.Call)
}

func whyLateRelease(op *histories.Op, a *hold) (Cause, string) {
	if op.Process == a.worker() {
		return OwnLateRelease, sprintf("a release that %s had sent at %s, before it took the lock again, was still on its way: it may have deleted what it had held since %s",
			workerName(op.Process), moment(op.Call), moment(a.from))
	}
	return ReleasedByAnother, sprintf("a release that %s had sent at %s was still on its way: it may have deleted the lock that %s had held since %s",
		workerName(op.Process), moment(op.Call), workerName(a.worker()), moment(a.from))
}

// whyLateDelete looks for a release that had been sent before a was granted the
// lock and said ok after that, its own lease over before: a design that looks
// first, and deletes whatever is there later.
//
//	C  acquire [══════ lease ┄┄) release ──────────────── ok "deleted"
//	A                             acquire ok [════════════╳══)
//	B                                                      acquire ok [══
func (r *run) whyLateDelete(k *keyed, a, b *hold) (Cause, string) {
	if r.spec.TTL <= 0 {
		return CauseUnknown, ""
	}
	for _, op := range k.locks {
		if op.Call > a.from {
			break
		}
		if op.F != histories.Release || op.Outcome != histories.OK || op.Process == a.worker() || op.Return <= a.from {
			continue
		}
		h := k.endedBy(op)
		if h == nil || h.from >= a.from {
			continue
		}
		confirmed := k.confirmed(h, op.Call)
		over := histories.Later(confirmed.Call, r.spec.Lease(confirmed))
		if over > a.acquire.Return {
			continue // its own lock may have been there to delete
		}
		why := sprintf("%s sent its release at %s, its lease was over at %s, and the release deleted at %s or before what %s had held since %s",
			workerName(op.Process), moment(op.Call), moment(over), moment(op.Return), workerName(a.worker()), moment(a.from))
		if pause := r.pauseOf(op.Process, op.Call, op.Return); pause != nil {
			why += "; " + r.pauseStory(pause, op.Process)
		}
		return ReleasedByAnother, why
	}
	return CauseUnknown, ""
}

// nothingKnown says what a history tells of two grants at once that nothing
// explains: what cannot have been the reason.
func (r *run) nothingKnown(k *keyed, a, b *hold) string {
	if len(r.during(a.acquire.Call, b.from)) > 0 {
		return ""
	}
	if refused := r.neverGranted(a, b); refused != nil {
		return sprintf("no fault was in force, and %s, told at %s that it had the lock, was told at %s that it was not the owner: its grant never was one",
			workerName(refused.Process), moment(b.from), moment(refused.Return))
	}
	if r.spec.TTL <= 0 {
		return sprintf("no fault was in force, and the lock of %s has no lease: it cannot end by itself; the service granted it twice, or a third party deleted it", workerName(a.worker()))
	}
	confirmed := k.confirmed(a, b.from)
	if confirmed.Return > b.from {
		return sprintf("no fault was in force, and a renewal by %s, sent at %s and answered at %s, was under way: it took the lock anew, or the service granted it twice",
			workerName(a.worker()), moment(confirmed.Call), moment(confirmed.Return))
	}
	left := histories.Later(confirmed.Call, r.spec.Lease(confirmed)) - b.from
	return sprintf("no fault was in force, and the lease of %s had %s to go: the service granted it twice, or a third party deleted it", workerName(a.worker()), length(left))
}

// neverGranted is the release of b that was refused within its lease, while that
// of a was not: then b had nothing.
func (r *run) neverGranted(a, b *hold) *histories.Op {
	refused := b.release
	if refused == nil || refused.Outcome != histories.Fail || refused.Error != histories.NotOwner || a.release == nil || a.release.Outcome != histories.OK {
		return nil
	}
	if r.spec.TTL > 0 && refused.Return >= histories.Later(b.acquire.Call, r.spec.Lease(b.acquire)) {
		return nil
	}
	return refused
}
