package linear

import (
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// The brute force knows nothing of the exact checks: it tries all orders. An
// order is built from the front; each operation happens as early as those
// before it allow, which leaves most room for those after it.

// lockBrute searches for a legal order of a lock's operations.
type lockBrute struct {
	spec histories.LockSpec
	end  func(*histories.Op) int64
	ops  []*histories.Op // that can have had an effect or tell of the state
	seen map[string]bool
	// strict: a grant carries its holder's number again only if the holder has
	// kept the lock since, in this very order. Else it may unless the holder has
	// certainly let go of it, in whatever order.
	strict bool
}

// lockState is the lock after some operations.
type lockState struct {
	time   int64
	placed uint32        // by place in ops
	lapsed uint32        // acquires whose lease ran out
	spent  uint32        // … and was released afterwards
	live   []int         // acquires in force, by place in ops
	fence  histories.Num // of the last grant that had one
	fencer int           // who got that one, by place in ops
	kept   bool          // and has had the lock since
}

func bruteLock(ops []*histories.Op, spec histories.LockSpec, end func(*histories.Op) int64) bool {
	return newLockBrute(ops, spec, end).search(lockState{})
}

func newLockBrute(ops []*histories.Op, spec histories.LockSpec, end func(*histories.Op) int64) *lockBrute {
	b := &lockBrute{spec: spec, end: end, seen: map[string]bool{}}
	for _, op := range ops {
		if op.F == histories.Acquire && op.Outcome != histories.Fail || op.F == histories.Release {
			b.ops = append(b.ops, op)
		}
	}
	return b
}

func (b *lockBrute) search(s lockState) bool {
	done := true
	for i, op := range b.ops {
		if s.placed>>i&1 == 0 && !b.perhaps(op) {
			done = false
			if op.Return < s.time {
				return false
			}
		}
	}
	if done {
		return true
	}
	key := fmt.Sprint(s)
	if b.seen[key] {
		return false
	}
	b.seen[key] = true
	for i := range b.ops {
		if s.placed>>i&1 == 0 && b.next(s, i) && slices.ContainsFunc(b.place(s, i), b.search) {
			return true
		}
	}
	return slices.ContainsFunc(b.lapse(s), b.search)
}

// perhaps reports whether op may have had its effect at any time or never. A
// release that failed for another reason than that a lock without a lease
// was not held says nothing: its worker has given up the lock.
func (b *lockBrute) perhaps(op *histories.Op) bool {
	denied := op.Outcome == histories.Fail && op.Error == histories.NotOwner && b.spec.TTL == 0
	return op.Outcome != histories.OK && !denied
}

// next reports whether all that its own worker had completed before is
// placed: a worker does one thing after the other, also within one instant.
func (b *lockBrute) next(s lockState, i int) bool {
	op := b.ops[i]
	for j, before := range b.ops {
		if s.placed>>j&1 == 0 && before.Process == op.Process && !b.perhaps(before) &&
			before.Return <= op.Call && before.CallLine < op.CallLine {
			return false
		}
	}
	return true
}

// place are the states after operation i.
func (b *lockBrute) place(s lockState, i int) []lockState {
	op := b.ops[i]
	s.placed |= 1 << i
	s.time = max(s.time, op.Call)
	s.live = slices.Clone(s.live)
	if op.F == histories.Acquire {
		return b.acquire(s, i)
	}
	return b.release(s, op)
}

func (b *lockBrute) acquire(s lockState, i int) []lockState {
	op := b.ops[i]
	for _, j := range s.live {
		switch other := b.ops[j]; {
		case other.Process != op.Process:
			return nil
		case b.spec.Reentrant:
		case b.spec.TTL > 0:
			s.time = max(s.time, other.Call+int64(b.spec.TTL))
		default:
			return nil
		}
	}
	if op.Outcome == histories.OK && s.time > op.Return {
		return nil
	}
	if op.Outcome == histories.OK && op.Fence.Known {
		again := b.spec.Reentrant && op.Fence == s.fence && b.again(s, op)
		if s.fence.Known && op.Fence.N <= s.fence.N && !again {
			return nil
		}
		s.fence, s.fencer, s.kept = op.Fence, i, true
	}
	s.live = append(s.live, i)
	return []lockState{s}
}

// again reports whether op's worker may still have the lock that came with the
// last number.
func (b *lockBrute) again(s lockState, op *histories.Op) bool {
	who := b.ops[s.fencer].Process
	if who != op.Process || b.strict {
		return who == op.Process && s.kept
	}
	first, last := b.ops[s.fencer], op
	if first.CallLine > last.CallLine {
		first, last = last, first
	}
	open, n := map[string]int{}, 0 // what it has not certainly released
	for _, x := range b.ops {
		switch {
		case x.Process != who || x.CallLine > last.CallLine:
		case x.F == histories.Acquire:
			if n == 0 && x.CallLine > first.CallLine {
				return false
			}
			open[x.Token]++
			n++
		case x.Outcome == histories.OK && open[x.Token] > 0:
			open[x.Token]--
			n--
		}
	}
	return true
}

// matches reports whether the release can be about acquire i. An unknown
// acquire whose token nobody knows can have any that is not known to be
// another's, and any at all where workers use tokens again.
func (b *lockBrute) matches(op *histories.Op, i int) bool {
	acquire := b.ops[i]
	nameless := acquire.Token == "" && acquire.Outcome == histories.Info
	return acquire.Process == op.Process && (acquire.Token == op.Token || nameless && !b.taken(op))
}

func (b *lockBrute) taken(rel *histories.Op) bool {
	known, twice, excess := false, false, false
	seen := map[lockToken]bool{}
	for _, op := range b.ops {
		same := op.Process == rel.Process && op.Token == rel.Token
		key := lockToken{op.Process, op.Token}
		switch {
		case op.F == histories.Acquire && (op.Outcome == histories.OK || op.Token != ""):
			known = known || same
			excess = excess || same && rel.Outcome == histories.OK && !askedBefore(op, rel)
			twice = twice || seen[key]
			seen[key] = true
		case op.F == histories.Release && op.Outcome == histories.OK && rel.Outcome == histories.OK && same && op.CallLine < rel.CallLine:
			excess = true
		}
	}
	return known && !twice && !excess
}

func (b *lockBrute) release(s lockState, op *histories.Op) (out []lockState) {
	if !b.perhaps(op) && op.Outcome == histories.Fail {
		held := slices.ContainsFunc(s.live, func(i int) bool { return b.matches(op, i) && b.ops[i].Outcome == histories.OK })
		if held {
			return nil
		}
		return []lockState{s}
	}
	for at, i := range s.live {
		if b.matches(op, i) {
			after := s
			after.live = slices.Delete(slices.Clone(s.live), at, at+1)
			after.kept = after.kept && len(after.live) > 0
			out = append(out, after)
		}
	}
	if op.Outcome != histories.OK {
		return out
	}
	others := slices.ContainsFunc(s.live, func(i int) bool { return b.ops[i].Process != op.Process })
	for i := range b.ops {
		if !others && s.lapsed>>i&1 == 1 && s.spent>>i&1 == 0 && b.matches(op, i) {
			after := s
			after.spent |= 1 << i
			out = append(out, after)
		}
	}
	return out
}

// lapse are the states after the lease of one live grant has run out.
func (b *lockBrute) lapse(s lockState) (out []lockState) {
	for at, i := range s.live {
		if b.ops[i].Outcome != histories.OK {
			continue
		}
		if end := b.end(b.ops[i]); end != histories.Never {
			after := s
			after.time = max(s.time, end)
			after.lapsed |= 1 << i
			after.live = slices.Delete(slices.Clone(s.live), at, at+1)
			after.kept = after.kept && len(after.live) > 0
			out = append(out, after)
		}
	}
	return out
}

// stockBrute searches for a legal order of a stock key's operations.
type stockBrute struct {
	ops  []*histories.Op
	seen map[[3]int64]bool
}

func bruteStock(ops []*histories.Op, initial int64) bool {
	b := &stockBrute{seen: map[[3]int64]bool{}}
	for _, op := range ops {
		if op.Outcome != histories.Fail || op.Error == histories.SoldOut {
			b.ops = append(b.ops, op)
		}
	}
	return b.search(0, 0, initial)
}

func (b *stockBrute) search(placed, time, left int64) bool {
	done := true
	for i, op := range b.ops {
		if placed>>i&1 == 0 && op.Outcome != histories.Info {
			done = false
			if op.Return < time {
				return false
			}
		}
	}
	if done {
		return true
	}
	key := [3]int64{placed, time, left}
	if b.seen[key] {
		return false
	}
	b.seen[key] = true
	for i, op := range b.ops {
		if placed>>i&1 == 1 {
			continue
		}
		if after, ok := bruteStep(op, left); ok && b.search(placed|1<<i, max(time, op.Call), after) {
			return true
		}
	}
	return false
}

// bruteStep is the stock after one operation, ok if it may happen.
func bruteStep(op *histories.Op, left int64) (after int64, ok bool) {
	switch {
	case op.F == histories.Read:
		return left, !op.Value.Known || left == op.Value.N
	case op.F == histories.Restock || op.F == histories.Cancel:
		return left + op.Qty, op.Outcome != histories.OK || !op.Left.Known || op.Left.N == left+op.Qty
	case op.Outcome == histories.Fail:
		return left, left < op.Qty && (!op.Seen.Known || left == op.Seen.N)
	case op.Outcome == histories.OK && op.Replay:
		return left, true
	case op.Outcome == histories.OK && op.Left.Known && op.Left.N != left-op.Qty:
		return left, false
	}
	return left - op.Qty, left >= op.Qty
}
