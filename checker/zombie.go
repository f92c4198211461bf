package checker

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lockcheck/lockcheck/histories"
)

// Zombie is for how long keys were refused although nobody believed that it held
// them and nothing was in doubt. Times are in ns.
type Zombie struct {
	Longest   int64         `json:"longest"` // of a single stretch
	Total     int64         `json:"total"`   // of all stretches of all keys
	Stretches int           `json:"stretches"`
	Key       string        `json:"key"`   // of the longest
	From      int64         `json:"from"`  // of the longest
	To        int64         `json:"to"`    // of the longest
	After     []ZombieAfter `json:"after"` // by total, the most first
}

// ZombieAfter is the zombie time after one kind of fault: each stretch belongs to
// the fault that began last before it.
type ZombieAfter struct {
	Fault     string `json:"fault"` // "kill redis-1"; "": no fault had begun
	Longest   int64  `json:"longest"`
	Total     int64  `json:"total"`
	Stretches int    `json:"stretches"`
}

// refusedFree is a stretch of time in which a key was refused and free.
type refusedFree struct {
	from, to    int64         // return of the first refusal, call of the last
	free        int64         // since when nobody may have had it
	first, last *histories.Op // refusals
}

// zombies finds the stretches in which a key was refused though nobody held it:
//
//	A  ok [════ killed
//	B            busy        busy             busy
//	                └────── zombie time ──────┘
//
// Servers of a quorum may refuse two who try at once, and neither holds it. So a
// refusal proves that the key was locked if no other acquire was under way; all
// the time between two of these counts, since nobody was granted the key in
// between. Of refusals that overlap only the time counts in which somebody was
// asking all along: nobody got it then, whatever the reason.
func (r *run) zombies(k *keyed) {
	if r.spec.None || len(busyAcquires(k)) < 2 {
		return
	}
	z := zombieSearch{blocked: r.blocked(k), gap: -1, group: -1}
	group, returned := -1, int64(-1) // acquires that overlap
	acquires := acquiresOf(k)
	for i, op := range acquires {
		if op.Call > returned {
			group++
		}
		alone := op.Call > returned && (i+1 == len(acquires) || acquires[i+1].Call > op.Return)
		returned = max(returned, op.Return)
		if saidBusy(op) {
			z.see(op, group, alone)
		}
	}
	z.endGap()
	k.zombies = z.found
	if r.spec.MaxZombie <= 0 {
		return
	}
	for _, s := range k.zombies {
		if s.to-s.from > int64(r.spec.MaxZombie) {
			r.zombie(k, s)
		}
	}
}

func acquiresOf(k *keyed) []*histories.Op {
	var list []*histories.Op
	for _, op := range k.locks {
		if op.F == histories.Acquire {
			list = append(list, op)
		}
	}
	return list
}

// blocked are the spans in which somebody may have had the key by right, or
// something was in doubt, merged, by time.
func (r *run) blocked(k *keyed) []calm {
	var spans []calm
	for _, t := range r.takenSpans(k) {
		spans = append(spans, calm{t.from, t.to})
	}
	for _, op := range k.locks {
		switch op.Outcome {
		case histories.Info:
			spans = append(spans, calm{op.Call, r.actsUntil(op)})
		case histories.OK:
			spans = append(spans, calm{op.Call, op.Return})
		}
	}
	spans = append(spans, r.calm...)
	slices.SortFunc(spans, func(a, b calm) int { return cmp.Compare(a.from, b.from) })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && merged[n-1].to >= s.from {
			merged[n-1].to = max(merged[n-1].to, s.to)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// actsUntil is the last moment at which an unknown operation may act; Never if
// its worker has not come back from it, though nobody killed it.
func (r *run) actsUntil(op *histories.Op) int64 {
	if op.Return == histories.Never && r.diesAt(op.Process, op.Call) == histories.Never {
		return histories.Never
	}
	return r.lastsUntil(op)
}

// zombieSearch goes over refusals by Call.
type zombieSearch struct {
	blocked []calm
	gap     int // between blocked spans: how many of them came before
	group   int
	alone   refusedFree   // between refusals that were alone
	grouped refusedFree   // between those of the group
	groups  []refusedFree // of this gap
	found   []refusedFree
}

func (z *zombieSearch) see(op *histories.Op, group int, alone bool) {
	gap := sort.Search(len(z.blocked), func(i int) bool { return z.blocked[i].from > op.Return })
	if gap > 0 && z.blocked[gap-1].to >= op.Call {
		return // somebody may have had it
	}
	if gap != z.gap {
		z.endGap()
		z.gap, z.group = gap, group
	} else if group != z.group {
		z.endGroup()
		z.group = group
	}
	if alone {
		z.alone.with(op)
	} else {
		z.grouped.with(op)
	}
}

// with adds a refusal to a stretch.
func (s *refusedFree) with(op *histories.Op) {
	if s.first == nil {
		s.first, s.from = op, op.Return
	}
	s.from = min(s.from, op.Return)
	s.last, s.to = op, op.Call
}

func (z *zombieSearch) endGroup() {
	if z.grouped.to > z.grouped.from {
		z.groups = append(z.groups, z.grouped)
	}
	z.grouped = refusedFree{}
}

// endGap tells the stretches of a gap. What lies between two refusals that were
// alone is one, whatever was refused in it.
func (z *zombieSearch) endGap() {
	z.endGroup()
	list := z.groups
	if s := z.alone; s.to > s.from {
		list = slices.DeleteFunc(list, func(g refusedFree) bool { return g.from > s.from && g.to < s.to })
		list = append(list, s)
		slices.SortFunc(list, func(a, b refusedFree) int { return cmp.Compare(a.from, b.from) })
	}
	for _, s := range list {
		if z.gap > 0 {
			s.free = z.blocked[z.gap-1].to
		}
		z.found = append(z.found, s)
	}
	z.alone, z.groups = refusedFree{}, nil
}

// zombie reports a stretch that was longer than it may be.
func (r *run) zombie(k *keyed, s refusedFree) {
	v := Violation{Property: ZombieTime, From: s.from, To: s.to}
	r.add(k, v, func(v *Violation) {
		last := r.lastHolder(k, s)
		if last.suspect != nil {
			v.Ops = []int64{last.suspect.ID}
			v.Workers = []histories.Process{last.suspect.Process}
		}
		v.Evidence = evidence(last.suspect, last.lastRelease(), s.first, s.last)
		v.Summary = sprintf("%s was refused for %s though nobody held it, %s, longer than %s", k.name,
			length(s.to-s.from), span(s.from, s.to), length(int64(r.spec.MaxZombie)))
		v.Faults = r.during(s.from, s.to)
		v.Cause, v.Because = last.why()
	})
}

// lastHolder is who had the key last before a stretch.
func (r *run) lastHolder(k *keyed, s refusedFree) *stuckSearch {
	at := &stuckSearch{run: r, k: k, bound: r.spec.MaxZombie, taken: r.takenSpans(k), free: s.free}
	var to int64
	for ; at.next < len(at.taken) && at.taken[at.next].from <= s.from; at.next++ {
		if t := at.taken[at.next]; t.to >= to {
			to, at.suspect, at.certain = t.to, t.suspect, t.certain
		}
	}
	at.suspectWaiter()
	return at
}

// zombieTime adds the stretches of all keys up; nil if there are none.
func (r *run) zombieTime() *Zombie {
	var all Zombie
	after := map[string]*ZombieAfter{}
	for _, k := range r.keys {
		for _, s := range k.zombies {
			took := s.to - s.from
			if took > all.Longest {
				all.Longest, all.Key, all.From, all.To = took, k.name, s.from, s.to
			}
			all.Total += took
			all.Stretches++
			word := r.lastFault(s.from)
			if after[word] == nil {
				after[word] = &ZombieAfter{Fault: word}
			}
			a := after[word]
			a.Longest, a.Total, a.Stretches = max(a.Longest, took), a.Total+took, a.Stretches+1
		}
	}
	if all.Stretches == 0 {
		return nil
	}
	for _, a := range after {
		all.After = append(all.After, *a)
	}
	slices.SortFunc(all.After, func(a, b ZombieAfter) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Fault, b.Fault))
	})
	return &all
}

// lastFault is the fault that began last by at, in two words; "" if none had.
func (r *run) lastFault(at int64) string {
	i := sort.Search(len(r.faults), func(i int) bool { return r.faults[i].from > at })
	if i == 0 {
		return ""
	}
	m := r.faults[i-1].event
	if len(m.Targets) == 0 && (m.Fault == nil || len(m.Fault.Targets)+len(m.Fault.From)+len(m.Fault.To) == 0) {
		return m.F
	}
	return m.F + " " + targets(m)
}
