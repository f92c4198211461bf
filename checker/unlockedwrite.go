package checker

import (
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// unlockedWrites finds writes that took effect although their sell cannot have
// had any lock, on a stock key that other sells write to under one.
//
//	sell 1  acquire ok ── read ─────────────── write ── release
//	sell 2                       read ── write
//
// A sell cannot have had a lock if none of its acquires was sent before the
// write, or each was certainly refused; and if its worker had not taken, for
// another sell or for none, a lock that it had not begun to give back. What is
// told from Parent alone is told for certain: a write or an acquire that names no
// sell accuses nobody. Which lock a sell took is not asked: a lock for each
// customer or each segment of the stock is another key for every sell.
func (r *run) unlockedWrites() {
	if r.spec.None {
		return
	}
	x := r.indexAsks()
	if x.granted == 0 {
		return
	}
	var suspects []unlocked
	for _, k := range r.keys {
		suspects = append(suspects, r.withoutLock(k, &x)...)
	}
	if len(suspects) == 0 {
		return
	}
	kept := r.keptLocks(suspects)
	for _, u := range suspects {
		if !kept[u.write] {
			r.unlockedWrite(u)
		}
	}
}

// unlocked is a write of a sell that cannot have had a lock.
type unlocked struct {
	k              *keyed
	write, refused *histories.Op // refused is an acquire of its sell that was; nil if it sent none
	other          *histories.Op // the first grant to another sell that writes to the key
}

// askIndex has the first acquires of each sell, by its place in History.Ops.
type askIndex struct {
	may     []int32 // that may have been granted: place of the acquire, plus 1
	sure    []int32 // that was certainly granted
	refused []int32 // that was certainly refused
	granted int     // acquires with a parent that said ok
}

func (r *run) indexAsks() askIndex {
	n := len(r.h.Ops)
	x := askIndex{may: make([]int32, n), sure: make([]int32, n), refused: make([]int32, n)}
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F != histories.Acquire || op.Parent == 0 {
			continue
		}
		at := r.place.at(op.Parent)
		if at < 0 {
			continue
		}
		list := x.may
		if op.Outcome == histories.Fail {
			list = x.refused
		}
		if list[at] == 0 {
			list[at] = int32(i) + 1
		}
		if op.Outcome == histories.OK && x.sure[at] == 0 {
			x.sure[at] = int32(i) + 1
		}
		x.granted += one(op.Outcome == histories.OK)
	}
	return x
}

// maxNesting bounds how far a step is followed upwards: a sell may be a step
// of another.
const maxNesting = 8

// before is the first acquire in list that a sell, or one around it, had sent
// by t.
func (r *run) before(list []int32, sell, t int64) *histories.Op {
	for range maxNesting {
		at := r.place.at(sell)
		if at < 0 {
			return nil
		}
		if i := list[at]; i > 0 && r.h.Ops[i-1].Call <= t {
			return &r.h.Ops[i-1]
		}
		sell = r.h.Ops[at].Parent
	}
	return nil
}

// withoutLock are the writes of a key whose sells cannot have had a lock, if
// others had.
func (r *run) withoutLock(k *keyed, x *askIndex) []unlocked {
	var others []under // the first two sells that write under a grant
	var list []unlocked
	writes := writesBySell(k)
	for _, w := range k.writes {
		sell := r.op(w.Parent)
		if sell == nil || sell.F != histories.Sell {
			continue
		}
		if len(others) < 2 && (len(others) == 0 || others[0].sell != w.Parent) {
			if grant := r.before(x.sure, w.Parent, w.Call); grant != nil {
				others = append(others, under{w.Parent, grant})
			}
		}
		if r.before(x.may, w.Parent, w.Call) == nil && !w.Replay && r.tookEffect(k, w, writes[w.Parent]) {
			list = append(list, unlocked{k: k, write: w, refused: r.before(x.refused, w.Parent, w.Call)})
		}
	}
	for i := range list {
		for _, o := range others {
			if list[i].other == nil && o.sell != list[i].write.Parent {
				list[i].other = o.grant
			}
		}
	}
	return slices.DeleteFunc(list, func(u unlocked) bool { return u.other == nil })
}

// under is a sell that writes under a grant.
type under struct {
	sell  int64
	grant *histories.Op
}

// keptLocks are the writes among suspects whose worker may have kept a lock that
// it took for another sell, or for none that is named: the last thing that it did
// with that lock was to take it.
func (r *run) keptLocks(suspects []unlocked) map[*histories.Op]bool {
	type lock struct {
		worker histories.Process
		key    string
	}
	asked := map[*histories.Op]bool{}
	for _, u := range suspects {
		asked[u.write] = false
	}
	open := map[lock]*histories.Op{}                    // the acquire
	depth := map[lock]int{}                             // of a reentrant lock
	byWorker := map[histories.Process]map[string]bool{} // keys of open
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		at := lock{op.Process, op.Key}
		switch {
		case op.F == histories.Acquire && op.Outcome != histories.Fail:
			if byWorker[op.Process] == nil {
				byWorker[op.Process] = map[string]bool{}
			}
			open[at], byWorker[op.Process][op.Key] = op, true
			depth[at]++
		case op.F == histories.Release:
			if depth[at]--; depth[at] <= 0 || !r.spec.Reentrant {
				depth[at] = 0
				delete(byWorker[op.Process], op.Key)
			}
		case op.F == histories.Write:
			if _, suspect := asked[op]; !suspect {
				continue
			}
			for key := range byWorker[op.Process] {
				if r.diesAt(op.Process, open[lock{op.Process, key}].Call) < op.Call {
					delete(byWorker[op.Process], key) // of a life that is over
					continue
				}
				asked[op] = true
				break
			}
		}
	}
	return asked
}

func (r *run) unlockedWrite(u unlocked) {
	w := u.write
	to := w.Return
	if w.Outcome == histories.Info {
		to = w.Call
	}
	v := Violation{Property: UnlockedWrite, From: w.Call, To: to, Ops: []int64{w.ID}}
	r.add(u.k, v, func(v *Violation) {
		v.Workers = []histories.Process{w.Process}
		holder := r.holderAt(u.other.Key, w)
		with := u.other
		if holder != nil {
			with = holder.acquire
		}
		v.Evidence = evidence(with, u.refused, w)
		v.Summary = sprintf("%s wrote to %s at %s without the lock that other sells of it take", workerName(w.Process), u.k.name, moment(w.Call))
		v.Faults = r.during(w.Call, v.To)
		v.Cause, v.Because = r.whyUnlocked(u, holder)
	})
}

// holderAt is a hold of another worker on a lock at the moment of a write.
func (r *run) holderAt(lock string, w *histories.Op) *hold {
	k := r.keyOf(lock)
	for i := range k.holds {
		h := &k.holds[i]
		if h.from > w.Call {
			break
		}
		if h.to >= w.Call && h.worker() != w.Process {
			return h
		}
	}
	return nil
}

func (r *run) whyUnlocked(u unlocked, holder *hold) (Cause, string) {
	cause, why := NeverAsked, sprintf("its sell (op %d) asked for no lock; that of op %d took %s at %s", u.write.Parent, u.other.Parent, u.other.Key, moment(u.other.Return))
	if u.refused != nil {
		cause, why = FailedOpen, sprintf("its sell (op %d) was refused %s at %s, and wrote all the same", u.write.Parent, u.refused.Key, moment(u.refused.Call))
	}
	if holder != nil {
		why += sprintf("; %s held it at that moment, since %s", workerName(holder.worker()), moment(holder.from))
	}
	return cause, why
}
