package vtime

import "time"

// event is something that will happen: a task goes on or its timer fires, a
// packet arrives, or fn is called.
type event struct {
	at     time.Duration
	seq    uint64 // of equal times the older first
	proc   *Process
	task   *Task   // whose waking it is
	ticket uint64  // void unless the task still waits under it …
	timer  uint64  // … or, if not 0, unless that timer is still armed
	packet *packet // that arrives
	fn     func()
	// idle marks housekeeping (heartbeats and what follows from them): if
	// nothing else is left, nothing will ever happen again.
	idle    bool
	program *Program // whose tick of Clock.Every it is
}

// queue holds events by time. It is a binary heap of small entries without
// pointers, because moving those costs the garbage collector nothing; the
// events themselves stay where they are.
type queue struct {
	heap   []entry
	events []event
	free   []int32 // places in events
}

// entry is an event's place in the order of time.
type entry struct {
	at  time.Duration
	seq uint64
	pos int32 // in events
}

func (e *entry) before(o *entry) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

func (q *queue) empty() bool { return len(q.heap) == 0 }

// first is the time of the next event.
func (q *queue) first() time.Duration { return q.heap[0].at }

func (q *queue) push(e event) {
	x := entry{at: e.at, seq: e.seq}
	if n := len(q.free); n > 0 {
		x.pos = q.free[n-1]
		q.free = q.free[:n-1]
		q.events[x.pos] = e
	} else {
		x.pos = int32(len(q.events))
		q.events = append(q.events, e)
	}
	q.heap = append(q.heap, x)
	h, i := q.heap, len(q.heap)-1
	for i > 0 {
		parent := (i - 1) / 2
		if !x.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
}

func (q *queue) pop() event {
	last := len(q.heap) - 1
	pos, x := q.heap[0].pos, q.heap[last]
	q.heap = q.heap[:last]
	if last > 0 {
		q.sink(x)
	}
	e := q.events[pos]
	q.events[pos] = event{} // let go of what it points at
	q.free = append(q.free, pos)
	return e
}

// sink puts x into the hole at the root.
func (q *queue) sink(x entry) {
	h, i := q.heap, 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&x) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = x
}
