package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
)

// marks are the outcomes as signs that need no colour.
var marks = map[checker.Outcome]string{checker.Invalid: "❌", checker.Unknown: "❔", checker.Valid: "✅", checker.NotLooked: "➖"}

// md escapes text for Markdown: nothing in it is markup, HTML, a mention or a
// table's bar.
func md(s string) string {
	var b strings.Builder
	for _, r := range plain(s) {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '@':
			b.WriteString("&#64;") // no mentions of people
		case strings.ContainsRune("\\`*_[]#|~>$", r):
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fence puts text into a code block that the text cannot end.
func fence(s string) string {
	ticks := "```"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	return ticks + "\n" + strings.TrimRight(s, "\n") + "\n" + ticks + "\n"
}

// Markdown writes the report of one run for a pull request or a log.
func Markdown(w io.Writer, r Run) error {
	var b strings.Builder
	v := r.Verdict
	fmt.Fprintf(&b, "## %s %s\n\n", marks[v.Outcome], md(r.headline()))
	if v.Reason != "" {
		b.WriteString(md(v.Reason) + "\n\n")
	}
	b.WriteString("| level | verdict | |\n|---|---|---|\n")
	for _, level := range levels {
		if o, judged := levelOutcome(level, v); judged {
			fmt.Fprintf(&b, "| %s | %s %s | %s |\n", level, marks[o], o, md(levelText(level, v)))
		}
	}
	b.WriteByte('\n')
	if s := balance(v.Counts); s != "" {
		b.WriteString(s + "\n\n")
	}
	if s := zombieText(v.Zombie); s != "" {
		b.WriteString(md(s) + "\n\n")
	}
	markdownViolations(&b, r)
	for _, warning := range v.Warnings {
		fmt.Fprintf(&b, "- Warning: %s (%s)\n", md(warning.Text), md(warning.Word))
	}
	if r.Replay != "" {
		b.WriteString("\nAgain:\n\n" + fence(plain(r.Replay)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownViolations tells the violations that Text tells, pictures as code.
func markdownViolations(b *strings.Builder, r Run) {
	full, brief := choose(r.Verdict.Violations)
	for _, v := range full {
		fmt.Fprintf(b, "### %s: %s\n\n%s\n\nCause: %s\n\n", v.Property, md(shorten(v.Key, 60)), md(sentence(v.Summary)), md(causeText(v)))
		if r.History == nil {
			continue
		}
		t := &text{}
		evidence := evidenceOf(v, opsByID(r.History, v.Evidence, v.Ops))
		if len(evidence) == 0 {
			continue
		}
		t.picture(r.History, v, evidence, holdsOf(r.History))
		t.table(evidence)
		b.WriteString(fence(strings.TrimLeft(t.b.String(), "\n")) + "\n")
	}
	for i, v := range brief {
		if i == maxBrief {
			break
		}
		fmt.Fprintf(b, "- %s: %s\n", v.Property, md(v.Summary))
	}
	if more := total(r.Verdict) - len(full) - min(len(brief), maxBrief); more > 0 && len(full) > 0 {
		fmt.Fprintf(b, "- and %s\n", plural(more, "more violation"))
	}
}

// Markdown writes the matrix as a table with what lies behind it.
func (m Matrix) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s %s\n\n", marks[m.sign()], md(m.headline()))
	g := m.grid()
	b.WriteString("| |")
	for _, n := range g.nemeses {
		b.WriteString(" " + md(n) + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(g.nemeses)) + "\n")
	for _, d := range g.designs {
		b.WriteString("| " + md(d) + " |")
		for _, n := range g.nemeses {
			c := g.find(d, n)
			b.WriteString(" " + strings.TrimSpace(marks[c.outcome()]+" "+c.word()) + " |")
		}
		b.WriteByte('\n')
	}
	if g.leftOut > 0 {
		b.WriteString("\n" + md(g.note()) + "\n")
	}
	b.WriteString("\nL lock, U use, B business: the levels broken, in so many of the runs; !: not what the design claims.\n\n")
	for _, c := range m.Cells {
		if c.Error == "" && (c.Runs == 0 || c.Outcome == checker.Valid) {
			continue
		}
		fmt.Fprintf(&b, "- **%s**: %s", md(title(c.Design, c.Nemesis)), md(c.what()))
		if c.Summary != "" {
			b.WriteString("; " + md(c.Summary))
		}
		if c.Replay != "" {
			b.WriteString(". Again: " + inline(c.Replay))
		}
		b.WriteByte('\n')
	}
	m.markdownChanges(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// inline is text as inline code, in more ticks than it has.
func inline(s string) string {
	s = plain(s)
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if ticks != "`" {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

func (m Matrix) markdownChanges(b *strings.Builder) {
	for _, c := range m.Cells {
		for _, s := range c.Surprises() {
			fmt.Fprintf(b, "- Not as claimed: %s: %s\n", md(title(c.Design, c.Nemesis)), md(s.Text()))
		}
	}
	for i, c := range m.Changes {
		if i == 0 {
			b.WriteString("\nSince the night before:\n\n")
		}
		fmt.Fprintf(b, "- %s: %s\n", md(string(c.Kind)), md(c.Text()))
	}
}
