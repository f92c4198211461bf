package linear

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// stockSweep goes through the operations in order of time, calls before
// returns at equal times, and keeps sold as small as the answers allow: a
// sell is placed only when something that returns needs it.
type stockSweep struct {
	initial int64
	// wild adds any number of unit sells that nobody recorded. Evidence is
	// enough if it is contradictory even so.
	wild bool

	sold    int64        // units placed so far: how far along the line
	claimed []stockPiece // by start
	next    int          // first of claimed that is not placed
	size    int64        // of every sell that claims nothing
	loose   returnHeap   // called, not placed, claims nothing, said ok
	spare   []*histories.Op
	placed  map[*histories.Op]int64 // units of blind sells placed early
	open    returnHeap              // called, not returned
	now     int64
	pushed  []*histories.Op // what last forced sold forward, for evidence
}

// stockPiece is the part [start, end) of the line that a sale claims.
type stockPiece struct {
	start, end int64
	op         *histories.Op
}

// run returns the contradiction at which the sweep ends, if any.
func (s *stockSweep) run(ops []*histories.Op) *Contradiction {
	if c := s.prepare(ops); c != nil {
		return c
	}
	for _, op := range ops {
		if c := s.returnsBefore(op.Call); c != nil {
			return c
		}
		s.now = op.Call
		if c := s.call(op); c != nil {
			return c
		}
	}
	return s.returnsBefore(histories.Never)
}

// prepare lays out the claimed pieces.
func (s *stockSweep) prepare(ops []*histories.Op) *Contradiction {
	s.placed = map[*histories.Op]int64{}
	n := 0
	for _, op := range ops {
		if claims(op) {
			n++
		}
	}
	s.claimed = make([]stockPiece, 0, n)
	for _, op := range ops {
		if why := Impossible(op, s.initial); why != "" {
			return s.clash(why, op)
		}
		switch {
		case claims(op):
			end := s.initial - op.Left.N
			s.claimed = append(s.claimed, stockPiece{end - op.Qty, end, op})
		case op.F == histories.Sell && op.Outcome != histories.Fail:
			s.size = op.Qty
		}
	}
	if s.wild || s.size == 0 {
		s.size = 1
	}
	slices.SortFunc(s.claimed, func(a, b stockPiece) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.op.ID, b.op.ID))
	})
	for i := 1; i < len(s.claimed); i++ {
		if a, b := s.claimed[i-1], s.claimed[i]; b.start < a.end {
			return s.clash(fmt.Sprintf("ops %d and %d sold the same unit: they left %d and %d", a.op.ID, b.op.ID, a.op.Left.N, b.op.Left.N), a.op, b.op)
		}
	}
	return nil
}

func (s *stockSweep) call(op *histories.Op) *Contradiction {
	switch v, seen := observed(op); {
	case seen && s.sold > s.initial-v:
		return s.clash(fmt.Sprintf("op %d saw %d left, but by its call at most %d were", op.ID, v, s.initial-s.sold), append(slices.Clone(s.pushed), op)...)
	case seen:
		if inside := s.pieceAround(s.initial - v); inside != nil {
			return s.clash(fmt.Sprintf("op %d saw %d left, in the middle of what op %d sold at once", op.ID, v, inside.ID), inside, op)
		}
		if at := s.offset(s.initial - v); at%s.size != 0 {
			return s.clash(fmt.Sprintf("op %d saw %d left, which no number of sales of %d gives", op.ID, v, s.size), op)
		}
	case op.F == histories.Sell && op.Outcome == histories.Info:
		s.spare = append(s.spare, op)
		return nil
	case blind(op):
		s.loose.push(op)
	}
	s.open.push(op)
	return nil
}

// pieceAround is the claim with x strictly inside.
func (s *stockSweep) pieceAround(x int64) *histories.Op {
	i, _ := slices.BinarySearchFunc(s.claimed, x, func(p stockPiece, x int64) int { return cmp.Compare(p.start, x) })
	if i > 0 && x < s.claimed[i-1].end {
		return s.claimed[i-1].op
	}
	return nil
}

// offset is how far x is from the end of the claim before it.
func (s *stockSweep) offset(x int64) int64 {
	i, _ := slices.BinarySearchFunc(s.claimed, x, func(p stockPiece, x int64) int { return cmp.Compare(p.end, x+1) })
	if i > 0 {
		return x - s.claimed[i-1].end
	}
	return x
}

// returnsBefore handles the returns before a moment, in order.
func (s *stockSweep) returnsBefore(now int64) *Contradiction {
	for len(s.open) > 0 && s.open[0].Return < now {
		op := s.open.pop()
		s.now = op.Return
		if c := s.ret(op); c != nil {
			return c
		}
	}
	return nil
}

// ret places what the return of op needs.
func (s *stockSweep) ret(op *histories.Op) *Contradiction {
	if blind(op) {
		return s.placeBlind(op)
	}
	need := s.initial - op.Qty + 1 // sold out: fewer than Qty left
	if v, seen := observed(op); seen {
		need = s.initial - v
	} else if claims(op) {
		need = s.initial - op.Left.N
	}
	if s.sold >= need {
		return nil
	}
	for s.sold < need {
		if c := s.step(op, need); c != nil {
			return c
		}
	}
	s.pushed = append(s.pushed[:0], op)
	return nil
}

// placeBlind places sells until op is among them. It returns first of all
// that are not placed, so it comes next, claims apart.
func (s *stockSweep) placeBlind(op *histories.Op) *Contradiction {
	whole := op.Qty
	if !s.wild {
		whole = 1
	}
	for s.placed[op] < whole {
		if c := s.step(op, histories.Never); c != nil {
			return c
		}
	}
	delete(s.placed, op)
	s.pushed = append(s.pushed, op)
	return nil
}

// step places the next sell: the claim that begins here, else one that claims
// nothing. need is where forcer must get.
func (s *stockSweep) step(forcer *histories.Op, need int64) *Contradiction {
	if s.next < len(s.claimed) && s.claimed[s.next].start == s.sold {
		piece := s.claimed[s.next]
		if piece.op.Call > s.now {
			return s.clash(fmt.Sprintf("op %d needs op %d to have sold before it, but that began later", forcer.ID, piece.op.ID), forcer, piece.op)
		}
		s.next++
		s.sold = piece.end
		return nil
	}
	room := s.initial - s.sold
	if s.next < len(s.claimed) {
		room = s.claimed[s.next].start - s.sold
	}
	if room < s.size {
		return s.noRoom(forcer, room)
	}
	if s.wild && len(s.loose) == 0 {
		s.sold = min(need, s.sold+room) // unrecorded sells
		return nil
	}
	return s.placeLoose(forcer, need, room)
}

// placeLoose places the sell that claims nothing and returns first: whatever
// order exists, exchanging two of one size so that this one comes first
// leaves it legal.
func (s *stockSweep) placeLoose(forcer *histories.Op, need, room int64) *Contradiction {
	switch {
	case len(s.loose) > 0:
		op := s.loose[0]
		if s.wild {
			s.placeUnits(op, min(room, need-s.sold))
			return nil
		}
		s.placed[op]++
		s.loose.pop()
	case len(s.spare) > 0:
		s.spare = s.spare[1:]
	default:
		return s.clash(fmt.Sprintf("op %d needs %d units sold by then, but the sells that had begun account for %d only", forcer.ID, need, s.sold), append(slices.Clone(s.pushed), forcer)...)
	}
	s.sold += s.size
	return nil
}

// placeUnits places units of a sell that comes in pieces, as many as there is
// room for at once: a quantity of millions costs no more than one of two.
func (s *stockSweep) placeUnits(op *histories.Op, room int64) {
	n := min(room, op.Qty-s.placed[op])
	s.placed[op] += n
	s.sold += n
	if s.placed[op] == op.Qty {
		s.loose.pop()
	}
}

func (s *stockSweep) noRoom(forcer *histories.Op, room int64) *Contradiction {
	ops := append(slices.Clone(s.pushed), forcer)
	if s.next < len(s.claimed) {
		next := s.claimed[s.next].op
		return s.clash(fmt.Sprintf("op %d needs a sale of %d before that of op %d, where there is room for %d", forcer.ID, s.size, next.ID, room), append(ops, next)...)
	}
	return s.clash(fmt.Sprintf("op %d needs more sold than the %d units there were", forcer.ID, s.initial), ops...)
}

func (s *stockSweep) clash(why string, ops ...*histories.Op) *Contradiction {
	c := &Contradiction{Why: why, From: histories.Never}
	there := make(map[int64]bool, len(ops))
	for _, op := range ops {
		if there[op.ID] {
			continue
		}
		there[op.ID] = true
		c.Ops = append(c.Ops, op.ID)
		c.From = min(c.From, op.Call)
		c.To = max(c.To, op.Call)
		if op.Return != histories.Never {
			c.To = max(c.To, op.Return)
		}
	}
	return c
}
