package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// Text writes the report of one run for a terminal: the verdict first, then
// what broke, between whom, when and why, then where to look further.
func Text(w io.Writer, r Run, style Style) error {
	t := &text{style: style}
	t.head(r.Verdict.Outcome, r.headline())
	if r.Interrupted {
		t.para(0, "The run was interrupted; this judges what was recorded until then.")
	}
	if r.Verdict.Reason != "" {
		t.hang(0, "Reason:  ", sentence(plain(r.Verdict.Reason)))
	}
	if r.Verdict.Advice != "" {
		t.hang(0, "Hint:    ", sentence(plain(r.Verdict.Advice)))
	}
	t.levels(r.Verdict)
	if b := balance(r.Verdict.Counts); b != "" {
		t.line("")
		t.para(0, b)
	}
	if z := zombieText(r.Verdict.Zombie); z != "" {
		t.line("")
		t.para(0, plain(z))
	}
	t.violations(r)
	t.warnings(r)
	t.facts(r)
	t.whereabouts(r)
	_, err := io.WriteString(w, t.b.String())
	return err
}

// text collects lines that fit the width.
type text struct {
	b     strings.Builder
	style Style
}

// The ANSI colours in use: red, yellow and green with bold, so that the
// words remain where colours are not seen.
var ansi = map[checker.Outcome]string{
	checker.Invalid: "\x1b[1;31m", checker.Unknown: "\x1b[1;33m", checker.Valid: "\x1b[1;32m",
}

// verdict colours a text as an outcome, if colours are in use.
func (t *text) verdict(o checker.Outcome, s string) string {
	if !t.style.Colour {
		return s
	}
	word, rest, found := strings.Cut(s, " ")
	if found {
		rest = " " + rest
	}
	return ansi[o] + word + "\x1b[0m" + rest
}

// head writes the first line: the verdict, then what it is about.
func (t *text) head(o checker.Outcome, s string) {
	word, rest, _ := strings.Cut(s, "  ")
	lead := t.verdict(o, word+"  ")
	for _, l := range Wrap(rest, t.style.width()-columns(word)-2) {
		t.line(lead + l)
		lead = strings.Repeat(" ", columns(word)+2)
	}
}

func (t *text) line(s string) { t.b.WriteString(strings.TrimRight(s, " ") + "\n") }

// para writes text wrapped, its lines indented.
func (t *text) para(indent int, s string) { t.hang(indent, "", s) }

// hang writes text wrapped behind a label, further lines below the first.
func (t *text) hang(indent int, label, s string) {
	indent += columns(label)
	lead := strings.Repeat(" ", indent-columns(label)) + label
	for _, l := range Wrap(s, t.style.width()-indent) {
		t.line(lead + l)
		lead = strings.Repeat(" ", indent)
	}
}

// levels writes a line per level, and below it what is broken or undecided.
func (t *text) levels(v *checker.Verdict) {
	t.line("")
	width := columns(string(checker.Unknown)) + 1
	for _, o := range v.Levels {
		width = max(width, columns(string(o)))
	}
	for _, level := range levels {
		o, judged := levelOutcome(level, v)
		if !judged {
			continue
		}
		label := "  " + pad(string(level), 9) + " "
		rest := levelText(level, v)
		lead := label + t.verdict(o, pad(string(o), width)) + " "
		for i, l := range Wrap(plain(rest), t.style.width()-columns(label)-width-1) {
			if i > 0 {
				lead = strings.Repeat(" ", columns(label)+width+1)
			}
			t.line(lead + l)
		}
	}
}

// warnings writes what is no violation but worth a look.
func (t *text) warnings(r Run) {
	if len(r.Verdict.Warnings)+len(r.Verdict.Notes) > 0 {
		t.line("")
	}
	for _, w := range r.Verdict.Warnings {
		t.hang(0, "Warning: ", plain(w.Text)+" ("+plain(w.Word)+")")
	}
	for _, n := range r.Verdict.Notes {
		t.hang(0, "Note: ", plain(n))
	}
}

// facts writes the numbers beside the verdict.
func (t *text) facts(r Run) {
	c := r.Verdict.Counts
	t.line("")
	s := plural(c.Ops, "operation") + ", " + plural(c.Grants, "grant")
	if r.History != nil {
		s += " in " + span(r.History.End)
		if n := faultsIn(r.History); n > 0 {
			s += ", " + plural(n, "fault")
		}
	}
	if c.Settled+c.StillOpen > 0 {
		s += fmt.Sprintf("; of the sells that had no answer the audit settled %d and left %d open", c.Settled, c.StillOpen)
	}
	t.para(0, s+".")
}

// faultsIn counts the faults that a nemesis injected.
func faultsIn(h *histories.History) int {
	n := 0
	for _, e := range h.Marks {
		if e.IsFault() {
			n++
		}
	}
	return n
}

// whereabouts says where the report is and how to run it again.
func (t *text) whereabouts(r Run) {
	if r.Folder != "" {
		t.line("")
		t.line("Report:  " + plain(r.Folder) + "/" + histories.ReportFile)
	}
	if r.Replay != "" {
		t.command("Again:   ", plain(r.Replay))
	}
}

// quotesSpaces reports whether a shell command has spaces inside quotes.
func quotesSpaces(s string) bool {
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 && strings.ContainsRune(part, ' ') {
			return true
		}
	}
	return strings.ContainsAny(s, `"\`)
}

// command writes a shell command so that it can be copied: broken lines end
// with a backslash.
func (t *text) command(label, s string) {
	lines := fold(s, t.style.width()-columns(label)-2)
	if quotesSpaces(s) {
		lines = []string{s} // a break inside quotes would change the command
	}
	for i, l := range lines {
		if i < len(lines)-1 {
			l += " \\"
		}
		t.line(label + l)
		label = strings.Repeat(" ", columns(label))
	}
}
