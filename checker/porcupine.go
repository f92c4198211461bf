package checker

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockcheck/lockcheck/histories"
)

// bounds limits a search by porcupine. A search that would need more is not
// begun, or is given up: the outcome is Unknown.
type bounds struct {
	Time   time.Duration // per key; 0: no limit
	Memory int64         // bytes per key, by estimate; 0: no limit
}

// errDisagree reports that an exact check and porcupine answer differently
// on the same operations: an error of lockcheck, never of the history.
var errDisagree = errors.New("the exact check and porcupine disagree: an error of lockcheck")

// search is one question to porcupine: operations and their model.
//
// Porcupine must place every operation, and knows no unknown ones. So each
// operation whose effect is in doubt returns after everything else, and an
// end marker is placed after everything that is certain: placed before the
// marker the operation has its effect, placed behind it, it has none.
type search struct {
	ops   []porcupine.Operation
	model porcupine.Model
	last  int64 // the last certain moment
	doubt bool  // some operation may have no effect
}

// endMarker is the input of the marker.
type endMarker struct{}

// certain adds an operation that has its effect between call and ret.
func (s *search) certain(client int, input any, call, ret int64) {
	s.last = max(s.last, call, ret)
	s.ops = append(s.ops, porcupine.Operation{ClientId: client, Input: input, Call: call, Return: ret})
}

// perhaps adds an operation that may have its effect at any time from call.
func (s *search) perhaps(client int, input any, call int64) {
	s.last, s.doubt = max(s.last, call), true
	s.ops = append(s.ops, porcupine.Operation{ClientId: client, Input: input, Call: call, Return: histories.Never})
}

// finish places the marker, and all operations in doubt around it.
func (s *search) finish() {
	if !s.doubt {
		return
	}
	end := min(s.last, math.MaxInt64-2) + 1
	for i := range s.ops {
		if s.ops[i].Return == histories.Never {
			s.ops[i].Return = end + 1
		}
	}
	s.ops = append(s.ops, porcupine.Operation{Input: endMarker{}, Call: end, Return: end})
}

// run asks porcupine, within bounds. Porcupine keeps a set of n bits for each
// state it has been in, and comes through n states even if all goes well.
func (s *search) run(b bounds) (Outcome, string) {
	n := int64(len(s.ops))
	each := n/8 + 128
	if b.Memory > 0 && n*each > b.Memory {
		return Unknown, fmt.Sprintf("%d operations would take porcupine %d MiB", n, n*each>>20)
	}
	var left atomic.Int64
	left.Store(math.MaxInt64)
	if b.Memory > 0 {
		left.Store(b.Memory / each)
	}
	model, step := s.model, s.model.Step
	model.StepContext = nil
	model.Step = func(state, input, output any) (bool, any) {
		if left.Load() < 0 {
			return false, state
		}
		ok, next := step(state, input, output)
		if ok {
			left.Add(-1)
		}
		return ok, next
	}
	result := porcupine.CheckOperationsTimeout(model, s.ops, b.Time)
	switch {
	case left.Load() < 0:
		return Unknown, fmt.Sprintf("porcupine would take more than %d MiB", b.Memory>>20)
	case result == porcupine.Illegal:
		return Invalid, "porcupine finds no legal order"
	case result == porcupine.Ok:
		return Valid, ""
	}
	return Unknown, fmt.Sprintf("porcupine was not done after %v", b.Time)
}
