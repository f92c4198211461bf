package report

import (
	"html/template"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// indexPage is what the template of index.html shows.
type indexPage struct {
	frame
	Matrix   Matrix
	Outcome  checker.Outcome // its sign and colour
	Badge    string
	Headline string
	Nemeses  []string
	LeftOut  string // what the table has no room for
	Rows     []indexRow
	Failures []indexCell // every cell that is not valid
	Changes  []Change
}

type indexRow struct {
	Design string
	Cells  []indexCell
}

// indexCell is a cell with what the page says of it.
type indexCell struct {
	Cell
	Class string // the outcome, or "none"
	Word  string
	Title string
	What  string
	Link  template.URL // to the report of the run shown; "" if there is none
}

// HTML writes index.html: the matrix with links to the runs. root is the
// folder that the file will lie in, so that links are relative to it; runs
// that lie elsewhere are named without a link.
func (m Matrix) HTML(w io.Writer, root string) error {
	p := indexPage{Matrix: m, Outcome: m.sign(), Badge: m.badge(), Changes: m.Changes}
	_, p.Headline, _ = strings.Cut(m.headline(), "  ")
	g := m.grid()
	p.Nemeses, p.LeftOut = g.nemeses, g.note()
	for _, d := range g.designs {
		row := indexRow{Design: d}
		for _, n := range g.nemeses {
			row.Cells = append(row.Cells, newIndexCell(g.find(d, n), root))
		}
		p.Rows = append(p.Rows, row)
	}
	for i, c := range m.Cells {
		if c.Error != "" || (c.Runs > 0 && c.Outcome != checker.Valid) || len(c.Surprises()) > 0 {
			p.Failures = append(p.Failures, newIndexCell(&m.Cells[i], root))
		}
	}
	var err error
	if p.frame, err = newFrame([]string{"common.css", "index.css"}, nil); err != nil {
		return err
	}
	return render(w, "index.html", p)
}

func newIndexCell(c *Cell, root string) indexCell {
	if c == nil {
		return indexCell{Class: "none", Word: "–", Title: "not run"}
	}
	x := indexCell{Cell: *c, Class: string(c.outcome()), Word: c.word(), What: c.what(), Link: reportLink(c.Folder, root)}
	if c.Skipped != "" && c.Runs == 0 {
		x.What = "not applicable: " + c.Skipped
	}
	if x.Class == "" {
		x.Class = "none"
	}
	x.Title = title(c.Design, c.Nemesis) + ": " + x.What
	return x
}

// reportLink is the address of a run's report relative to root: below it, or
// beside it in the same store. Other folders get no link: a page in a store
// must not point out of it.
func reportLink(folder, root string) template.URL {
	if folder == "" {
		return ""
	}
	rel, err := filepath.Rel(root, folder)
	beside := strings.TrimPrefix(filepath.ToSlash(rel), "../")
	if err != nil || !filepath.IsLocal(filepath.FromSlash(beside)) {
		return ""
	}
	u := url.URL{Path: path.Join(filepath.ToSlash(rel), histories.ReportFile)}
	return template.URL("./" + u.EscapedPath())
}
