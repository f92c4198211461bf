package linear

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/anishathalye/porcupine"
)

// meter counts what a search by porcupine takes, and ends it at its bounds. It
// counts steps, not seconds: the same history gives the same answer everywhere.
//
// A step is one operation tried in one state. One that handles much counts for
// more: a step for each 256 bytes, and for each 64 pairs of states that it compares.
type meter struct {
	inner     porcupine.Model
	set       int64 // bytes for a set of operations
	mostSteps int64
	mostBytes int64
	steps     atomic.Int64
	bytes     atomic.Int64
	once      int64                  // bytes of the states of one step so far
	states    int64                  // and how many there are
	over      atomic.Pointer[string] // what was too much
	limit     Bounds
}

func newMeter(model porcupine.Model, n int64, b Bounds) *meter {
	m := &meter{inner: model, set: setOf(n), mostSteps: math.MaxInt64, mostBytes: math.MaxInt64, limit: b}
	if b.Steps > 0 {
		m.mostSteps = b.Steps
	}
	if b.Memory > 0 {
		m.mostBytes = b.Memory - n*m.set // as much again is needed to end it
	}
	return m
}

// givenUp is the state of a search that is over its bounds. Porcupine cannot be
// stopped by its model. But it is done soon if each operation that is left may
// follow at once: it then goes through the rest of them and never back.
type givenUp struct{}

func (m *meter) model() porcupine.Model {
	model := m.inner
	model.StepContext = nil
	model.Step = m.step
	same := m.inner.Equal
	model.Equal = func(a, b any) bool {
		_, one := a.(givenUp)
		_, other := b.(givenUp)
		switch {
		case one || other:
			return one && other
		case same == nil:
			return a == b
		}
		return same(a, b)
	}
	return model
}

func (m *meter) step(state, input, output any) (bool, any) {
	if m.over.Load() != nil {
		return true, givenUp{}
	}
	m.once, m.states = 0, 0
	ok, next := m.inner.Step(state, input, output)
	switch {
	case m.over.Load() != nil:
	case !ok:
		m.count(state, 0)
		return false, state
	case m.count(next, m.set):
		return true, next
	}
	return true, givenUp{}
}

// room reports whether a model may add another state like w to those that one
// step leads to. They can be as many as there are grants, for each of as many states.
func (m *meter) room(w lockWorld) bool {
	switch {
	case m == nil:
		return true
	case m.over.Load() != nil:
		return false
	}
	size, _ := weigh(w)
	m.once, m.states = m.once+size, m.states+1
	// Each is compared with all the others.
	return m.within(m.steps.Add(1+size/256+m.states/64+m.states*size/8192), m.bytes.Load()+m.once)
}

// count adds a step that led to a state, and reports whether there may be more.
// set is what is kept of it besides the state, 0 if nothing is.
func (m *meter) count(state any, set int64) bool {
	size, pairs := weigh(state)
	steps := m.steps.Add(1 + (size+set)/256 + pairs/64)
	if set > 0 {
		m.bytes.Add(size + set)
	}
	return m.within(steps, m.bytes.Load())
}

// within reports whether so much is within the bounds.
func (m *meter) within(steps, bytes int64) bool {
	switch {
	case bytes > m.mostBytes:
		m.exceeds("porcupine would take more than its budget of %d MiB", m.limit.Memory>>20)
	case steps > m.mostSteps:
		m.exceeds("porcupine was not done within its budget of %d steps", m.limit.Steps)
	default:
		return true
	}
	return false
}

func (m *meter) exceeds(format string, bound int64) {
	why := fmt.Sprintf(format, bound)
	m.over.CompareAndSwap(nil, &why)
}

// weigh is the size of a state in bytes, and how many pairs of states were
// compared to have it: those of a model that is not deterministic are sets.
func weigh(state any) (size, pairs int64) {
	switch s := state.(type) {
	case lockWorld:
		return int64(len(s.live)+len(s.lapsed)+len(s.aged)) + 64, 0
	case []any:
		for _, one := range s {
			each, _ := weigh(one)
			size += each
		}
		return size, int64(len(s)) * int64(len(s))
	}
	return 32, 0
}
