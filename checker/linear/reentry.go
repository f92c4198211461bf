package linear

import "github.com/lockcheck/lockcheck/histories"

// Reentries tells whether two acquires may be one worker's taking what it has:
// the second is no new grant then, and may carry the number of the first.
func Reentries(ops []*histories.Op, spec histories.LockSpec) func(a, b *histories.Op) bool {
	if !spec.Reentrant {
		return func(_, _ *histories.Op) bool { return false }
	}
	of := stays(ops)
	return func(a, b *histories.Op) bool { return of[a] == of[b] }
}

// stays numbers the stays of workers at a reentrant lock: two acquires have
// one number if their worker may have kept the lock all the time between them.
// A stay has certainly ended when each acquire in it, those of unknown outcome
// included, has been released by a release of its token that said ok: what the
// worker is granted then is a new grant, not the same one again.
//
//	acquire a   acquire b   release b   acquire c   release c   release a ┊  acquire d
//	            again                   again                             ┊  anew
//
// ops are acquires and releases of one key, by Call; the answer has the
// acquires that did not fail.
func stays(ops []*histories.Op) map[*histories.Op]int {
	of, staying := map[*histories.Op]int{}, map[histories.Process]*stay{}
	last := 0
	for _, op := range ops {
		s := staying[op.Process]
		switch {
		case op.F == histories.Release && op.Outcome == histories.OK && s != nil:
			s.ending = append(s.ending, op)
		case op.F == histories.Acquire && op.Outcome != histories.Fail:
			if s == nil || s.endedBefore(op) {
				last++
				s = &stay{number: last, open: map[string]int{}}
				staying[op.Process] = s
			}
			of[op] = s.number
			s.open[op.Token]++
			s.depth++
		}
	}
	return of
}

// stay is what one worker has taken and not yet released for certain.
type stay struct {
	number int
	open   map[string]int // acquires by token
	depth  int            // how many in all
	ending []*histories.Op
}

// endedBefore reports whether all was released before the worker sent op. The
// releases of one worker come in the order of their calls. One of a token that
// the stay does not have, or no longer, is about something else.
func (s *stay) endedBefore(op *histories.Op) bool {
	for len(s.ending) > 0 && s.ending[0].Return <= op.Call {
		if token := s.ending[0].Token; s.open[token] > 0 {
			s.open[token]--
			s.depth--
		}
		s.ending = s.ending[1:]
	}
	return s.depth == 0
}
