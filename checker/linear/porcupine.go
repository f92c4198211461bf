package linear

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockcheck/lockcheck/histories"
)

// Bounds limits a search by porcupine. A search that would need more is not
// begun, or is given up: the outcome is Unknown.
type Bounds struct {
	Time   time.Duration // 0: no limit
	Steps  int64         // 0: no limit
	Memory int64         // bytes, by estimate; 0: no limit
	Taken  *atomic.Int64 // steps taken are added here, unless nil
}

// tooMany says why a search over n operations is not begun, "" if it is.
// Porcupine keeps a set of n bits for each state that it has been in, and comes
// through n states even if all goes well.
func (b Bounds) tooMany(n int64) string {
	if b.Memory == 0 || n*setOf(n) <= b.Memory {
		return ""
	}
	return fmt.Sprintf("%d operations would take porcupine %d MiB: beyond the budget of %d MiB", n, n*setOf(n)>>20, b.Memory>>20)
}

// setOf is what porcupine keeps for one state of n operations, in bytes, besides
// the state itself.
func setOf(n int64) int64 { return n/8 + 128 }

// search is one question to porcupine: operations and their model.
//
// Porcupine must place every operation, and knows no unknown ones. So each
// operation whose effect is in doubt returns after everything else, and an
// end marker is placed after everything that is certain: placed before the
// marker the operation has its effect, placed behind it, it has none.
type search struct {
	ops   []porcupine.Operation
	model porcupine.Model
	last  int64      // the last certain moment
	doubt bool       // some operation may have no effect
	lock  *lockModel // whose steps can be many at once; nil of stock
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

// run asks porcupine, within bounds.
func (s *search) run(b Bounds) (Answer, string) {
	n := int64(len(s.ops))
	if why := b.tooMany(n); why != "" {
		return Unknown, why
	}
	m := newMeter(s.model, n, b)
	if s.lock != nil {
		s.lock.meter = m
	}
	result := porcupine.CheckOperationsTimeout(m.model(), s.ops, b.Time)
	if b.Taken != nil {
		b.Taken.Add(m.steps.Load())
	}
	switch why := m.over.Load(); {
	case why != nil:
		return Unknown, *why
	case result == porcupine.Illegal:
		return Illegal, "porcupine finds no legal order"
	case result == porcupine.Ok:
		return Legal, ""
	}
	return Unknown, fmt.Sprintf("porcupine was not done after %v", b.Time)
}
