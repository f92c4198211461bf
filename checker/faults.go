package checker

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/lockcheck/lockcheck/histories"
)

// fault is one fault as a span of time: from the moment before it was
// injected until it was seen to be undone. Faults that do not last (a
// worker's death, an eviction) have no length.
type fault struct {
	mark     int // index into History.Marks
	event    *histories.Event
	from, to int64 // to is Never if nothing undid it
	server   bool  // it hits servers or links, not workers alone
}

// lasts reports whether a fault is in force until something undoes it.
func lasts(m *histories.Event) bool {
	switch m.F {
	case histories.Pause, histories.Partition, histories.Delay:
		return true
	case histories.Loss:
		return !losesReply(m)
	case histories.Skew:
		return m.Fault == nil || m.Fault.Offset != 0 || m.Fault.Drift != 0
	case histories.Kill:
		// A worker that was killed is replaced, not healed; a connection is
		// made anew.
		return hitsServer(m)
	}
	return false
}

// cutsConnections reports whether connections were killed, and not who had
// them.
func cutsConnections(m *histories.Event) bool {
	return m.F == histories.Kill && m.Fault != nil && m.Fault.Mode == "connection"
}

func isFault(m *histories.Event) bool {
	if ambush(m) && len(m.Targets) == 0 {
		return false // no worker ever came to that step
	}
	switch m.F {
	case histories.Kill, histories.Pause, histories.Partition, histories.Loss, histories.Skew,
		histories.Failover, histories.Evict, histories.Delay, histories.Crash:
		return m.Process == histories.Nemesis
	}
	return false
}

// ambush reports whether m lies in wait for a worker at a step: its time is
// that of the laying, its targets are whom it caught.
func ambush(m *histories.Event) bool {
	return (m.F == histories.Crash || m.F == histories.Loss) && m.Fault != nil && m.Fault.Step != ""
}

// losesReply reports whether one reply to one worker got lost: that hurts no
// server and no link.
func losesReply(m *histories.Event) bool {
	return m.F == histories.Loss && m.Fault != nil && m.Fault.Step != ""
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
		if lasts(f.event) {
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
		return hitsServer(m)
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

// hitsServer reports whether a fault concerns servers or their links.
func hitsServer(m *histories.Event) bool {
	switch m.F {
	case histories.Loss:
		return !losesReply(m)
	case histories.Partition, histories.Failover, histories.Evict:
		return true
	case histories.Delay, histories.Crash:
		return false
	case histories.Kill:
		if cutsConnections(m) {
			return false // the server itself goes on, with all that it knows
		}
	}
	return slices.ContainsFunc(m.Targets, func(name string) bool { return !isWorker(name) })
}

// isWorker reports whether a target is a worker, or a role that stands for
// workers.
func isWorker(name string) bool {
	return strings.HasPrefix(name, "worker") || strings.HasSuffix(name, "workers") || name == "holder"
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
