package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/lockcheck/lockcheck/histories"
)

// SearchStock searches for a legal order of one stock key's sells, reads,
// restocks and cancels. Unknown comes with a reason.
func SearchStock(ops []*histories.Op, initial int64, b Bounds) (Answer, string) {
	if why := b.tooMany(int64(len(stockOps(ops)))); why != "" {
		return Unknown, why
	}
	return stockSearch(ops, stockLevel{left: initial}).run(b)
}

// stockLevel is porcupine's state of one stock key.
type stockLevel struct {
	left  int64
	open  bool // not known yet: the history begins in the middle
	ended bool // the end marker is placed
}

func stockSearch(ops []*histories.Op, begin stockLevel) *search {
	s := &search{model: porcupine.Model{
		Init:              func() any { return begin },
		Step:              stockStep,
		DescribeOperation: func(input, _ any) string { return describe(input) },
		DescribeState:     func(state any) string { return state.(stockLevel).String() },
	}}
	for _, op := range ops {
		switch {
		case !SaysSomething(op):
		case op.Outcome == histories.Info:
			s.perhaps(int(op.Process), op, op.Call)
		default:
			s.certain(int(op.Process), op, op.Call, op.Return)
		}
	}
	s.finish()
	return s
}

func stockStep(state, input, _ any) (bool, any) {
	s := state.(stockLevel)
	op, ok := input.(*histories.Op)
	switch {
	case !ok:
		s.ended = true
		return true, s
	case op.Outcome == histories.Info && s.ended:
		return true, s
	}
	if s.open {
		return true, s.begun(op)
	}
	if !fits(op, s.left) {
		return false, s
	}
	s.left += Change(op)
	return true, s
}

// begun is the level as the first operation tells it.
func (s stockLevel) begun(op *histories.Op) stockLevel {
	if v, ok := observed(op); ok {
		return stockLevel{left: v}
	}
	if claims(op) {
		return stockLevel{left: op.Left.N}
	}
	return s
}

func (s stockLevel) String() string {
	switch {
	case s.open:
		return "stock not known yet"
	case s.ended:
		return fmt.Sprintf("%d left at the end", s.left)
	}
	return fmt.Sprintf("%d left", s.left)
}

// describe is an operation in a picture.
func describe(input any) string {
	op, ok := input.(*histories.Op)
	if !ok {
		return fmt.Sprint(input)
	}
	answer := string(op.Outcome)
	if op.Outcome == histories.Info {
		answer = "unknown"
	}
	text := fmt.Sprintf("op %d: %s", op.ID, op.F)
	if op.Qty > 1 {
		text += fmt.Sprintf(" %d", op.Qty)
	}
	text += " → " + answer
	for _, n := range []struct {
		name string
		num  histories.Num
	}{{"left", op.Left}, {"seen", op.Seen}, {"value", op.Value}, {"number", op.Fence}} {
		if n.num.Known {
			text += fmt.Sprintf(", %s %d", n.name, n.num.N)
		}
	}
	if op.Error != "" {
		text += ", " + op.Error
	}
	return text
}

// String is the marker in a picture.
func (endMarker) String() string { return "end of what is certain" }
