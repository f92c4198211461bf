package linear

import (
	"container/heap"

	"github.com/lockcheck/lockcheck/histories"
)

// nestedGrants are the open grants of one worker: the newest on top, or the one
// that lasts longest where they end by themselves at different times.
type nestedGrants struct {
	grants []*nestedGrant // a heap
	oldest []*nestedGrant // in order, those that were taken included
}

type nestedGrant struct {
	acq   *histories.Op
	end   int64
	place int
	taken bool
}

func (o *nestedGrants) add(acq *histories.Op, end int64, place int) {
	g := &nestedGrant{acq: acq, end: end, place: place}
	o.oldest = append(o.oldest, g)
	heap.Push(o, g)
}

// take takes out the grant that ends last by itself, and of several the newest.
// Releasing that one leaves the least.
func (o *nestedGrants) take() *histories.Op {
	g := heap.Pop(o).(*nestedGrant)
	g.taken = true
	return g.acq
}

// alike reports whether the grant that take would answer ends with the oldest.
func (o *nestedGrants) alike() bool {
	for o.oldest[0].taken {
		o.oldest = o.oldest[1:]
	}
	return o.grants[0].end == o.oldest[0].end
}

func (o *nestedGrants) Len() int { return len(o.grants) }
func (o *nestedGrants) Less(i, j int) bool {
	a, b := o.grants[i], o.grants[j]
	return a.end > b.end || a.end == b.end && a.place > b.place
}
func (o *nestedGrants) Swap(i, j int) { o.grants[i], o.grants[j] = o.grants[j], o.grants[i] }
func (o *nestedGrants) Push(x any)    { o.grants = append(o.grants, x.(*nestedGrant)) }
func (o *nestedGrants) Pop() any {
	last := o.grants[len(o.grants)-1]
	o.grants = o.grants[:len(o.grants)-1]
	return last
}
