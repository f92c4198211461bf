package histories

import (
	"slices"
	"strings"
)

// FaultSpan is one fault as a span of time: from the moment before it was
// injected until it was seen to be undone.
type FaultSpan struct {
	Mark     int // index into History.Marks
	Kind     Kind
	From, To int64 // To is Never if nothing undid it
	Lasts    bool  // else it has no length
	Servers  bool  // it hits servers or links, not workers alone
}

// IsFault reports whether a mark tells of a fault, and not of its end, of
// nobody who came to a step, or of what the cluster did by itself.
func (e *Event) IsFault() bool {
	k, known := e.Kind()
	return known && !k.Undoes && e.Process == Nemesis && !(k.Later && len(e.Targets) == 0)
}

// HitsServers reports whether a fault concerns servers or their links.
func (e *Event) HitsServers() bool {
	k, _ := e.Kind()
	switch k.Hits {
	case HitsLinks, HitsServers:
		return true
	case HitsWorkers, HitsConnections:
		return false
	}
	return slices.ContainsFunc(e.Targets, func(name string) bool { return !IsWorker(name) })
}

// Lasts reports whether a fault is in force until something undoes it.
func (e *Event) Lasts() bool {
	k, _ := e.Kind()
	return k.Ends != "" && (e.F != Skew || e.Fault == nil || bySomething(e.Fault) == nil)
}

// FaultSpans pairs the faults of a history with what undid them.
func FaultSpans(marks []Event) (spans []FaultSpan) {
	open := openFaults{}
	for i := range marks {
		m := &marks[i]
		if !m.IsFault() || m.Error != "" {
			for _, at := range open.undoneBy(m) {
				if spans[at].To == Never {
					spans[at].To = m.Time
				}
			}
			continue
		}
		k, _ := m.Kind()
		f := FaultSpan{Mark: i, Kind: k, From: m.Time, To: m.Time, Lasts: m.Lasts(), Servers: m.HitsServers()}
		if f.Lasts {
			f.To = Never
			open.add(&f, m.Targets, len(spans))
		}
		spans = append(spans, f)
	}
	return spans
}

// openFaults are the places of faults that last, by what can end them and by
// whom they hit. A fault that hits nobody by name stands under the target "", one
// of links under all its ends as well. One that hits several stands under each,
// and so may be taken out more than once.
type openFaults map[string]map[string][]int

// startWorker ends the kill of a worker, which no healing does: the worker is
// replaced.
const startWorker = "start a worker"

func (o openFaults) add(f *FaultSpan, targets []string, at int) {
	by := f.Kind.Ends
	if by == Start && !f.Servers {
		by = startWorker
	}
	if o[by] == nil {
		o[by] = map[string][]int{}
	}
	names := targets
	switch {
	case len(targets) == 0:
		names = []string{""}
	case f.Kind.Hits == HitsLinks:
		names = append(slices.Clone(targets), links(targets))
	}
	for _, name := range names {
		o[by][name] = append(o[by][name], at)
	}
}

// links is the name of all links between some ends.
func links(ends []string) string {
	return "links\x00" + strings.Join(slices.Sorted(slices.Values(ends)), "\x00")
}

// undoneBy takes out the faults that a mark ends.
func (o openFaults) undoneBy(m *Event) []int {
	switch m.F {
	case Start:
		return append(o.hitting(Start, m.Targets), o.hitting(startWorker, m.Targets)...)
	case Resume:
		return o.hitting(Resume, m.Targets)
	case Heal:
		switch {
		case m.Error != "":
			return nil
		case len(m.Targets) == 0:
			return o.all(Heal)
		case m.Fault != nil && len(m.Fault.From) > 0:
			// Of a fault with other ends than these, some links may still be cut.
			return o.hitting(Heal, []string{links(m.Targets)})
		}
		return append(o.hitting(Heal, []string{""}), o.hitting(Heal, m.Targets)...)
	case Healthy, Phase:
		if m.F == Healthy && m.Error == "" || m.F == Phase && m.Note == PhaseFinal {
			return slices.Concat(o.all(Start), o.all(Resume), o.all(Heal))
		}
	}
	return nil
}

// hitting takes out the faults that hit one of the targets.
func (o openFaults) hitting(by string, targets []string) (ended []int) {
	for _, name := range targets {
		ended = append(ended, o[by][name]...)
		delete(o[by], name)
	}
	return ended
}

// all takes out all faults that one thing undoes.
func (o openFaults) all(by string) (ended []int) {
	for _, list := range o[by] {
		ended = append(ended, list...)
	}
	delete(o, by)
	return ended
}
