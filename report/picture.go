package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// picture draws a violation with characters: a row per worker concerned, and
// a row for the faults.
//
//	          12.104 s                                     15.211 s
//	worker 4  --A=================!!!!!!!!!!!!!!!!!!R-----
//	worker 7  --------------------A!!!!!!!!!!!!!!!!!======R-
//	faults    --------a-----------b-----------------
type picture struct {
	from, to int64
	width    int // of the drawn part
	rows     []row
	legend   []string
}

type row struct {
	name  string
	cells []rune
}

// letters mark the moment at which an operation was invoked; an acquire is
// marked where it was granted.
var letters = map[string]rune{
	histories.Acquire: 'A', histories.Extend: 'X', histories.Release: 'R', histories.Break: 'D',
	histories.Sell: 'S', histories.Read: 'r', histories.Write: 'W', histories.Cancel: 'C', histories.Restock: '+',
}

// maxRows is how many workers a picture shows.
const maxRows = 6

// draw makes the picture of a violation, or nil if it has no room or nothing
// to show.
func draw(h *histories.History, v checker.Violation, evidence []*histories.Op, holds []hold, columns int) *picture {
	workers := workersOf(v, evidence)
	if len(workers) == 0 || len(workers) > maxRows || columns < 20 {
		return nil
	}
	p := &picture{width: columns}
	p.from, p.to = reach(h, v, evidence)
	if p.from >= p.to {
		return nil
	}
	for _, w := range workers {
		p.rows = append(p.rows, row{who(w), []rune(strings.Repeat("-", columns))})
	}
	held := p.holds(v, workers, holds, lockKeys(v, evidence))
	p.operations(workers, evidence)
	p.faults(h, v)
	if held {
		p.legend = append([]string{"= believes it holds"}, p.legend...)
	}
	return p
}

// workersOf are the workers that a picture of the violation needs.
func workersOf(v checker.Violation, evidence []*histories.Op) []histories.Process {
	list := slices.Clone(v.Workers)
	for _, op := range evidence {
		if !slices.Contains(list, op.Process) {
			list = append(list, op.Process)
		}
	}
	return list
}

// lockKeys are the keys of the locks that matter to a violation: its own key
// and those of the lock operations among its evidence.
func lockKeys(v checker.Violation, evidence []*histories.Op) map[string]bool {
	keys := map[string]bool{v.Key: true}
	for _, op := range evidence {
		switch op.F {
		case histories.Acquire, histories.Extend, histories.Release, histories.Break:
			keys[op.Key] = true
		}
	}
	return keys
}

// reach is the stretch of time that shows the violation with a margin.
func reach(h *histories.History, v checker.Violation, evidence []*histories.Op) (from, to int64) {
	from, to = v.From, v.To
	if from == 0 && to == 0 && len(evidence) > 0 {
		from, to = evidence[0].Call, evidence[0].Call
	}
	for _, op := range evidence {
		from, to = min(from, op.Call), max(to, op.Call)
		if op.Return != histories.Never {
			to = max(to, op.Return)
		}
	}
	for _, i := range v.Faults {
		if i < len(h.Marks) && h.Marks[i].Time > from-5*(to-from) {
			from = min(from, h.Marks[i].Time)
		}
	}
	margin := max((to-from)/20, 1000)
	return max(0, from-margin), to + margin
}

// column is where a moment is drawn.
func (p *picture) column(at int64) int {
	c := int(float64(at-p.from) / float64(p.to-p.from) * float64(p.width-1))
	return min(max(c, 0), p.width-1)
}

// holds draws beliefs, and "!" where more than one worker of the picture
// believes that it holds the same key.
func (p *picture) holds(v checker.Violation, workers []histories.Process, holds []hold, keys map[string]bool) bool {
	any, both := false, false
	for _, k := range holds {
		i := slices.Index(workers, k.Acquire.Process)
		if i < 0 || !keys[k.Acquire.Key] || k.To <= p.from || k.From >= p.to {
			continue
		}
		any = true
		for c := p.column(k.From); c <= p.column(k.To); c++ {
			p.rows[i].cells[c] = '='
		}
	}
	if v.Property != checker.DoubleHold {
		return any
	}
	for c := range p.width {
		var held []int
		for i := range p.rows {
			if p.rows[i].cells[c] == '=' {
				held = append(held, i)
			}
		}
		for _, i := range held {
			if len(held) > 1 {
				p.rows[i].cells[c], both = '!', true
			}
		}
	}
	if both {
		p.legend = append(p.legend, "! both hold")
	}
	return any
}

// operations puts the letters of the evidence on the rows.
func (p *picture) operations(workers []histories.Process, evidence []*histories.Op) {
	for _, op := range evidence {
		letter, known := letters[op.F]
		i := slices.Index(workers, op.Process)
		if !known || i < 0 {
			continue
		}
		at := op.Call
		if op.F == histories.Acquire && op.Return != histories.Never {
			at = op.Return
		}
		p.put(i, p.column(at), letter)
		if word := string(letter) + " " + op.F; !slices.Contains(p.legend, word) {
			p.legend = append(p.legend, word)
		}
	}
}

// put writes a letter, or beside it if another operation is there already.
func (p *picture) put(row, column int, letter rune) {
	cells := p.rows[row].cells
	for c := column; c < min(column+4, len(cells)); c++ {
		if cells[c] == '-' || cells[c] == '=' || cells[c] == '!' {
			cells[c] = letter
			return
		}
	}
}

// faults adds a row with a letter per fault in force.
func (p *picture) faults(h *histories.History, v checker.Violation) {
	r := row{"faults", []rune(strings.Repeat("-", p.width))}
	letter := 'a'
	for _, i := range v.Faults {
		if i >= len(h.Marks) || h.Marks[i].Time < p.from || h.Marks[i].Time > p.to || letter > 'j' {
			continue
		}
		m := h.Marks[i]
		r.cells[p.column(m.Time)] = letter
		p.legend = append(p.legend, fmt.Sprintf("%c %s", letter, plain(markText(m))))
		letter++
	}
	if letter > 'a' {
		p.rows = append(p.rows, r)
	}
}

// lines are the picture as text. names is the width of the column of names.
func (p *picture) lines(names int) []string {
	left, right := clock(p.from), clock(p.to)
	scale := strings.Repeat(" ", names+2) + left + strings.Repeat(" ", max(1, p.width-columns(left)-columns(right))) + right
	lines := []string{scale}
	for _, r := range p.rows {
		lines = append(lines, pad(r.name, names)+"  "+string(r.cells))
	}
	indent := strings.Repeat(" ", names+2)
	for _, l := range pack(p.legend, p.width) {
		lines = append(lines, indent+l)
	}
	return lines
}

// pack joins items into lines without breaking an item that fits a line.
func pack(items []string, width int) []string {
	var lines []string
	for _, item := range items {
		if n := len(lines); n > 0 && columns(lines[n-1])+3+columns(item) <= width {
			lines[n-1] += " · " + item
			continue
		}
		lines = append(lines, Wrap(item, width)...)
	}
	return lines
}
