package checker

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lockcheck/lockcheck/histories"
)

// fault is one fault as a span of time: from the moment before it was
// injected until it was seen to be undone. Faults that do not last (an eviction)
// have no length, and neither has a worker's death: it is replaced, not healed.
type fault struct {
	mark     int // index into History.Marks
	event    *histories.Event
	from, to int64 // to is Never if nothing undid it
	server   bool  // it hits servers or links, not workers alone
	lasts    bool
}

// faultSpans are the faults of a run, and the marks that tell of a promotion.
func faultSpans(marks []histories.Event) (faults []fault, roles []int) {
	for _, s := range histories.FaultSpans(marks) {
		f := fault{s.Mark, &marks[s.Mark], s.From, s.To, s.Servers, s.Lasts}
		if s.Kind.Ends == histories.Start && !s.Servers {
			f.to, f.lasts = f.from, false
		}
		faults = append(faults, f)
	}
	for i := range marks {
		if m := &marks[i]; m.F == histories.Promoted {
			roles = append(roles, i)
		}
	}
	return faults, roles
}

// kind is the kind of fault that a mark tells of; the zero Kind if it tells of
// none.
func kind(m *histories.Event) histories.Kind {
	k, _ := m.Kind()
	return k
}

// faultTimes are the faults of a run, and what is asked of them often.
type faultTimes struct {
	faults []fault // by from
	roles  []int   // marks that tell of a promotion
	hurt   int64   // when servers or links were hit first, or roles changed; else Never
	skewed int64   // when a clock was skewed first; else Never
	split  int64   // until when one store is certain: nothing but clocks of servers was hit, nobody promoted; else Never
	calm   []calm
	slow   []lasting // faults that last, of servers or workers
}

// calm says that no fault of servers or links which begins by from lasts, or
// is undone, beyond to.
type calm struct{ from, to int64 }

func readFaults(marks []histories.Event) faultTimes {
	t := faultTimes{hurt: histories.Never, skewed: histories.Never, split: histories.Never}
	t.faults, t.roles = faultSpans(marks)
	for _, f := range t.faults {
		if f.lasts {
			t.slow = withLasting(t.slow, f.from, f.to)
		}
		if f.server {
			t.hurt = min(t.hurt, f.from)
			if f.event.F != histories.Skew {
				t.split = min(t.split, f.from)
			}
		}
		if f.event.F == histories.Skew {
			t.skewed = min(t.skewed, f.from)
		}
		switch {
		case !f.server:
		case f.event.F == histories.Skew:
			t.calm = append(t.calm, calm{f.from, f.from})
		default:
			// While servers are hit, nobody can tell who is busy.
			t.calm = append(t.calm, calm{f.from, f.to})
		}
	}
	for _, i := range t.roles {
		t.hurt, t.split = min(t.hurt, marks[i].Time), min(t.split, marks[i].Time)
	}
	for i := range marks {
		if m := &marks[i]; mends(m) {
			t.calm = append(t.calm, calm{m.Time, m.Time})
		}
	}
	slices.SortStableFunc(t.calm, func(a, b calm) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(t.calm); i++ {
		t.calm[i].to = max(t.calm[i].to, t.calm[i-1].to)
	}
	return t
}

// mends reports whether a mark tells of servers or links getting better.
func mends(m *histories.Event) bool {
	switch m.F {
	case histories.Start, histories.Resume:
		return m.HitsServers()
	}
	return m.F == histories.Promoted || m.F == histories.Heal
}

// calmSince is the moment at which the last of the faults that had begun by
// at was over; 0 if there was none, Never if one lasts.
func (t *faultTimes) calmSince(at int64) int64 {
	i := sort.Search(len(t.calm), func(i int) bool { return t.calm[i].from > at })
	if i == 0 {
		return 0
	}
	return t.calm[i-1].to
}

// maxFaults bounds the faults that one violation names.
const maxFaults = 200

// during are the faults in force at some moment of [from, to], and the
// promotions in it, as indexes into History.Marks.
func (r *run) during(from, to int64) []int {
	var marks []int
	for _, f := range r.faults {
		if f.from <= to && f.to >= from {
			marks = append(marks, f.mark)
		}
	}
	for _, i := range r.roles {
		if t := r.h.Marks[i].Time; t >= from && t <= to {
			marks = append(marks, i)
		}
	}
	slices.Sort(marks)
	return marks[:min(len(marks), maxFaults)]
}

// serversHurt reports whether any fault has hit servers or links before at.
// Until then there is one store, which holds one lock at a time.
func (r *run) serversHurt(at int64) bool { return r.hurt < at }

// find is the first fault of kind f that is in force in [from, to] and that
// fits; nil if there is none.
func (r *run) find(f string, from, to int64, fits func(*fault) bool) *fault {
	for i := range r.faults {
		x := &r.faults[i]
		if x.event.F == f && x.from <= to && x.to >= from && (fits == nil || fits(x)) {
			return x
		}
	}
	return nil
}

// promotion is the first promotion in [from, to], nil if there is none.
func (r *run) promotion(from, to int64) *histories.Event {
	for _, i := range r.roles {
		if m := &r.h.Marks[i]; m.Time >= from && m.Time <= to {
			return m
		}
	}
	return nil
}
