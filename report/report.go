// Package report explains: a judged run goes in, and what people and machines
// read comes out. It judges nothing itself (that is package checker) and
// prints nothing itself: every function writes to the writer it is given.
//
// One run is a Run. Text writes it for a terminal, Markdown for a pull
// request, JSON for machines (docs/verdict-schema.json), JUnit for a CI
// server, and HTML as one self-contained file that opens at the first
// violation. Many runs are a Matrix of designs × nemeses, which has the same
// five forms, can be merged from several and compared with the night before.
// Handler serves a store of runs to a browser.
//
// Everything that a history says may come from a stranger: keys, tokens,
// order ids and errors are shown as text wherever they appear, never as
// markup and never as control characters of a terminal.
//
// Start with Run and Text; then page.go and series.go, which work out what
// the HTML page shows, and assets/, which shows it.
package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// Run is one judged run: what every report of a single run is made from.
type Run struct {
	Header  histories.Header
	History *histories.History // nil: reported without evidence and pictures
	Verdict *checker.Verdict

	File    string        // which of several histories this is; "" where there is one
	Folder  string        // the run folder, as the reader would open it; "" if there is none
	Replay  string        // the command that runs this again
	Picture string        // porcupine's own picture, relative to report.html; "" if there is none
	Started time.Time     // zero: not known
	Took    time.Duration // of the run, in real time; 0: not known
	Checked time.Duration // how long judging took; 0: not known

	Interrupted bool // the run was cut short by Ctrl-C or a kill
}

// Style says how text is laid out. The zero Style is 80 columns without colour.
type Style struct {
	Colour bool // use ANSI colours; the caller looks at the terminal and NO_COLOR
	Width  int  // columns; 0: 80
}

// width is the number of columns in use, never too few to lay anything out.
func (s Style) width() int {
	if s.Width == 0 {
		return 80
	}
	return max(s.Width, 60)
}

// title is the cell that a run belongs to: "redis-lock × failover".
func title(design, nemesis string) string {
	switch {
	case design == "" && nemesis == "":
		return "a history"
	case nemesis == "":
		return plain(design)
	case design == "":
		return plain(nemesis)
	}
	return plain(design) + " × " + plain(nemesis)
}

// title is what the run is about, with its file where there are several.
func (r Run) title() string {
	s := title(r.Header.Design, r.Header.Nemesis)
	if r.File != "" {
		s = plain(r.File) + ": " + s
	}
	return s
}

// source is where the verdict comes from, for people.
func (r Run) source() string {
	if r.Verdict.Source != "" {
		return r.Verdict.Source
	}
	return r.Header.Source
}

// headline is the verdict in one line: "INVALID  redis-lock × failover on
// simulated Redis, seed 8123".
func (r Run) headline() string {
	s := strings.ToUpper(string(r.Verdict.Outcome)) + "  " + r.title()
	if src := r.source(); src != "" {
		s += " on " + plain(src)
	}
	if r.Header.Seed != 0 {
		s += fmt.Sprintf(", seed %d", r.Header.Seed)
	}
	return s
}

// levels are the levels in the order in which reports show them.
var levels = []checker.Level{checker.LockLevel, checker.UseLevel, checker.BusinessLevel}

// opsByID finds the operations with the wanted ids, without indexing a
// history of a million others.
func opsByID(h *histories.History, wanted ...[]int64) map[int64]*histories.Op {
	found := map[int64]*histories.Op{}
	if h == nil {
		return found
	}
	for _, ids := range wanted {
		for _, id := range ids {
			found[id] = nil
		}
	}
	for i := range h.Ops {
		if _, want := found[h.Ops[i].ID]; want {
			found[h.Ops[i].ID] = &h.Ops[i]
		}
	}
	for id, op := range found {
		if op == nil {
			delete(found, id)
		}
	}
	return found
}

// evidenceOf is the evidence of a violation as operations, in the checker's
// order; ids that the history lacks are left out.
func evidenceOf(v checker.Violation, ops map[int64]*histories.Op) []*histories.Op {
	ids := v.Evidence
	if len(ids) == 0 {
		ids = v.Ops
	}
	var list []*histories.Op
	for _, id := range ids {
		if op := ops[id]; op != nil {
			list = append(list, op)
		}
	}
	return list
}
