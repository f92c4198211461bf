package checker

import "github.com/lockcheck/lockcheck/histories"

// faultSpans pairs faults with what undid them.
func faultSpans(marks []histories.Event) (spans []fault, roles []int) {
	open := openFaults{}
	for i := range marks {
		m := &marks[i]
		switch {
		case isFault(m) && m.Error == "":
			f := fault{mark: i, event: m, from: m.Time, to: m.Time, server: hitsServer(m)}
			if lasts(m) {
				f.to = histories.Never
				open.add(m, len(spans))
			}
			spans = append(spans, f)
		case m.F == histories.Promoted:
			roles = append(roles, i)
		default:
			for _, at := range open.undoneBy(m) {
				if spans[at].to == histories.Never {
					spans[at].to = m.Time
				}
			}
		}
	}
	return spans, roles
}

// openFaults are the places of faults that last, by the f of the mark that can
// undo them and by whom they hit. A fault that hits nobody by name stands under
// the target "". One that hits several stands under each, and so may be taken out
// more than once.
type openFaults map[string]map[string][]int

func (o openFaults) add(m *histories.Event, at int) {
	by := undoer(m)
	if o[by] == nil {
		o[by] = map[string][]int{}
	}
	if len(m.Targets) == 0 {
		o[by][""] = append(o[by][""], at)
	}
	for _, name := range m.Targets {
		o[by][name] = append(o[by][name], at)
	}
}

// undoer is the f of the marks that end the fault that began with m, one by one.
func undoer(m *histories.Event) string {
	switch m.F {
	case histories.Kill:
		return histories.Start
	case histories.Pause:
		return histories.Resume
	}
	return histories.Heal
}

// undoneBy takes out the faults that a mark ends.
func (o openFaults) undoneBy(m *histories.Event) []int {
	switch m.F {
	case histories.Start, histories.Resume:
		return o.hitting(m.F, m.Targets)
	case histories.Heal:
		switch {
		case m.Error != "":
			return nil
		case len(m.Targets) == 0:
			return o.all(histories.Heal)
		}
		return append(o.hitting(histories.Heal, []string{""}), o.hitting(histories.Heal, m.Targets)...)
	case histories.Healthy, histories.Phase:
		if m.F == histories.Healthy && m.Error == "" || m.F == histories.Phase && m.Note == "final" {
			return append(append(o.all(histories.Start), o.all(histories.Resume)...), o.all(histories.Heal)...)
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

// all takes out all faults that marks of one f undo.
func (o openFaults) all(by string) (ended []int) {
	for _, list := range o[by] {
		ended = append(ended, list...)
	}
	delete(o, by)
	return ended
}
