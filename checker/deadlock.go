package checker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// deadlocks finds workers that wait for each other: each holds what the next
// one asks for.
//
//	A  holds x ══════════════════════   asks for y ───────── busy
//	B  holds y ══════════════════════   asks for x ───────── busy
//	                                               └ both ┘
//
// A hold counts while its worker believed and its lease was certainly in force,
// an ask from its call to its answer; asks for one lock that follow each other,
// with nothing taken or given back in between, are one. A worker that is refused and
// gives back at once has not waited: that two do so at one moment is bad luck,
// and dissolves by itself. So only a wait of all of them at once that goes on for
// longer than a try takes is a deadlock. While servers are hit, nobody can tell
// what is waited for.
//
// A cycle may have a length of one: see selfLocks.
func (r *run) deadlocks() {
	if r.spec.None {
		return
	}
	g := r.waitGraph()
	if len(g.waits) < 2 {
		return
	}
	for _, e := range g.events() {
		g.happens(e)
	}
}

// patience is how long all workers of a cycle must have waited at once: longer
// than tries that follow each other quickly.
func (r *run) patience() int64 {
	patience := 100 * time.Millisecond
	if r.spec.TTL > 0 {
		patience = min(patience, r.spec.TTL/10)
	}
	return int64(patience)
}

// maxCycle bounds the length of a cycle that is looked for.
const maxCycle = 64

// wait is a span in which a worker that held something asked for a lock.
type wait struct {
	worker      histories.Process
	key         string
	from, to    int64
	first, last *histories.Op
	told        bool
}

// had is a span in which a worker certainly held a lock.
type had struct {
	hold     *hold
	key      string
	from, to int64
}

// waitGraph says who waits for whom, as time goes by.
type waitGraph struct {
	*run
	waits   []*wait
	had     []*had // by workers that wait somewhere
	waiting map[histories.Process]*wait
	holders map[string][]*had
}

func (r *run) waitGraph() *waitGraph {
	g := &waitGraph{run: r, waiting: map[histories.Process]*wait{}, holders: map[string][]*had{}}
	askers := r.askWhileHolding()
	if len(askers) < 2 {
		return g
	}
	held := map[histories.Process][]*had{}
	for _, k := range r.keys {
		extends := extendsOf(k)
		for i := range k.holds {
			h := &k.holds[i]
			if !askers[h.worker()] {
				continue
			}
			if to := r.inForce(h, extends[h.worker()]); to > h.from {
				held[h.worker()] = append(held[h.worker()], &had{h, k.name, h.from, to})
			}
		}
	}
	g.waits = r.waitsOf(held)
	for _, w := range g.waits {
		g.had = append(g.had, held[w.worker]...)
		delete(held, w.worker)
	}
	return g
}

// askWhileHolding are the workers that may have asked for a lock while they held
// one: most histories have none.
func (r *run) askWhileHolding() map[histories.Process]bool {
	open, answered := map[histories.Process]int{}, map[histories.Process]int64{}
	askers := map[histories.Process]bool{}
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		p := op.Process
		switch {
		case op.F == histories.Acquire:
			if open[p] > 0 || answered[p] > op.Call {
				askers[p] = true
			}
			open[p] += one(op.Outcome == histories.OK)
			answered[p] = max(answered[p], op.Return)
		case op.F == histories.Release && open[p] > 0:
			open[p]--
		}
	}
	return askers
}

// waitsOf are the asks of workers that held something meanwhile.
func (r *run) waitsOf(held map[histories.Process][]*had) []*wait {
	for _, list := range held {
		slices.SortStableFunc(list, func(a, b *had) int { return cmp.Compare(a.from, b.from) })
	}
	type place struct {
		next int   // into held
		to   int64 // until when something that began before is held
		open *wait // what is asked for, as long as nothing else was done
	}
	places := map[histories.Process]*place{}
	var waits []*wait
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		list := held[op.Process]
		if len(list) == 0 || op.F != histories.Acquire && op.F != histories.Release {
			continue
		}
		at := places[op.Process]
		if at == nil {
			at = &place{}
			places[op.Process] = at
		}
		for ; at.next < len(list) && list[at.next].from <= op.Call; at.next++ {
			at.to = max(at.to, list[at.next].to)
		}
		switch {
		case op.F == histories.Release || at.to <= op.Call && (at.next == len(list) || list[at.next].from >= r.waited(op)):
			at.open = nil
		case at.open != nil && at.open.key == op.Key && at.open.last.Outcome != histories.OK && at.open.last.Parent == op.Parent:
			at.open.to, at.open.last = max(at.open.to, r.waited(op)), op
		default:
			at.open = &wait{worker: op.Process, key: op.Key, from: op.Call, to: r.waited(op), first: op, last: op}
			waits = append(waits, at.open)
		}
	}
	return waits
}

// waited is until when a worker waited for an answer: for one that never came,
// to its death or the end of the history.
func (r *run) waited(op *histories.Op) int64 {
	if op.Return != histories.Never {
		return op.Return
	}
	return min(r.h.End, r.diesAt(op.Process, op.Call))
}

// waitEvent is a wait or a hold that begins or ends.
type waitEvent struct {
	at    int64
	begin bool
	wait  *wait
	had   *had
}

func (g *waitGraph) events() []waitEvent {
	var list []waitEvent
	for _, w := range g.waits {
		if w.to > w.from {
			list = append(list, waitEvent{w.from, true, w, nil}, waitEvent{w.to, false, w, nil})
		}
	}
	for _, h := range g.had {
		list = append(list, waitEvent{h.from, true, nil, h}, waitEvent{h.to, false, nil, h})
	}
	slices.SortStableFunc(list, func(a, b waitEvent) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(one(a.begin), one(b.begin)))
	})
	return list
}

func (g *waitGraph) happens(e waitEvent) {
	var worker histories.Process
	switch {
	case e.wait != nil && e.begin:
		worker = e.wait.worker
		g.waiting[worker] = e.wait
	case e.wait != nil:
		if g.waiting[e.wait.worker] == e.wait {
			delete(g.waiting, e.wait.worker)
		}
	case e.begin:
		worker = e.had.hold.worker()
		list := g.holders[e.had.key]
		g.holders[e.had.key] = append(list[max(0, len(list)-maxHolds+1):], e.had)
	default:
		g.holders[e.had.key] = slices.DeleteFunc(g.holders[e.had.key], func(h *had) bool { return h == e.had })
	}
	if e.begin && g.waiting[worker] != nil {
		g.cycle(worker, e.at)
	}
}

// cycle follows who waits for whom from a worker, and reports where that comes
// back to it. Of several who hold one lock it follows the last.
func (g *waitGraph) cycle(worker histories.Process, now int64) {
	var waits []*wait
	var had []*had
	end, told := int64(histories.Never), true
	for p := worker; len(waits) < maxCycle; {
		w := g.waiting[p]
		if w == nil || len(g.holders[w.key]) == 0 {
			return
		}
		holders := g.holders[w.key]
		h := holders[len(holders)-1]
		waits, had = append(waits, w), append(had, h)
		end, told = min(end, w.to, h.to), told && w.told
		if p = h.hold.worker(); p == worker {
			break
		}
	}
	last := had[len(had)-1]
	if last.hold.worker() != worker || len(waits) < 2 || told || end-now <= g.patience() || g.calmSince(end) > now {
		return
	}
	for _, w := range waits {
		w.told = true
	}
	g.deadlock(waits, had, now, end)
}

func (g *waitGraph) deadlock(waits []*wait, had []*had, from, to int64) {
	k := g.keyOf(waits[0].key)
	v := Violation{Property: Deadlock, From: from, To: to}
	for _, w := range waits {
		v.Ops = append(v.Ops, w.first.ID)
		v.Workers = append(v.Workers, w.worker)
	}
	g.add(k, v, func(v *Violation) {
		var story []string
		for i, w := range waits {
			h := had[(i+len(had)-1)%len(had)] // what it holds is what the one before waits for
			v.Evidence = append(v.Evidence, h.hold.acquire.ID, w.first.ID)
			story = append(story, sprintf("%s held %s and asked for %s", workerName(w.worker), h.key, w.key))
		}
		v.Summary = sprintf("%s waited for each other for %s, %s", count(len(waits), "worker"), length(to-from), span(from, to))
		v.Faults = g.during(from, to)
		v.Cause, v.Because = Crosswise, strings.Join(story[:min(len(story), 5)], ", ")
	})
}

// selfLocks finds sells that ask for the lock that they hold, and are refused it
// for that: a cycle with one worker in it. A reentrant lock may be asked for
// again.
func (r *run) selfLocks(k *keyed) {
	if r.spec.Reentrant {
		return
	}
	extends := extendsOf(k)
	told, ends := map[*hold]bool{}, map[*hold]int64{}
	for _, op := range k.locks {
		if op.F != histories.Acquire || op.Parent == 0 || !saidBusy(op) && op.Return != histories.Never {
			continue
		}
		h := k.believed.last(op.Process, op.Call)
		to := r.waited(op)
		if h == nil || h.acquire.Parent != op.Parent || told[h] || !saidBusy(op) && to-op.Call <= r.patience() || r.calmSince(to) > op.Call {
			continue
		}
		if ends[h] == 0 {
			ends[h] = r.inForce(h, extends[op.Process])
		}
		if ends[h] < to {
			continue
		}
		told[h] = true
		r.selfLock(k, h, op)
	}
}

func (r *run) selfLock(k *keyed, h *hold, op *histories.Op) {
	v := Violation{Property: Deadlock, From: op.Call, To: r.waited(op), Ops: []int64{op.ID}}
	r.add(k, v, func(v *Violation) {
		v.Workers = []histories.Process{op.Process}
		v.Evidence = evidence(h.acquire, op)
		v.Summary = sprintf("%s waited for itself: the sell that held %s since %s asked for it again at %s",
			workerName(op.Process), k.name, moment(h.from), moment(op.Call))
		v.Faults = r.during(op.Call, v.To)
		v.Cause, v.Because = AskedAgain, "the lock is not reentrant"
	})
}
