package linear

import "github.com/lockcheck/lockcheck/histories"

// returnHeap is a heap of operations, the one that returns first on top.
// container/heap would do, at three times the cost.
type returnHeap []*histories.Op

func (h *returnHeap) push(op *histories.Op) {
	*h = append(*h, op)
	a := *h
	for i := len(a) - 1; i > 0; {
		parent := (i - 1) / 2
		if a[parent].Return <= op.Return {
			break
		}
		a[i], a[parent] = a[parent], a[i]
		i = parent
	}
}

func (h *returnHeap) pop() *histories.Op {
	a := *h
	top := a[0]
	last := len(a) - 1
	a[0], a[last] = a[last], nil
	a = a[:last]
	*h = a
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && a[child+1].Return < a[child].Return {
			child++
		}
		if a[i].Return <= a[child].Return {
			return top
		}
		a[i], a[child] = a[child], a[i]
		i = child
	}
}
