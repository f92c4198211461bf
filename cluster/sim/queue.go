package sim

import "time"

// event is something that will happen: a call of fn, the waking of a task, or
// its timer.
type event struct {
	at     time.Duration
	seq    uint64 // of equal times the older first
	proc   *process
	task   *task  // whose waking it is; nil: call fn
	ticket uint64 // void unless the task still waits under it …
	timer  uint64 // … or, if not 0, unless that timer is still armed
	fn     func()
	// idle marks housekeeping (heartbeats and what follows from them): if
	// nothing else is left, nothing will ever happen again.
	idle bool
	// periodic: a tick of Clock.Every, or of a task that such a tick began.
	periodic bool
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// queue is a binary heap of events. It is written out because
// container/heap's interface costs more than the rest of an event.
type queue []event

func (q *queue) push(e event) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
	*q = h
}

func (q *queue) pop() event {
	h := *q
	top, last := h[0], h[len(h)-1]
	h[len(h)-1] = event{} // let go of what it points at
	h = h[:len(h)-1]
	*q = h
	if len(h) > 0 {
		h.sink(last)
	}
	return top
}

// sink puts e into the hole at the root.
func (q queue) sink(e event) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1].before(&q[child]) {
			child++
		}
		if !q[child].before(&e) {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = e
}
