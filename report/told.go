package report

import (
	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// violation is one violation as the page tells it.
type violation struct {
	Number   int                 `json:"number"` // from 1
	Property checker.Property    `json:"property"`
	Meaning  string              `json:"meaning"`
	Level    checker.Level       `json:"level"`
	Key      string              `json:"key"`
	Summary  string              `json:"summary"`
	Cause    string              `json:"cause"`
	Advice   string              `json:"advice"`
	Workers  []histories.Process `json:"workers"`
	From     int64               `json:"from"` // ns
	To       int64               `json:"to"`
	ViewFrom int64               `json:"viewFrom"` // what shows it with a margin
	ViewTo   int64               `json:"viewTo"`
	Overlap  bool                `json:"overlap"` // From to To is an overlap to be measured
	Evidence []evidence          `json:"evidence"`
	Faults   []string            `json:"faults"`
}

// evidence is one operation that proves a violation.
type evidence struct {
	ID   int64  `json:"id"`
	At   string `json:"at"`
	Who  string `json:"who"`
	Text string `json:"text"`
}

// tell prepares violations for the page.
func tell(h *histories.History, all []checker.Violation) []violation {
	var ids [][]int64
	for _, v := range all {
		ids = append(ids, v.Evidence, v.Ops)
	}
	ops := opsByID(h, ids...)
	list := make([]violation, 0, len(all))
	for i, v := range all {
		ev := evidenceOf(v, ops)
		t := violation{
			Number: i + 1, Property: v.Property, Meaning: meaning(v.Property), Level: v.Level, Key: v.Key,
			Summary: sentence(v.Summary), Cause: causeText(v), Advice: advice[v.Cause], Workers: workersOf(v, ev),
			From: v.From, To: v.To, Overlap: v.Property == checker.DoubleHold && v.From < v.To,
			Evidence: []evidence{}, Faults: []string{},
		}
		t.ViewFrom, t.ViewTo = reach(h, v, ev)
		for _, op := range ev {
			t.Evidence = append(t.Evidence, evidence{op.ID, clock(op.Call), who(op.Process), describe(op)})
		}
		for _, f := range v.Faults {
			if f < len(h.Marks) {
				t.Faults = append(t.Faults, markText(h.Marks[f])+" at "+clock(h.Marks[f].Time))
			}
		}
		list = append(list, t)
	}
	return list
}
