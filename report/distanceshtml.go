package report

import (
	"html/template"
	"io"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
)

// distancesPage is what the page of the table shows.
type distancesPage struct {
	frame
	Table     Distances
	Outcome   checker.Outcome
	Headline  string
	NotVaried string
	Kinds     []string
	Rows      []distanceRow
}

type distanceRow struct {
	Design    string
	Levels    []distanceCell
	Schedules int64
	Kinds     []distanceCell
	Sentences []string
	Links     []distanceCell // reports of what broke
	Surprises []string
}

// distanceCell is a field of the table, or a link.
type distanceCell struct {
	Word, Title string
	Link        template.URL // "": none
	Class       checker.Outcome
}

// HTML writes the table as a page that lies in folder dir: links to reports are
// relative to it.
func (t Distances) HTML(w io.Writer, dir string) error {
	p := distancesPage{Table: t, Outcome: t.Outcome(), Headline: t.headline(), NotVaried: NotVaried, Kinds: t.Kinds}
	for _, d := range t.Rows {
		p.Rows = append(p.Rows, t.row(d, dir))
	}
	var err error
	if p.frame, err = newFrame([]string{"common.css", "index.css", "distances.css"}, nil); err != nil {
		return err
	}
	return render(w, "distances.html", p)
}

func (t Distances) row(d Distance, dir string) distanceRow {
	r := distanceRow{Design: plain(d.Design), Schedules: d.played(), Sentences: d.Sentences(t), Surprises: d.Surprises}
	seen := map[template.URL]bool{}
	for _, l := range d.Levels {
		c := distanceCell{Word: l.word(d.Bears), Class: l.class(), Title: string(l.Level) + " of " + plain(d.Design)}
		if b := l.Breaks; b != nil {
			c.Title += ": breaks" + b.how()
			c.Link = reportLink(b.Folder, dir)
			if c.Link != "" && !seen[c.Link] {
				seen[c.Link] = true
				r.Links = append(r.Links, distanceCell{Word: string(b.Property), Link: c.Link, Title: plain(b.Replay)})
			}
		}
		r.Levels = append(r.Levels, c)
	}
	for _, k := range t.Kinds {
		r.Kinds = append(r.Kinds, d.kindCell(k))
	}
	return r
}

// kindCell is the field of one kind: the worst of its levels colours it.
func (d Distance) kindCell(kind string) distanceCell {
	c := distanceCell{Word: d.kind(kind), Class: checker.Valid}
	var said []string
	for _, l := range d.Levels {
		if n, broken := l.ByKind[kind]; broken {
			c.Class = checker.Worse(c.Class, LevelReach{Breaks: &BreaksWith{Deviations: n}}.class())
			said = append(said, string(l.Level)+" breaks with "+count(n))
		}
	}
	c.Title = plain(d.Design) + " by " + kind + ": " + strings.Join(said, ", ")
	if said == nil {
		c.Title += "not broken"
	}
	return c
}
