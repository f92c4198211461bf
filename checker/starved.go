package checker

import (
	"cmp"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// A worker is starved of a key when it was refused starvedTurns times in a row
// for each contender that asks for the key, while others were granted it as often.
// Where all are as likely to get it, one streak in 20,000 is that long (e^10). Fewer
// than fewAcquires tell nothing.
const starvedTurns = 10

// starvation is one streak of refusals.
type starvation struct {
	who      histories.Process // a worker, or the first of a host
	key      string
	refused  int
	granted  int // to others meanwhile
	from, to int64
}

// beats reports whether a streak says more than another one.
func (s starvation) beats(other starvation) bool {
	return cmp.Or(
		cmp.Compare(min(s.refused, s.granted), min(other.refused, other.granted)),
		cmp.Compare(s.refused, other.refused)) > 0
}

// starved warns of a worker, or of all workers of a host, that was refused a key
// again and again while others were granted it. No single answer is wrong: the
// lock is not fair, or something favours those that are near it.
func (r *run) starved() Warning {
	byHost := r.perHost > 1
	list := r.starvations(r.host)
	if len(list) == 0 && byHost {
		byHost = false
		list = r.starvations(func(p histories.Process) histories.Process { return p })
	}
	if len(list) == 0 {
		return Warning{}
	}
	slices.SortStableFunc(list, func(a, b starvation) int { return cmp.Compare(b.refused, a.refused) })
	s := list[0]
	name := workerName(s.who) + " was"
	if byHost {
		last := s.who
		for i := range r.h.Ops {
			if p := r.h.Ops[i].Process; r.host(p) == s.who {
				last = max(last, p)
			}
		}
		name = sprintf("workers %d to %d were", s.who, last)
	}
	text := sprintf("%s refused %s %d times in a row, %s, while others were granted it %d times", name, s.key, s.refused, span(s.from, s.to), s.granted)
	if more := len(list) - 1; more > 0 {
		text += " (and " + count(more, "more streak") + ")"
	}
	return Warning{"starvation", text}
}

// starvations are the longest streaks of each group of workers on each key, if
// they are long enough.
func (r *run) starvations(groupOf func(histories.Process) histories.Process) []starvation {
	var list []starvation
	for _, k := range r.keys {
		longest := longestStreaks(k, groupOf)
		least := max(fewAcquires, starvedTurns*len(longest))
		for _, s := range longest {
			if min(s.refused, s.granted) >= least {
				list = append(list, s)
			}
		}
	}
	return list
}

// longestStreaks has one streak for each group that asked for a key, by group:
// that in which the lesser of refusals and grants to others is most.
func longestStreaks(k *keyed, groupOf func(histories.Process) histories.Process) []starvation {
	type streak struct {
		now, best starvation
		before    int // grants to anybody before it
	}
	groups := map[histories.Process]*streak{}
	grants := 0
	for _, op := range k.locks {
		if op.F != histories.Acquire {
			continue
		}
		g := groups[groupOf(op.Process)]
		if g == nil {
			g = &streak{best: starvation{who: groupOf(op.Process), key: k.name}}
			groups[g.best.who] = g
		}
		switch {
		case op.Outcome != histories.Fail: // granted, or perhaps
			g.now = starvation{}
		case saidBusy(op):
			if g.now.refused == 0 {
				g.before = grants
				g.now = starvation{who: g.best.who, key: k.name, from: op.Call}
			}
			g.now.refused++
			g.now.granted, g.now.to = grants-g.before, op.Return
			if g.now.beats(g.best) {
				g.best = g.now
			}
		}
		grants += one(op.Outcome == histories.OK)
	}
	list := make([]starvation, 0, len(groups))
	for _, g := range groups {
		list = append(list, g.best)
	}
	slices.SortFunc(list, func(a, b starvation) int { return cmp.Compare(a.who, b.who) })
	return list
}
