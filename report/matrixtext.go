package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
)

// Text writes the matrix for a terminal: what failed in one line, a table of
// designs × nemeses, then each violation with the command that shows it
// again. Nemeses that do not fit beside each other go into tables below.
func (m Matrix) Text(w io.Writer, style Style) error {
	t := &text{style: style}
	t.head(m.Outcome(), m.headline())
	g := m.grid()
	names := 10
	for _, d := range g.designs {
		names = max(names, min(columns(plain(d)), 24))
	}
	for block := range slices.Chunk(g.nemeses, max(1, (style.width()-names)/(cellWidth+2))) {
		t.line("")
		g.table(t, block, names)
	}
	t.line("")
	if g.leftOut > 0 {
		t.para(0, g.note())
	}
	t.para(0, "L lock, U use, B business: the levels broken, in so many of the runs; at 3: broke by run 3, and no more were made, which is no rate. ok: valid. ?: unknown. –: not applicable. !: not what the design claims.")
	m.failures(t)
	m.surprises(t)
	m.asClaimed(t)
	m.changes(t)
	_, err := io.WriteString(w, t.b.String())
	return err
}

// cellWidth is the width of a column of the table.
const cellWidth = 11

// headline counts the cells by outcome.
func (m Matrix) headline() string {
	n := map[checker.Outcome]int{}
	runs := 0
	for _, c := range m.Cells {
		if c.Runs > 0 {
			n[c.Outcome]++
		}
		runs += c.Runs
	}
	s := fmt.Sprintf("%s  %s: %d invalid, %d unknown, %d valid, in %s", m.badge(),
		plural(n[checker.Invalid]+n[checker.Unknown]+n[checker.Valid], "cell"), n[checker.Invalid], n[checker.Unknown], n[checker.Valid], plural(runs, "run"))
	if m.Source != "" {
		s += " on " + plain(m.Source)
	}
	if m.Interrupted {
		s += ", interrupted before the end"
	}
	return s
}

// badge is the result in two words: the worst outcome, or whether everything
// is as claimed.
func (m Matrix) badge() string {
	switch {
	case !m.ByClaims:
		return strings.ToUpper(string(m.Outcome()))
	case m.sign() == checker.Valid:
		return "AS CLAIMED"
	}
	return "NOT AS CLAIMED"
}

// sign is the outcome whose sign and colour the result has.
func (m Matrix) sign() checker.Outcome {
	switch {
	case !m.ByClaims:
		return m.Outcome()
	case slices.ContainsFunc(m.Cells, func(c Cell) bool { return c.Error != "" || len(c.Surprises()) > 0 }):
		return checker.Invalid
	}
	return checker.Valid
}

func (g grid) table(t *text, nemeses []string, names int) {
	head := pad("", names)
	for _, n := range nemeses {
		head += "  " + pad(shorten(plain(n), cellWidth), cellWidth)
	}
	t.line(head)
	for _, d := range g.designs {
		line := pad(shorten(plain(d), names), names)
		for _, n := range nemeses {
			c := g.find(d, n)
			word := c.word()
			line += "  " + t.verdict(c.outcome(), word) + strings.Repeat(" ", max(0, cellWidth-columns(word)))
		}
		t.line(line)
	}
}

func (c *Cell) outcome() checker.Outcome {
	if c == nil || c.Runs == 0 {
		return ""
	}
	return c.Outcome
}

// word is a cell in a word: "LB 3/10", "ok", "?", "–".
func (c *Cell) word() string {
	var s string
	switch {
	case c == nil || c.Skipped != "" && c.Runs == 0:
		return "–"
	case c.Error != "":
		s = "error"
	case c.Runs == 0:
		return "–"
	case c.Outcome == checker.Valid:
		s = "ok"
	case c.Outcome == checker.Invalid:
		s = c.letters() + " " + c.often()
	default:
		s = "?"
	}
	if len(c.Surprises()) > 0 {
		s += " !"
	}
	return s
}

// often is how many of the runs were invalid: "31/100". One run is no rate, and
// neither are runs that ended at the first invalid one: "at 3".
func (c *Cell) often() string {
	if c.Stopped || c.Runs == 1 {
		return fmt.Sprintf("at %d", c.Runs)
	}
	return fmt.Sprintf("%d/%d", c.Invalid, c.Runs)
}

// letters are the levels broken: "LB".
func (c *Cell) letters() string {
	s := ""
	for _, level := range levels {
		if c.Levels[level] == checker.Invalid {
			s += strings.ToUpper(string(level)[:1])
		}
	}
	return s
}

// fullFailures is how many cells are told of in full on a terminal. Of more,
// each gets a line or two, and the pages have the rest.
const fullFailures = 8

// failures lists the cells that are not valid.
func (m Matrix) failures(t *text) {
	var failed []Cell
	for _, c := range m.Cells {
		if c.Error != "" || c.Runs > 0 && c.Outcome != checker.Valid {
			failed = append(failed, c)
		}
	}
	for i, c := range failed {
		if len(failed) > fullFailures {
			if i == 0 {
				t.line("")
			}
			t.hang(2, title(c.Design, c.Nemesis)+": ", c.brief())
			continue
		}
		t.line("")
		t.para(0, title(c.Design, c.Nemesis)+": "+c.what())
		if c.Summary != "" {
			t.para(2, sentence(plain(c.Summary)))
		}
		if c.Cause != "" {
			t.hang(2, "Cause: ", plain(string(c.Cause))+".")
		}
		if c.Folder != "" {
			t.line("  Report: " + plain(c.Folder) + "/report.html")
		}
		if c.Replay != "" {
			t.command("  Again:  ", plain(c.Replay))
		}
	}
}

// what says in words how a cell came out.
func (c Cell) what() string {
	switch {
	case c.Error != "":
		return "could not be run: " + plain(c.Error)
	case c.Outcome == checker.Invalid:
		if c.Stopped || c.Runs == 1 {
			return fmt.Sprintf("%s (broke by run %d, first at seed %d)", properties(c.Broken), c.Runs, c.Seed)
		}
		return fmt.Sprintf("%s (%d of %s, first at seed %d)", properties(c.Broken), c.Invalid, plural(c.Runs, "run"), c.Seed)
	case c.Outcome == checker.Unknown:
		if c.Unknown < c.Runs {
			return fmt.Sprintf("unknown in %d of %d runs, else valid: %s", c.Unknown, c.Runs, plain(c.Reason))
		}
		return "unknown: " + plain(c.Reason)
	}
	return "valid in " + plural(c.Runs, "run")
}

// brief says what broke and why: in the plainest words, for that no legal order
// fits goes without saying where something else broke.
func (c Cell) brief() string {
	if c.Error != "" || c.Outcome != checker.Invalid {
		return c.what()
	}
	plainer := slices.DeleteFunc(slices.Clone(c.Broken), func(p checker.Property) bool {
		return p == checker.LockNotLinearizable || p == checker.StockNotLinearizable
	})
	if len(plainer) == 0 {
		plainer = c.Broken
	}
	s := properties(plainer)
	if c.Cause != "" {
		s += "; " + plain(string(c.Cause))
	}
	return fmt.Sprintf("%s (seed %d)", s, c.Seed)
}

func properties(list []checker.Property) string {
	words := make([]string, len(list))
	for i, p := range list {
		words[i] = plain(string(p))
	}
	return strings.Join(words, ", ")
}

func (m Matrix) surprises(t *text) {
	first := true
	for _, c := range m.Cells {
		for _, s := range c.Surprises() {
			if first {
				t.line("")
				t.line("Not what the designs claim:")
				first = false
			}
			t.para(2, title(c.Design, c.Nemesis)+": "+s.Text())
		}
	}
}

// asClaimed says so where every cell makes a claim and no verdict differs.
func (m Matrix) asClaimed(t *text) {
	for _, c := range m.Cells {
		if c.Error != "" || len(c.Claims) == 0 || len(c.Surprises()) > 0 {
			return
		}
	}
	if len(m.Cells) > 0 {
		t.line("")
		t.para(0, "Every verdict is what its design claims under that fault: see lockcheck list NAME.")
	}
}

func (m Matrix) changes(t *text) {
	for i, c := range m.Changes {
		if i == 0 {
			t.line("")
			t.line("Since the night before:")
		}
		t.hang(2, pad(shorten(plain(string(c.Kind)), 12), 12), c.Text())
	}
}
