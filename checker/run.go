package checker

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// run is one history made ready for judging: operations by key, faults as
// spans of time, deaths and notices by worker. It is read by many goroutines
// at once; each keyed is written by one.
type run struct {
	h     *histories.History
	spec  histories.LockSpec
	opt   Options
	keys  []*keyed // by name
	place placeIndex
	faultTimes
	deaths  map[histories.Process][]int64
	notices map[histories.Process][]*histories.Event
	recheck time.Duration // for porcupine to decide one key again
	byOwner ownerIndex
	perHost int  // workers that live and die together
	renews  bool // some worker renewed its lease, or tried to

	listsOrders bool // audits list the orders that the store has
}

// keyed is what happened to one key, as a lock or as stock.
type keyed struct {
	name   string
	locks  []*histories.Op // acquires, extends, releases, by Call
	stock  []*histories.Op // sells, reads, restocks, cancels, by Call
	writes []*histories.Op // by Call
	audit  *histories.Event

	holds    []hold // by from
	believed beliefIndex
	books    *books
	found    [len(Properties)]*findings // nil: nothing is known
}

// of are the findings on a property, to be added to.
func (k *keyed) of(p Property) *findings {
	at := &k.found[p.rank()]
	if *at == nil {
		*at = &findings{}
	}
	return *at
}

// broken are the violations of a property that may be listed, and how many
// there are in all.
func (k *keyed) broken(p Property) ([]finding, int) {
	if f := k.found[p.rank()]; f != nil {
		return f.list, f.count
	}
	return nil, 0
}

func (k *keyed) size() int { return len(k.locks) + len(k.stock) + len(k.writes) }

// finding is a violation, and how to tell the rest of it if it gets listed.
type finding struct {
	Violation
	tell func(*Violation)
}

// findings are the violations of one property on one key.
type findings struct {
	list    []finding
	count   int
	unknown string // why it could not be decided
	same    int    // violations that another property has told already
	method  method
}

// add counts a violation, and keeps it if there is room. tell fills in what
// takes time to find out: evidence, sentences, the cause. It is called for
// violations that the verdict lists, once everything else is known.
func (r *run) add(k *keyed, v Violation, tell func(*Violation)) {
	f := k.of(v.Property)
	f.count++
	if len(f.list) < r.opt.MaxListed {
		v.Level = v.Property.Level()
		v.Key = k.name
		f.list = append(f.list, finding{v, tell})
	}
}

func prepare(h *histories.History, o Options) *run {
	r := &run{h: h, spec: h.Header.Lock, opt: o}
	r.place = indexOps(h.Ops)
	// Runs of lockcheck always list them; of other histories an audit without
	// any may only count the stock.
	r.listsOrders = h.Header.Design != "" ||
		slices.ContainsFunc(h.Audits, func(e histories.Event) bool { return len(e.Orders) > 0 })
	r.keys = groupByKey(h)
	r.faultTimes = readFaults(h.Marks)
	r.workersEnds()
	for i := range h.Ops {
		r.renews = r.renews || h.Ops[i].F == histories.Extend
	}
	r.recheck = r.shareRecheck()
	return r
}

// class says which of a key's lists an operation belongs to.
func class(f string) int {
	switch f {
	case histories.Acquire, histories.Extend, histories.Release:
		return 0
	case histories.Sell, histories.Read, histories.Restock, histories.Cancel:
		return 1
	case histories.Write:
		return 2
	}
	return -1
}

// groupByKey sorts operations into keys in two passes: count, then fill.
func groupByKey(h *histories.History) []*keyed {
	ids := map[string]int32{}
	var keys []*keyed
	var counts [][3]int32
	last, lastID := "", int32(-1)
	id := func(name string) int32 {
		if lastID >= 0 && name == last {
			return lastID
		}
		i, ok := ids[name]
		if !ok {
			i = int32(len(keys))
			ids[name] = i
			keys = append(keys, &keyed{name: name})
			counts = append(counts, [3]int32{})
		}
		last, lastID = name, i
		return i
	}
	of := make([]int32, len(h.Ops))
	for i := range h.Ops {
		of[i] = -1
		if c := class(h.Ops[i].F); c >= 0 && h.Ops[i].Process >= 0 {
			of[i] = id(h.Ops[i].Key)
			counts[of[i]][c]++
		}
	}
	for i := range h.Audits {
		keys[id(h.Audits[i].Key)].audit = &h.Audits[i]
	}
	for i, k := range keys {
		n := counts[i]
		k.locks = make([]*histories.Op, 0, n[0])
		k.stock = make([]*histories.Op, 0, n[1])
		k.writes = make([]*histories.Op, 0, n[2])
	}
	for i := range h.Ops {
		if of[i] >= 0 {
			keys[of[i]].put(&h.Ops[i])
		}
	}
	slices.SortFunc(keys, func(a, b *keyed) int { return strings.Compare(a.name, b.name) })
	return keys
}

func (k *keyed) put(op *histories.Op) {
	switch class(op.F) {
	case 0:
		k.locks = append(k.locks, op)
	case 1:
		k.stock = append(k.stock, op)
	case 2:
		k.writes = append(k.writes, op)
	}
}

// placeIndex finds an operation by its id: a slice where ids are dense, as
// the recorder makes them, else a map.
type placeIndex struct {
	dense  []int32 // place + 1
	sparse map[int64]int32
}

func indexOps(ops []histories.Op) placeIndex {
	var highest int64
	for i := range ops {
		highest = max(highest, ops[i].ID)
	}
	var x placeIndex
	if highest <= 4*int64(len(ops))+1024 {
		x.dense = make([]int32, highest+1)
	} else {
		x.sparse = make(map[int64]int32, len(ops))
	}
	for i := range ops {
		if id := ops[i].ID; x.dense != nil && id >= 0 {
			x.dense[id] = int32(i) + 1
		} else if x.sparse != nil {
			x.sparse[id] = int32(i) + 1
		}
	}
	return x
}

// at is the place of id in History.Ops, -1 if there is none.
func (x placeIndex) at(id int64) int {
	if x.dense != nil {
		if id > 0 && id < int64(len(x.dense)) {
			return int(x.dense[id]) - 1
		}
		return -1
	}
	return int(x.sparse[id]) - 1
}

// op finds an operation by id, nil if there is none.
func (r *run) op(id int64) *histories.Op {
	if i := r.place.at(id); id > 0 && i >= 0 {
		return &r.h.Ops[i]
	}
	return nil
}

// steps are the operations of a sell, by Call.
func (r *run) steps(sell *histories.Op) []*histories.Op {
	ops := r.h.Ops
	i, _ := slices.BinarySearchFunc(ops, sell.Call, func(op histories.Op, t int64) int { return cmp.Compare(op.Call, t) })
	var out []*histories.Op
	for ; i < len(ops) && ops[i].Call <= sell.Return; i++ {
		if ops[i].Parent == sell.ID {
			out = append(out, &ops[i])
		}
	}
	return out
}

// workersEnds collects when workers were killed and when they were told that
// a lock is gone.
func (r *run) workersEnds() {
	r.deaths = map[histories.Process][]int64{}
	r.notices = map[histories.Process][]*histories.Event{}
	r.perHost = 1
	if n, err := strconv.Atoi(r.h.Header.Settings["per-host"]); err == nil && n > 1 && n < 1<<16 {
		r.perHost = n
	}
	for i := range r.h.Marks {
		m := &r.h.Marks[i]
		switch {
		case m.F == histories.Lost:
			r.notices[m.Process] = append(r.notices[m.Process], m)
		case m.Process == histories.Nemesis && (m.F == histories.Kill || m.F == histories.Crash):
			for _, host := range m.Targets {
				for p := range workersOf(host, r.perHost) {
					r.deaths[p] = append(r.deaths[p], m.Time)
				}
			}
		}
	}
}

// workersOf yields the workers of a host: "worker-4" is the host of worker 4
// and of the perHost-1 workers after it. Other names have none.
func workersOf(host string, perHost int) func(func(histories.Process) bool) {
	return func(yield func(histories.Process) bool) {
		digits, ok := strings.CutPrefix(host, "worker-")
		first, err := strconv.ParseInt(digits, 10, 32)
		if !ok || err != nil || first < 0 {
			return
		}
		for i := range perHost {
			if !yield(histories.Process(first) + histories.Process(i)) {
				return
			}
		}
	}
}
