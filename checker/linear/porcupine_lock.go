package linear

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockcheck/lockcheck/histories"
)

// SearchLock searches for a legal order of one lock key's acquires and
// releases; end as for mutex. Unknown comes with a reason.
//
// Porcupine takes what touches for concurrent, also where one worker did one
// thing after the other within one instant. So an order is believed only if
// there is one with these in order too.
func SearchLock(ops []*histories.Op, spec histories.LockSpec, end func(*histories.Op) int64, b Bounds) (Answer, string) {
	began := time.Now()
	n := int64(0)
	for _, op := range ops {
		if op.F == histories.Release || op.F == histories.Acquire && op.Outcome != histories.Fail {
			n++
		}
	}
	if why := b.tooMany(n); why != "" { // asked before it is built
		return Unknown, why
	}
	s := lockSearch(ops, spec, end)
	outcome, why := s.run(b)
	if outcome != Legal || !s.untouch() {
		return outcome, why
	}
	if b.Time > 0 {
		b.Time = max(b.Time-time.Since(began), time.Millisecond)
	}
	if outcome, why = s.run(b); outcome == Illegal {
		return Unknown, "it depends on what happened first within one instant"
	}
	return outcome, why
}

// untouch orders what one worker did within one instant; false if there is
// nothing to order. It stretches time to make room: an instant becomes three,
// calls, then the returns and calls in question, then other returns.
func (s *search) untouch() bool {
	returned := map[[2]int64]int{} // client, time → place of the operation that returned
	for i, op := range s.ops {
		if op.Call < op.Return {
			returned[[2]int64{int64(op.ClientId), op.Return}] = i
		}
	}
	early, late := map[int]bool{}, map[int]bool{}
	for i, op := range s.ops {
		if j, ok := returned[[2]int64{int64(op.ClientId), op.Call}]; ok && j != i {
			early[j], late[i] = true, true
		}
	}
	if len(early) == 0 || s.last > 1<<60 {
		return false
	}
	for i := range s.ops {
		op := &s.ops[i]
		op.Call, op.Return = 4*op.Call, 4*op.Return+3
		if late[i] {
			op.Call += 2
		}
		if early[i] {
			op.Return -= 2
		}
	}
	return true
}

// lockAct is one input of the lock's model.
type lockAct struct {
	op      *histories.Op
	kind    lockKind
	place   int32   // of the acquire, for acquire, lapse and age
	matches []int32 // acquires that a release can be about, in order
	doubt   bool    // it may have no effect
}

type lockKind uint8

const (
	lockAcquire lockKind = iota
	lockRelease
	lockLapse // the server may let the grant go from here on
	lockAge   // the lease of the grant can have run out, so its own worker may take it again
)

// lockWorld is porcupine's state of one lock. Sets of acquires are strings of
// their places, so that states compare with ==.
type lockWorld struct {
	live, lapsed, aged string
	fence              histories.Num // of the last grant that had one
	fencer             *histories.Op // that grant
	ended              bool
}

type lockModel struct {
	spec      histories.LockSpec
	acquires  []*histories.Op // by place
	released  map[int32]bool  // a release that said ok can be about it
	ambiguous bool            // a release can be about several acquires
	again     func(a, b *histories.Op) bool
	meter     *meter // nil: there is no bound
}

func lockSearch(ops []*histories.Op, spec histories.LockSpec, end func(*histories.Op) int64) *search {
	end = orUntil(end)
	m := &lockModel{spec: spec, released: map[int32]bool{}, again: Reentries(ops, spec)}
	s := &search{}
	for _, op := range ops {
		if op.F != histories.Acquire || op.Outcome == histories.Fail {
			continue
		}
		act := &lockAct{op: op, place: int32(len(m.acquires))}
		m.acquires = append(m.acquires, op)
		s.add(act, op.Outcome == histories.Info)
		if op.Outcome != histories.OK {
			continue
		}
		if at := end(op); at != histories.Never {
			s.perhaps(int(op.Process), &lockAct{op: op, kind: lockLapse, place: act.place, doubt: true}, at)
		}
	}
	m.addReleases(s, ops)
	if spec.TTL > 0 && !spec.Reentrant {
		m.addAges(s)
	}
	s.finish()
	s.model, s.lock = m.model(), m
	return s
}

// model is deterministic unless some release can be about several acquires.
func (m *lockModel) model() porcupine.Model {
	begin := lockWorld{}
	describeOp := func(input, _ any) string { return describeLock(input) }
	if m.ambiguous {
		n := porcupine.NondeterministicModel{
			Init:              func() []any { return []any{begin} },
			Step:              func(state, input, _ any) []any { return m.steps(state.(lockWorld), input) },
			DescribeOperation: describeOp,
			DescribeState:     m.describe,
		}
		return n.ToModel()
	}
	return porcupine.Model{
		Init: func() any { return begin },
		Step: func(state, input, _ any) (bool, any) {
			if after := m.steps(state.(lockWorld), input); len(after) > 0 {
				return true, after[0]
			}
			return false, state
		},
		DescribeOperation: describeOp,
		DescribeState:     m.describe,
	}
}

func (s *search) add(act *lockAct, doubt bool) {
	if act.doubt = doubt; doubt {
		s.perhaps(int(act.op.Process), act, act.op.Call)
	} else {
		s.certain(int(act.op.Process), act, act.op.Call, act.op.Return)
	}
}

// addReleases adds releases with the acquires that they can be about: those
// of their worker and token; else those of another worker that alone has the
// token; and unknown ones of their worker whose token nobody knows, unless
// the release is explained without.
func (m *lockModel) addReleases(s *search, ops []*histories.Op) {
	g := groupLock(ops)
	places := map[*histories.Op]int32{}
	for i, op := range m.acquires {
		places[op] = int32(i)
	}
	for i := range g.groups {
		group := &g.groups[i]
		var own []int32
		known := group.inOrder()
		for _, op := range known {
			if op.F == histories.Acquire {
				own = append(own, places[op])
			}
		}
		slices.Sort(own)
		wide := map[histories.Process][]int32{} // with the nameless ones of a worker
		told := map[*int32]bool{}               // lists that an ok release can be about
		excess := false
		for _, op := range known {
			if op.F != histories.Release {
				continue
			}
			act := &lockAct{op: op, kind: lockRelease, matches: own}
			early := op.Outcome == histories.OK && group.acq != nil && group.acquires == 1 && !askedBefore(group.acq, op)
			if len(own) == 0 || g.reused || early || excess && op.Outcome == histories.OK {
				if wide[op.Process] == nil {
					all := slices.Clone(own)
					for _, a := range g.nameless[op.Process] {
						all = append(all, places[a])
					}
					slices.Sort(all)
					wide[op.Process] = all
				}
				act.matches = wide[op.Process]
			}
			excess = excess || op.Outcome == histories.OK
			m.ambiguous = m.ambiguous || len(act.matches) > 1 && !denies(op, m.spec)
			if op.Outcome == histories.OK && len(act.matches) > 0 && !told[&act.matches[0]] {
				told[&act.matches[0]] = true
				for _, p := range act.matches {
					m.released[p] = true
				}
			}
			s.add(act, mayFree(op, m.spec))
		}
	}
}

// addAges adds an age to each grant that its own worker may have been granted
// again before it let go.
func (m *lockModel) addAges(s *search) {
	next := map[histories.Process]*histories.Op{}
	for i, op := range slices.Backward(m.acquires) {
		at := histories.Later(op.Call, m.spec.Lease(op))
		if again := next[op.Process]; again != nil && at != histories.Never {
			s.perhaps(int(op.Process), &lockAct{op: op, kind: lockAge, place: int32(i), doubt: true}, at)
		}
		next[op.Process] = op
	}
}

// steps are the states after one input, none if it may not happen.
func (m *lockModel) steps(w lockWorld, input any) []any {
	act, ok := input.(*lockAct)
	if !ok {
		w.ended = true
		return []any{w}
	}
	switch {
	case act.doubt && w.ended:
		return []any{w}
	case act.kind == lockAcquire:
		return m.acquire(w, act)
	case act.kind == lockRelease:
		return m.release(w, act)
	case !has(w.live, act.place):
		return nil
	case act.kind == lockAge:
		w.aged = with(w.aged, act.place)
		return []any{w}
	}
	w.live, w.aged = without(w.live, act.place), without(w.aged, act.place)
	if m.released[act.place] {
		w.lapsed = with(w.lapsed, act.place)
	}
	return []any{w}
}

func (m *lockModel) acquire(w lockWorld, act *lockAct) []any {
	for _, p := range members(w.live) {
		switch other := m.acquires[p]; {
		case other.Process != act.op.Process:
			return nil
		case m.spec.Reentrant:
		case has(w.aged, p):
		default:
			return nil
		}
	}
	if act.op.Outcome == histories.OK && act.op.Fence.Known {
		n := act.op.Fence
		switch {
		case n == w.fence && m.again(w.fencer, act.op):
		case w.fence.Known && n.N <= w.fence.N:
			return nil
		default:
			w.fence, w.fencer = n, act.op
		}
	}
	w.live = with(w.live, act.place)
	return []any{w}
}

// release takes away one acquire that it can be about. If it said ok, that
// may have lapsed, as long as no other worker has the lock.
func (m *lockModel) release(w lockWorld, act *lockAct) (out []any) {
	live := members(w.live)
	if denies(act.op, m.spec) {
		if slices.ContainsFunc(live, func(p int32) bool { return act.about(p) && m.acquires[p].Outcome == histories.OK }) {
			return nil
		}
		return []any{w}
	}
	for _, p := range live {
		if act.about(p) && m.meter.room(w) {
			after := w
			after.live, after.aged = without(w.live, p), without(w.aged, p)
			out = append(out, after)
		}
	}
	if act.op.Outcome != histories.OK {
		return out
	}
	for _, p := range live {
		if m.acquires[p].Process != act.op.Process {
			return out
		}
	}
	for _, p := range members(w.lapsed) {
		if act.about(p) && m.meter.room(w) {
			after := w
			after.lapsed = without(w.lapsed, p)
			out = append(out, after)
		}
	}
	return out
}

// about reports whether the release can be about acquire p.
func (act *lockAct) about(p int32) bool {
	_, ok := slices.BinarySearch(act.matches, p)
	return ok
}
