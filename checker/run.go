package checker

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
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
	deaths    map[histories.Process][]int64 // by host
	births    map[histories.Process][]int64 // by host: when it was started again
	spoken    map[histories.Process][]int64 // by host: when it did or learnt something, see words
	listen    sync.Once
	held      workerHolds // see heldByWorkers
	gather    sync.Once
	notices   noticeIndex
	recheck   time.Duration // for porcupine to decide one key again
	rechecked atomic.Int64  // ns that it took so far
	byOwner   ownerIndex
	perHost   histories.Process // workers that live and die together
	renews    bool              // some worker renewed its lease, or tried to

	listsOrders bool // audits list the orders that the store has
}

// keyed is what happened to one key, as a lock or as stock.
type keyed struct {
	name   string
	locks  []*histories.Op // acquires, extends, releases, by Call
	stock  []*histories.Op // sells, reads, restocks, cancels, by Call
	writes []*histories.Op // by Call
	breaks []*histories.Op // deletions of the lock by anybody, by Call
	audit  *histories.Event

	holds    []hold // by from
	believed beliefIndex
	zombies  []refusedFree
	waiting  []undecided // see search
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
	advice  string // and what to do about it
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
	r.spec.MaxHold = cmp.Or(o.MaxHold, r.spec.MaxHold)
	r.spec.MaxZombie = cmp.Or(o.MaxZombie, r.spec.MaxZombie)
	r.place = indexOps(h.Ops)
	// Runs of lockcheck always list them; of other histories an audit without
	// the field has only counted the stock.
	r.listsOrders = h.Header.Design != "" ||
		slices.ContainsFunc(h.Audits, func(e histories.Event) bool { return e.Orders != nil })
	r.keys = groupByKey(h)
	r.faultTimes = readFaults(h.Marks)
	r.workersEnds()
	for i := range h.Ops {
		r.renews = r.renews || h.Ops[i].F == histories.Extend
	}
	r.recheck = r.shareRecheck()
	return r
}

// maxLook bounds how far steps looks: a sell that never returned is open to
// the end of the history.
const maxLook = 1 << 16

// steps are the operations of a sell, by Call.
func (r *run) steps(sell *histories.Op) []*histories.Op {
	ops := r.h.Ops
	i, _ := slices.BinarySearchFunc(ops, sell.Call, func(op histories.Op, t int64) int { return cmp.Compare(op.Call, t) })
	var out []*histories.Op
	for end := min(len(ops), i+maxLook); i < end && ops[i].Call <= sell.Return; i++ {
		if ops[i].Parent == sell.ID {
			out = append(out, &ops[i])
		}
	}
	return out
}
