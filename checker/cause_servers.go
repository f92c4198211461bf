package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// roleSlack is how much later than it happened a promotion may be recorded:
// it is seen by looking.
const roleSlack = int64(500 * time.Millisecond)

// whyForgotten tells why the servers may have forgotten what they knew at
// from, by the moment to. What comes after to explains nothing, and of a lock what
// befell the store of the stock.
func (r *run) whyForgotten(what string, from, to int64) (Cause, string) {
	hit := func(f *fault) bool { return what == theStore || !ofStock(f) }
	p := r.promotion(from, to)
	if kill := r.emptied(from, to, p, hit); kill != nil {
		return RestartedEmpty, whyEmptied(kill)
	}
	if p == nil {
		p = r.promotionSeenLate(from, to)
	}
	if p != nil {
		return r.whyPromoted(what, p, from, to)
	}
	if p, until := r.twoMasters(from, to); p != nil {
		why := "the old master went on answering"
		if until != histories.Never {
			why += " until " + moment(until)
		}
		if cut := r.find(histories.Partition, p.Time, p.Time, splitsWorkers); cut != nil {
			return SplitBrain, sprintf("%s: %s, %s", faultStory(cut), promotionStory(p), why)
		}
		return LostAtFailover, sprintf("%s was lost at failover (%s, %s)", what, promotionStory(p), why)
	}
	if skew := r.find(histories.Skew, from, to, hit); skew != nil {
		return ClockJumped, faultStory(skew)
	}
	if evict := r.find(histories.Evict, from, to, hit); evict != nil {
		return Evicted, faultStory(evict)
	}
	return CauseUnknown, ""
}

// theStore is what whyForgotten is asked of the stock.
const theStore = "what the store knew"

// ofStock reports whether a fault hits nothing but the store of the stock, which has
// a server of its own.
func ofStock(f *fault) bool {
	return len(f.event.Targets) > 0 && !slices.ContainsFunc(f.event.Targets, func(name string) bool { return !strings.HasPrefix(name, "stock-") })
}

func whyEmptied(kill *fault) string {
	return sprintf("%s and was back at %s without what it had held in memory", faultStory(kill), moment(kill.to))
}

// emptied is a server that was killed and back by to, without its memory: unless a
// promotion p had replaced it before it came back.
func (r *run) emptied(from, to int64, p *histories.Event, hit func(*fault) bool) *fault {
	return r.find(histories.Kill, from, to, func(f *fault) bool {
		if !f.server || f.from < from || f.to > to || !hit(f) {
			return false
		}
		return p == nil || f.to < p.Time && slices.Contains(f.event.Targets, r.masterBefore(p))
	})
}

// promotionSeenLate is a promotion that was recorded after to, but must have come
// before: what was granted then came from somewhere, while the old master was gone,
// or a failover had been asked for.
func (r *run) promotionSeenLate(from, to int64) *histories.Event {
	p := r.promotion(to, histories.Later(to, time.Duration(roleSlack)))
	if p == nil {
		return nil
	}
	gone := func(f *fault) bool { return f.server && f.from <= to && f.to > to }
	for _, kind := range []string{histories.Kill, histories.Pause, histories.Partition} {
		if r.find(kind, from, to, gone) != nil {
			return p
		}
	}
	if r.find(histories.Failover, from-roleSlack, to, nil) != nil {
		return p
	}
	return nil
}

// whyPromoted tells of a promotion that lost what the old master knew.
func (r *run) whyPromoted(what string, p *histories.Event, from, to int64) (Cause, string) {
	story := promotionStory(p)
	if p.Time > to {
		story = sprintf("%s promoted by %s", targets(p), moment(p.Time))
	}
	if cut := r.find(histories.Partition, from, to, splitsWorkers); cut != nil && r.serverKill(from, to) == nil {
		return SplitBrain, sprintf("%s, while %s", faultStory(cut), story)
	}
	if kill := r.serverKill(from, p.Time); kill != nil {
		story = faultStory(kill) + ", " + story
	} else if asked := r.find(histories.Failover, from-roleSlack, p.Time, nil); asked != nil {
		story = faultStory(asked) + ", " + story
	}
	return LostAtFailover, sprintf("%s was lost at failover (%s)", what, story)
}

// twoMasters is the last promotion before from, if the old master may still
// have answered at some moment of [from, to]: it was not dead, or had been
// started again, and had not been made a replica yet. until is when it was.
func (r *run) twoMasters(from, to int64) (p *histories.Event, until int64) {
	for _, i := range r.roles {
		if m := &r.h.Marks[i]; m.Time < from {
			p = m
		}
	}
	if p == nil {
		return nil, 0
	}
	old := r.masterBefore(p)
	for i := range r.faults {
		if f := &r.faults[i]; f.event.F == histories.Kill && f.from < p.Time && f.to > to && slices.Contains(f.event.Targets, old) {
			return nil, 0 // still dead
		}
	}
	until = int64(histories.Never)
	for i := range r.h.Marks {
		m := &r.h.Marks[i]
		demoted := m.F == histories.Demoted && (old == "" || slices.Contains(m.Targets, old))
		if m.Time > p.Time && (demoted || m.F == histories.Healthy && m.Error == "") {
			until = m.Time
			break
		}
	}
	if until < from {
		return nil, 0
	}
	return p, until
}

// masterBefore is the master that a promotion replaced: the one promoted last
// before, else the server that was hit last; "" if neither is told.
func (r *run) masterBefore(p *histories.Event) string {
	old := ""
	for _, f := range r.faults {
		if f.server && f.from < p.Time && len(f.event.Targets) == 1 {
			old = f.event.Targets[0]
		}
	}
	for _, i := range r.roles {
		if m := &r.h.Marks[i]; m.Time < p.Time && len(m.Targets) == 1 {
			old = m.Targets[0]
		}
	}
	return old
}

func (r *run) serverKill(from, to int64) *fault {
	return r.find(histories.Kill, from, to, func(f *fault) bool { return f.server && f.from >= from })
}
