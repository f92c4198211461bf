// Package triage says which findings of many runs are the same, and what has become
// of each since the night before.
//
// A finding's Signature is what is left of a violation without names, times and numbers. A
// Part is what one shard of a search found; a File has any number of parts. Merge is
// associative and commutative, and merging a part twice changes nothing, so that shards may
// be joined in any order and tried again.
package triage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// Signature is what two findings of one mistake have in common.
type Signature struct {
	Level    checker.Level    `json:"level"`
	Property checker.Property `json:"property"`
	Cause    checker.Cause    `json:"cause,omitempty"`
	// Skeleton is the evidence with roles instead of workers: "A acquire ok, B acquire ok".
	Skeleton string `json:"skeleton,omitempty"`
	// Faults are the kinds of the faults that the violation names, in order of the alphabet.
	Faults string `json:"faults,omitempty"`
}

// Of is the signature of a violation in a history.
func Of(h *histories.History, v checker.Violation) Signature {
	return Signature{Level: v.Level, Property: v.Property, Cause: v.Cause, Skeleton: skeleton(h, v.Evidence), Faults: faults(h, v.Faults)}
}

// String is the signature on one line.
func (s Signature) String() string {
	parts := []string{string(s.Property)}
	for _, part := range []string{string(s.Cause), s.Skeleton, s.Faults} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " · ")
}

// skeleton names the operations of the evidence. Workers are A, B, … in the order in which
// they come; what several of them do one after another counts once.
func skeleton(h *histories.History, evidence []int64) string {
	at := make(map[int64]*histories.Op, len(evidence))
	for i := range h.Ops {
		at[h.Ops[i].ID] = &h.Ops[i]
	}
	roles := map[histories.Process]string{}
	var steps []string
	last := ""
	for _, id := range evidence {
		op := at[id]
		if op == nil {
			continue
		}
		role, known := roles[op.Process]
		if !known {
			role = roleName(len(roles))
			roles[op.Process] = role
		}
		what := op.F + " " + string(op.Outcome)
		if what == last {
			steps[len(steps)-1] = "several " + what
			continue
		}
		steps, last = append(steps, role+" "+what), what
	}
	return strings.Join(steps, ", ")
}

// roleName is A to Z, then W26, W27, …
func roleName(n int) string {
	if n < 26 {
		return string(rune('A' + n))
	}
	return fmt.Sprint("W", n)
}

// faults are the kinds of some marks.
func faults(h *histories.History, marks []int) string {
	var kinds []string
	for _, i := range marks {
		if i < 0 || i >= len(h.Marks) {
			continue
		}
		m := h.Marks[i]
		name := m.F
		if m.Fault != nil {
			if k, ok := m.Fault.Kind(); ok && k.Undoes {
				continue
			} else if ok {
				name = k.Name
			}
		}
		kinds = append(kinds, name)
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), "+")
}
