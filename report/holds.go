package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// hold is a stretch of time in which a worker believed that it held a lock,
// by the rule of DESIGN §5. Reports draw it; the checker judges for itself.
type hold struct {
	Worker   histories.Process
	Key      string
	Acquire  int64 // id of the operation that was granted
	From, To int64 // ns
	End      string
	// Lease bounds the moment (ns) at which the server would let the lock go
	// if nobody renewed or released it: the server took the request between
	// its call and its return. Both are 0 if there is no ttl.
	Lease [2]int64
}

// How a hold ended.
const (
	endReleased = "released"
	endLost     = "told that it was lost"
	endKilled   = "worker killed"
	endDeadline = "its own deadline passed"
	endNever    = "held to the end of the run"
)

// lockID names one lock as one worker sees it.
type lockID struct {
	worker histories.Process
	key    string
}

// step is something that moves a belief.
type step struct {
	at    int64
	order int // of equal moments: what ends a hold comes before what begins one
	op    *histories.Op
	end   string
}

// holdsOf works out all holds of a history, by start.
func holdsOf(h *histories.History) []hold {
	steps := stepsOf(h)
	var holds []hold
	for id, list := range steps {
		slices.SortFunc(list, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), a.order-b.order) })
		b := belief{id: id, spec: h.Header.Lock}
		for _, s := range list {
			b.take(s)
		}
		b.finish(h.End)
		holds = append(holds, b.done...)
	}
	slices.SortFunc(holds, func(a, b hold) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Acquire, b.Acquire))
	})
	return holds
}

// stepsOf sorts what moves beliefs by the lock and the worker concerned.
func stepsOf(h *histories.History) map[lockID][]step {
	steps := map[lockID][]step{}
	add := func(id lockID, s step) { steps[id] = append(steps[id], s) }
	for i := range h.Ops {
		op := &h.Ops[i]
		id := lockID{op.Process, op.Key}
		switch {
		case op.F == histories.Acquire && op.Outcome == histories.OK:
			add(id, step{at: op.Return, order: 1, op: op})
		case op.F == histories.Extend:
			add(id, step{at: op.Call, order: 2, op: op})
		case op.F == histories.Release:
			add(id, step{at: op.Call, op: op, end: endReleased})
		}
	}
	for _, e := range h.Marks {
		for id := range steps {
			switch {
			case e.F == histories.Lost && e.Process == id.worker && (e.Key == "" || e.Key == id.key):
				add(id, step{at: e.Time, end: endLost})
			case killsWorker(e, id.worker):
				add(id, step{at: e.Time, end: endKilled})
			}
		}
	}
	return steps
}

// killsWorker reports whether a mark is the end of a worker.
func killsWorker(e histories.Event, w histories.Process) bool {
	return (e.F == histories.Kill || e.F == histories.Crash) && slices.Contains(e.Targets, workerName(w))
}

// workerName is the name under which faults know a worker.
func workerName(w histories.Process) string { return fmt.Sprintf("worker-%d", w) }

// belief follows one worker and one lock through time.
type belief struct {
	id    lockID
	spec  histories.LockSpec
	open  bool
	depth int // of a re-entrant lock
	now   hold
	until histories.Num
	done  []hold
}

func (b *belief) take(s step) {
	if b.open && b.until.Known && b.until.N <= s.at {
		b.close(max(b.now.From, b.until.N), endDeadline)
	}
	switch {
	case s.end != "":
		b.end(s)
	case s.op.F == histories.Acquire:
		b.begin(s.op)
	case b.open && s.op.Outcome == histories.OK:
		b.extend(s.op)
	}
}

func (b *belief) begin(op *histories.Op) {
	if b.open && b.spec.Reentrant {
		b.depth++
		return
	}
	if b.open {
		b.close(op.Return, endReleased)
	}
	b.open, b.depth, b.until = true, 1, op.Until
	b.now = hold{Worker: b.id.worker, Key: b.id.key, Acquire: op.ID, From: op.Return, Lease: b.lease(op)}
}

func (b *belief) extend(op *histories.Op) {
	b.now.Lease = b.lease(op)
	if op.Until.Known {
		b.until = op.Until
	}
}

func (b *belief) lease(op *histories.Op) [2]int64 {
	ttl := int64(b.spec.TTL)
	if ttl == 0 {
		return [2]int64{}
	}
	return [2]int64{op.Call + ttl, op.Return + ttl}
}

func (b *belief) end(s step) {
	if !b.open {
		return
	}
	if b.depth--; s.end == endReleased && b.depth > 0 {
		return
	}
	b.close(s.at, s.end)
}

func (b *belief) close(at int64, end string) {
	b.now.To, b.now.End = at, end
	b.done = append(b.done, b.now)
	b.open = false
}

func (b *belief) finish(end int64) {
	switch {
	case !b.open:
	case b.until.Known && b.until.N < end:
		b.close(max(b.now.From, b.until.N), endDeadline)
	default:
		b.close(max(b.now.From, end), endNever)
	}
}
