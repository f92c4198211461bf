package checker

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// stuckLocks finds locks that nobody holds and nobody gets.
//
// A key is taken while somebody may have it by right: from the call of an ok
// acquire to the end of the belief (or the answer to its release), from call
// to return of an unknown acquire or of a renewal by its holder, and while a
// fault hits the servers. When that is over it must be obtainable within TTL +
// grace, and a request that is late may act max-delay after that. An acquire
// that was invoked even later and was told "busy" shows a stuck lock:
//
//	A  acquire ─ info ┊← ttl + grace + max-delay →┊
//	B      busy   busy    busy            busy     ┊  acquire ─ busy
//
// Locks of several servers may answer busy because two tried at the same
// moment; so the answer counts only if nobody else tried within that time
// before it, or if the answers go on for that long, three of them at least.
func (r *run) stuckLocks(k *keyed) {
	bound := r.spec.TTL + r.spec.Grace + r.h.Header.MaxDelay
	if r.spec.TTL <= 0 && r.spec.Grace <= 0 {
		return // nothing is promised
	}
	busy := busyAcquires(k)
	if len(busy) == 0 {
		return
	}
	s := stuckSearch{run: r, k: k, bound: bound, taken: r.takenSpans(k), acquires: acquiresOf(k)}
	for _, op := range busy {
		s.see(op)
	}
	s.finish()
}

func busyAcquires(k *keyed) []*histories.Op {
	var busy []*histories.Op
	for _, op := range k.locks {
		if op.F == histories.Acquire && saidBusy(op) {
			busy = append(busy, op)
		}
	}
	return busy
}

// saidBusy reports whether an operation failed because the lock was not to be
// had. Designs may add why. An acquire that failed and gives no reason was
// busy: that is what the format says of one.
func saidBusy(op *histories.Op) bool {
	return op.Outcome == histories.Fail &&
		(strings.HasPrefix(op.Error, histories.Busy) || op.Error == "" && op.F == histories.Acquire)
}

// taken is a span in which somebody may have the lock by right.
type taken struct {
	from, to int64
	suspect  *histories.Op // the acquire behind it
	certain  bool          // it ended by a release that said ok
}

// takenSpans are the spans of a key, by from.
func (r *run) takenSpans(k *keyed) []taken {
	var spans []taken
	releases := releasesOf(k)
	for i := range k.holds {
		h := &k.holds[i]
		t := taken{from: h.acquire.Call, to: h.to, suspect: h.acquire}
		if h.why == bySaleOver || h.why == byReacquire || h.why == byCleanUp {
			released := releasedAfter(releases[h.worker()], h, r.ended)
			if h.why == byCleanUp && released == 0 {
				released = min(h.lapse, r.h.End) // it cleaned up after another acquire, and holds this one
			}
			t.to = max(t.to, released)
		}
		if h.release != nil {
			t.to, t.certain = max(t.to, r.ended(h.release)), h.release.Outcome == histories.OK
		}
		spans = append(spans, t)
	}
	for _, op := range k.locks {
		switch {
		case op.F == histories.Acquire && op.Outcome == histories.Info:
			spans = append(spans, taken{from: op.Call, to: r.ended(op), suspect: op})
		case op.F == histories.Extend && op.Outcome != histories.Fail:
			switch h := k.believed.last(op.Process, op.Call); {
			case h == nil:
			case h.to >= op.Call:
				spans = append(spans, taken{from: op.Call, to: r.ended(op), suspect: h.acquire})
			case h.why == byCleanUp && op.Token == h.acquire.Token && op.Call < r.mayHoldUntil(h):
				to := min(histories.Later(op.Return, r.spec.Lease(op)), r.mayHoldUntil(h))
				spans = append(spans, taken{from: op.Call, to: max(r.ended(op), to), suspect: h.acquire})
			}
		}
	}
	slices.SortStableFunc(spans, func(a, b taken) int { return cmp.Compare(a.from, b.from) })
	return spans
}

// mayHoldUntil is how long a worker may hold h by right, as far as it renews it: while
// it lives, and serves the sell of h. One that released a token that nobody knows may
// have released another acquire, of unknown outcome, and hold h still.
func (r *run) mayHoldUntil(h *hold) int64 {
	until := r.diesAt(h.worker(), h.acquire.Call)
	if sale := r.op(h.acquire.Parent); sale != nil {
		until = min(until, sale.Return)
	}
	return min(until, r.h.End)
}

// releasesOf are the releases of a key by worker, by Call.
func releasesOf(k *keyed) map[histories.Process][]*histories.Op {
	m := map[histories.Process][]*histories.Op{}
	for _, op := range k.locks {
		if op.F == histories.Release {
			m[op.Process] = append(m[op.Process], op)
		}
	}
	return m
}

// releasedAfter is when the worker of a hold whose belief was ended early, which
// is safe where an overlap is looked for and not here, released it after all;
// 0 if it did not.
func releasedAfter(releases []*histories.Op, h *hold, ended func(*histories.Op) int64) int64 {
	i := sort.Search(len(releases), func(i int) bool { return releases[i].Call >= h.to })
	for _, op := range releases[i:] {
		if op.Call > h.lapse && h.why == byReacquire {
			break
		}
		if op.Token == "" || h.acquire.Token == "" || op.Token == h.acquire.Token {
			return ended(op)
		}
	}
	return 0
}

// stuckSearch goes over busy answers by Call.
type stuckSearch struct {
	*run
	k     *keyed
	bound time.Duration
	taken []taken
	next  int // into taken

	free     int64 // since when nobody may have it, and no fault is in force
	owned    int64 // until when somebody may have had it
	suspect  *histories.Op
	certain  bool            // the suspect's release said ok
	streak   []*histories.Op // the first and the last busy answers since
	answers  int             // how many
	found    *histories.Op   // the first that shows a stuck lock
	told     bool            // it was reported, and nobody has certainly had it since
	clouded  *histories.Op   // the last that would be too late, were no server hit
	acquires []*histories.Op
	attempts int   // into acquires
	last     int64 // when the last attempt by anybody before had ended
}

func (s *stuckSearch) see(op *histories.Op) {
	owned, suspect, certain, granted := s.owned, s.suspect, s.certain, false
	for ; s.next < len(s.taken) && s.taken[s.next].from <= op.Return; s.next++ {
		t := s.taken[s.next]
		granted = granted || t.suspect.Outcome == histories.OK
		if t.to >= owned {
			owned, suspect, certain = t.to, t.suspect, t.certain
		}
	}
	calm := s.calmSince(op.Return)
	if free := max(owned, calm); free > s.free {
		s.finishStreak()
		s.free = free
	}
	if granted {
		s.told, s.clouded = false, nil
	}
	s.owned, s.suspect, s.certain = owned, suspect, certain
	if calm == histories.Never && op.Call > histories.Later(owned, s.bound) {
		s.clouded = op
	}
	alone := s.alone(op)
	if op.Call < s.free {
		return
	}
	s.answers++
	if len(s.streak) == 2 {
		s.streak[1] = op
	} else {
		s.streak = append(s.streak, op)
	}
	late := op.Call > histories.Later(s.free, s.bound)
	goesOn := s.answers >= 3 && op.Call > histories.Later(s.streak[0].Return, s.bound)
	if s.found == nil && late && (alone || goesOn) {
		s.found = op
	}
}

// alone reports whether no other acquire was on its way within the bound
// before op, or while it was.
func (s *stuckSearch) alone(op *histories.Op) bool {
	ops := s.acquires
	for ; s.attempts < len(ops) && ops[s.attempts].Call < op.Call; s.attempts++ {
		if a := ops[s.attempts]; a != op {
			s.last = max(s.last, s.ended(a))
		}
	}
	if s.last > op.Call-int64(s.bound) && s.attempts > 0 {
		return false
	}
	for _, a := range ops[s.attempts:] {
		if a.Call > op.Return {
			break
		}
		if a != op {
			return false
		}
	}
	return true
}

// finishStreak reports what the streak shows, and begins anew.
func (s *stuckSearch) finishStreak() {
	if s.found != nil {
		s.report()
	}
	s.streak, s.answers, s.found = s.streak[:0], 0, nil
}

// finish looks at the streak at the end of the history: it may show a stuck
// lock, or have been too short to tell.
func (s *stuckSearch) finish() {
	if s.found != nil {
		s.report()
		return
	}
	if s.clouded != nil && !s.grantedLater() {
		s.k.of(StuckLock).advice = adviseLease
		s.k.of(StuckLock).unknown = sprintf("%s: busy at %s although nobody held it, but a server was hit to the end of the run", s.k.name, moment(s.clouded.Call))
		return
	}
	if s.answers == 0 || s.free == histories.Never || s.grantedLater() || s.h.End > histories.Later(s.free, s.bound) {
		return
	}
	if s.certain && s.answers > 1 {
		return // several tried at once after a proper release
	}
	s.k.of(StuckLock).advice = adviseLease
	s.k.of(StuckLock).unknown = sprintf("%s: busy although nobody held it, but the run ended %s later, within TTL + grace: too short to tell",
		s.k.name, length(s.h.End-s.free))
}

// grantedLater reports whether somebody got the lock after the last busy
// answer.
func (s *stuckSearch) grantedLater() bool {
	return slices.ContainsFunc(s.taken[s.next:], func(t taken) bool { return t.suspect.Outcome == histories.OK })
}

// report tells of a stuck lock, once: an acquire of unknown outcome in the midst
// of it may have got it or not, and does not make it another.
func (s *stuckSearch) report() {
	if s.told {
		return
	}
	s.told = true
	end := s.streak[len(s.streak)-1]
	v := Violation{Property: StuckLock, From: s.free, To: end.Return}
	then := *s // s goes on
	s.add(s.k, v, func(v *Violation) {
		then.suspectWaiter()
		if then.suspect != nil {
			v.Ops = []int64{then.suspect.ID}
			v.Workers = []histories.Process{then.suspect.Process}
		}
		v.Summary = sprintf("%s was free to take for %s, %s, yet nobody got it", v.Key, length(v.To-v.From), span(v.From, v.To))
		v.Evidence = evidence(then.suspect, then.lastRelease(), then.found)
		v.Faults = then.during(v.From, v.To)
		v.Cause, v.Because = then.why()
	})
}

// suspectWaiter looks for who may have been handed the lock when the suspect's
// release had given it back for certain: the one acquire of unknown outcome
// that was on its way then. Of several, none is to blame for certain.
//
//	A  acquire ok [══════) release ok
//	B      acquire ✕ killed              queued, and served after all
func (s *stuckSearch) suspectWaiter() {
	if !s.certain || s.suspect == nil {
		return
	}
	done := s.releasedTokens()
	var waiter *histories.Op
	for _, t := range s.taken[:s.next] {
		op := t.suspect
		if op.Outcome != histories.Info || s.ended(op) < s.suspect.Call || done[owner{op.Process, op.Token}] > op.Call {
			continue
		}
		if waiter != nil && waiter != op {
			return
		}
		waiter = op
	}
	if waiter != nil {
		s.suspect, s.certain = waiter, false
	}
}

// owner is a worker and the token of one of its acquires.
type owner struct {
	worker histories.Process
	token  string
}

// releasedTokens tells when a release that said ok was called last, by what it released.
func (s *stuckSearch) releasedTokens() map[owner]int64 {
	done := map[owner]int64{}
	for _, op := range s.k.locks {
		if op.F == histories.Release && op.Outcome == histories.OK {
			done[owner{op.Process, op.Token}] = op.Call
		}
	}
	return done
}

// lastRelease is the release of the suspect's worker before the lock was free.
func (s *stuckSearch) lastRelease() *histories.Op {
	var last *histories.Op
	for _, op := range s.k.locks {
		if op.Call > s.free {
			break
		}
		if s.suspect != nil && op.F == histories.Release && op.Process == s.suspect.Process && op.Call >= s.suspect.Call {
			last = op
		}
	}
	return last
}

func (s *stuckSearch) why() (Cause, string) {
	if s.suspect == nil {
		return CauseUnknown, ""
	}
	name := workerName(s.suspect.Process)
	if skew := s.find(histories.Skew, s.suspect.Call, histories.Later(s.free, s.bound), nil); skew != nil {
		return ClockJumped, faultStory(skew)
	}
	for _, op := range s.k.locks {
		if op.F == histories.Extend && op.Process == s.suspect.Process && op.Call > s.free && op.Outcome == histories.OK {
			return NeverReleased, sprintf("%s goes on renewing it, at %s for instance", name, moment(op.Call))
		}
	}
	death := s.diesAt(s.suspect.Process, s.suspect.Call)
	release := s.lastRelease()
	switch {
	case s.suspect.Outcome == histories.Info && death <= s.ended(s.suspect):
		return NeverReleased, sprintf("%s was killed at %s while it took the lock", name, moment(death))
	case s.suspect.Outcome == histories.Info:
		return NeverReleased, sprintf("%s never learnt whether it had got the lock at %s", name, moment(s.suspect.Call))
	case release == nil && death <= s.free:
		return NeverReleased, sprintf("%s was killed at %s while it held the lock", name, moment(death))
	case release == nil:
		return NeverReleased, sprintf("%s never sent a release", name)
	case release.Outcome == histories.OK:
		return CauseUnknown, sprintf("%s had released it at %s, and was told that it was done", name, moment(release.Call))
	}
	return NeverReleased, sprintf("the release of %s at %s did not act", name, moment(release.Call))
}
