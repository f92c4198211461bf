package linear

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// Limits of the search for stock of several sizes. Beyond them it gives up.
const (
	maxKinds   = 8       // sizes and directions of unknown operations
	maxPending = 64      // operations open at one time
	maxStates  = 1 << 16 // at one time
	MaxSteps   = 1 << 23 // of one key: about two seconds
)

// stockFrontier decides where the sweep cannot: sells of several sizes,
// restocks, cancels. It goes through the returns in order and keeps all states
// that the stock can be in. Before an operation returns, it must have been
// placed, after any others that have been called (just-in-time linearization,
// Lowe, "Testing for linearizability", 2017).
//
// Two things keep the states few. Of operations that have the same effect and
// say nothing, the one that returns first is placed first; unknown ones, which
// never return, are only counted. And what only looks at the stock is placed
// as soon as it fits, since it changes nothing.
type stockFrontier struct {
	states    map[stockState]struct{}
	open      returnHeap
	slots     [maxPending]*histories.Op // open operations that are in states
	used      uint64                    // slots that are
	slotOf    map[*histories.Op]int
	kinds     []int64 // change of the stock, of each kind of unknown operation
	called    [maxKinds]int32
	steps     int
	mostSteps int
	most      int64 // stock of any state, if levelled
	levelled  bool
	last      []*histories.Op // that returned, for evidence
}

// stockState is the stock after some operations.
type stockState struct {
	left    int64
	placed  uint64          // open operations that are placed, by slot
	unknown [maxKinds]int32 // unknown ones that are placed, by kind
}

func frontierStock(ops []*histories.Op, initial int64, steps int) (*Contradiction, error) {
	f := stockFrontier{
		mostSteps: steps,
		states:    map[stockState]struct{}{{left: initial}: {}},
		slotOf:    map[*histories.Op]int{},
	}
	for _, op := range ops {
		c, err := f.returnsBefore(op.Call)
		if c != nil || err != nil {
			return f.shown(ops, initial, c), err
		}
		if err := f.call(op); err != nil {
			return nil, err
		}
	}
	c, err := f.returnsBefore(histories.Never)
	return f.shown(ops, initial, c), err
}

// Change is what op does to the stock.
func Change(op *histories.Op) int64 {
	switch {
	case op.F == histories.Restock || op.F == histories.Cancel:
		return op.Qty
	case op.F == histories.Sell && op.Outcome != histories.Fail:
		return -op.Qty
	}
	return 0
}

// fits reports whether op may happen when left units are there.
func fits(op *histories.Op, left int64) bool {
	switch {
	case op.F == histories.Read:
		return left == op.Value.N
	case op.Outcome == histories.Fail:
		return left < op.Qty && (!op.Seen.Known || left == op.Seen.N)
	case claims(op) && left+Change(op) != op.Left.N:
		return false
	}
	return left+Change(op) >= 0
}

func (f *stockFrontier) call(op *histories.Op) error {
	if op.Outcome == histories.Info {
		kind := slices.Index(f.kinds, Change(op))
		if kind < 0 {
			if kind = len(f.kinds); kind == maxKinds {
				return fmt.Errorf("operations of unknown outcome of more than %d sizes", maxKinds)
			}
			f.kinds = append(f.kinds, Change(op))
		}
		f.called[kind]++
		return nil
	}
	if f.always(op) {
		return nil
	}
	slot := bits.TrailingZeros64(^f.used)
	if slot == maxPending {
		return fmt.Errorf("more than %d operations open at one time (op %d)", maxPending, op.ID)
	}
	f.used |= 1 << slot
	f.slots[slot], f.slotOf[op] = op, slot
	f.open.push(op)
	if Change(op) == 0 {
		return f.look(op, slot)
	}
	return nil
}

// always reports whether op only looks and fits every state, as refusals of a
// large order do: then it is placed at its call, in all of them, and says nothing more.
func (f *stockFrontier) always(op *histories.Op) bool {
	if op.F != histories.Sell || op.Outcome != histories.Fail || op.Seen.Known {
		return false
	}
	if !f.levelled {
		f.levelled, f.most = true, math.MinInt64
		for s := range f.states {
			f.most = max(f.most, s.left)
		}
	}
	return f.most < op.Qty
}

// look places what only looks in all states that it fits.
func (f *stockFrontier) look(op *histories.Op, slot int) error {
	if f.steps += len(f.states); f.steps > f.mostSteps {
		return f.tooMany(op)
	}
	states := make(map[stockState]struct{}, len(f.states))
	for s := range f.states {
		if fits(op, s.left) {
			s.placed |= 1 << slot
		}
		states[s] = struct{}{}
	}
	f.states = states
	return nil
}

// tooMany is the error of a search that gave up at op.
func (f *stockFrontier) tooMany(op *histories.Op) error {
	return TooManyWays{fmt.Errorf("too many ways to explain op %d", op.ID), f.steps > f.mostSteps}
}

// TooManyWays is an error of a search; more steps may decide it.
type TooManyWays struct {
	error
	OfSteps bool
}

func (f *stockFrontier) returnsBefore(now int64) (*Contradiction, error) {
	for len(f.open) > 0 && f.open[0].Return < now {
		op := f.open.pop()
		if err := f.ret(op); err != nil {
			return nil, err
		}
		if len(f.states) == 0 {
			return f.clash(op), nil
		}
		if f.last = append(f.last, op); len(f.last) > MostCulprits {
			f.last = f.last[1:]
		}
	}
	return nil, nil
}

// ret keeps the states in which op is placed, and those that lead there.
func (f *stockFrontier) ret(op *histories.Op) error {
	slot := f.slotOf[op]
	mask := uint64(1) << slot
	after := map[stockState]struct{}{}
	var todo []stockState
	for s := range f.states {
		todo = append(todo, s)
	}
	seen := f.states
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.placed&mask != 0 {
			s.placed &^= mask
			after[s] = struct{}{}
			continue
		}
		for _, next := range f.successors(s, op) {
			if _, ok := seen[next]; !ok {
				seen[next] = struct{}{}
				todo = append(todo, next)
			}
		}
		if f.steps++; f.steps > f.mostSteps || len(seen) > maxStates {
			return f.tooMany(op)
		}
	}
	f.states, f.levelled = after, false
	f.used &^= mask
	delete(f.slotOf, op)
	f.slots[slot] = nil
	return nil
}

// successors are the states after one more operation, on the way to goal.
func (f *stockFrontier) successors(s stockState, goal *histories.Op) []stockState {
	var out []stockState
	first := map[int64]int{} // change → slot that returns first, of those that say nothing
	rising := false
	for rest := f.used &^ s.placed; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		op := f.slots[slot]
		delta := Change(op)
		rising = rising || delta > 0
		switch {
		case delta == 0:
		case claims(op):
			if fits(op, s.left) {
				out = append(out, f.after(s, slot))
			}
		default:
			if other, ok := first[delta]; !ok || op.Return < f.slots[other].Return {
				first[delta] = slot
			}
		}
	}
	for delta, slot := range first {
		if s.left+delta >= 0 {
			out = append(out, f.after(s, slot))
		}
	}
	for kind, delta := range f.kinds {
		_, known := first[delta]
		available := s.unknown[kind] < f.called[kind]
		rising = rising || available && delta > 0
		if available && !known && s.left+delta >= 0 {
			next := s
			next.unknown[kind]++
			next.left += delta
			out = append(out, f.looked(next))
		}
	}
	if !rising && s.left < f.floor(goal) {
		return nil
	}
	return out
}

// floor is the stock below which goal can never be placed, unless units come
// back.
func (f *stockFrontier) floor(goal *histories.Op) int64 {
	if v, ok := observed(goal); ok {
		return v
	}
	switch {
	case claims(goal):
		return goal.Left.N - Change(goal)
	case goal.Outcome == histories.OK && goal.F == histories.Sell:
		return goal.Qty
	}
	return 0
}

func (f *stockFrontier) after(s stockState, slot int) stockState {
	s.placed |= 1 << slot
	s.left += Change(f.slots[slot])
	return f.looked(s)
}

// looked places what only looks and now fits.
func (f *stockFrontier) looked(s stockState) stockState {
	for rest := f.used &^ s.placed; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		if op := f.slots[slot]; Change(op) == 0 && fits(op, s.left) {
			s.placed |= 1 << slot
		}
	}
	return s
}

// clash names what op stands against: what was open with it, and what
// returned last.
func (f *stockFrontier) clash(op *histories.Op) *Contradiction {
	c := &Contradiction{From: op.Call, To: op.Return}
	for _, other := range f.last {
		c.Ops = append(c.Ops, other.ID)
		c.From = min(c.From, other.Call)
	}
	for _, other := range f.open {
		if other.Call <= op.Return {
			c.Ops = append(c.Ops, other.ID)
		}
	}
	c.Ops = append(c.Ops, op.ID)
	c.Why = fmt.Sprintf("no order of what had begun by then explains what op %d answered", op.ID)
	return c
}

// shown shrinks the evidence where units only go.
func (f *stockFrontier) shown(ops []*histories.Op, initial int64, c *Contradiction) *Contradiction {
	back := slices.ContainsFunc(ops, func(op *histories.Op) bool { return Change(op) > 0 })
	if c != nil {
		c.Vanished = unitsVanished(ops, initial, c)
	}
	if c != nil && !back {
		c.Ops = smallestStock(ops, initial, c)
	}
	return c
}
