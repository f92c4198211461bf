package report

import (
	"fmt"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// maxInFull is how many violations are told in full; the first of each
// property comes first. Of the others there is one line each, maxBrief at
// most.
const (
	maxInFull = 4
	maxBrief  = 8
)

func (t *text) violations(r Run) {
	full, brief := choose(r.Verdict.Violations)
	var ids [][]int64
	for _, v := range full {
		ids = append(ids, v.Evidence, v.Ops)
	}
	ops := opsByID(r.History, ids...)
	var holds []hold
	if r.History != nil && len(full) > 0 {
		holds = holdsOf(r.History)
	}
	for _, v := range full {
		t.violation(r, v, evidenceOf(v, ops), holds)
	}
	for i, v := range brief {
		if i == 0 {
			t.line("")
			t.line("Also")
		}
		if i == maxBrief {
			break
		}
		t.hang(2, string(v.Property)+"  ", plain(v.Summary))
	}
	if more := total(r.Verdict) - len(full) - min(len(brief), maxBrief); more > 0 && len(full) > 0 {
		t.para(2, "and "+plural(more, "more violation")+", see the report")
	}
}

// choose picks the violations to tell in full: the first of each property, in
// order of time.
func choose(all []checker.Violation) (full, brief []checker.Violation) {
	seen := map[checker.Property]bool{}
	for _, v := range all {
		if !seen[v.Property] && len(full) < maxInFull {
			seen[v.Property] = true
			full = append(full, v)
			continue
		}
		brief = append(brief, v)
	}
	return full, brief
}

// total is the number of violations, listed or not.
func total(v *checker.Verdict) int {
	n := 0
	for _, r := range v.Results {
		n += r.Count
	}
	return max(n, len(v.Violations))
}

func (t *text) violation(r Run, v checker.Violation, evidence []*histories.Op, holds []hold) {
	t.line("")
	t.line(t.verdict(checker.Invalid, string(v.Property)+"  "+shorten(plain(v.Key), t.style.width()-columns(string(v.Property))-2)))
	t.para(2, sentence(plain(v.Summary)))
	if because := causeText(v); because != "" {
		t.hang(2, "Cause: ", plain(because))
	}
	if r.History == nil || len(evidence) == 0 {
		return
	}
	t.picture(r.History, v, evidence, holds)
	t.table(evidence)
}

// causeText is the cause in a word and a sentence.
func causeText(v checker.Violation) string {
	switch {
	case v.Cause == "" && v.Because == "":
		return "not told by the history."
	case v.Because == "":
		return string(v.Cause) + "."
	case v.Cause == "" || strings.Contains(v.Because, string(v.Cause)):
		return sentence(v.Because)
	}
	return string(v.Cause) + ": " + sentence(v.Because)
}

// sentence ends with a full stop.
func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

func (t *text) picture(h *histories.History, v checker.Violation, evidence []*histories.Op, holds []hold) {
	const names = 11
	p := draw(h, v, evidence, holds, t.style.width()-names-4)
	if p == nil {
		return
	}
	t.line("")
	for _, l := range p.lines(names) {
		t.line("  " + l)
	}
}

// maxEvidence is how many operations a table lists.
const maxEvidence = 12

// table lists the evidence: when, who, what.
func (t *text) table(evidence []*histories.Op) {
	t.line("")
	for i, op := range evidence {
		if i == maxEvidence {
			t.line("  … " + plural(len(evidence)-i, "more operation"))
			return
		}
		lead := fmt.Sprintf("%11s  %s  ", clock(op.Call), pad(who(op.Process), 10))
		lines := Wrap(plain(describe(op)), t.style.width()-2-columns(lead))
		for j, l := range lines {
			if j > 0 {
				lead = strings.Repeat(" ", columns(lead))
			}
			t.line("  " + lead + l)
		}
	}
}
