package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/checker"
)

// MatrixFile and IndexFile are the names under which a store keeps a matrix
// and its page, in a folder of their own beside the runs.
const (
	MatrixFile = "matrix.json"
	IndexFile  = "index.html"
)

// Matrix is the result of many cells: designs × nemeses. It is what a nightly
// run reports, keeps, merges with the results of others, and compares with
// the night before.
type Matrix struct {
	Format   string            `json:"format"` // MatrixFormat; set by JSON
	Version  string            `json:"lockcheck,omitempty"`
	Source   string            `json:"source,omitempty"` // "simulated Redis"
	Seed     uint64            `json:"seed,omitempty"`   // of the first run
	Started  time.Time         `json:"started,omitzero"`
	Took     time.Duration     `json:"took,omitempty"` // ns
	Settings map[string]string `json:"settings,omitempty"`
	// ByClaims: what counts as a failure is a verdict that differs from the
	// design's claim, and not a violation.
	ByClaims bool `json:"by-claims,omitempty"`
	// Interrupted: cells without a result were not run, and the last runs are
	// judged by what was recorded until then.
	Interrupted bool     `json:"interrupted,omitempty"`
	Cells       []Cell   `json:"cells"`
	Changes     []Change `json:"changes,omitempty"` // since an earlier matrix: see Compare
}

// Cell is one design under one nemesis, over one or more runs.
type Cell struct {
	Design  string                            `json:"design"`
	Nemesis string                            `json:"nemesis"`
	Source  string                            `json:"source,omitempty"`
	Outcome checker.Outcome                   `json:"outcome,omitempty"` // the worst of the runs; "" if none was done
	Levels  map[checker.Level]checker.Outcome `json:"levels,omitempty"`  // the worst of the runs
	Broken  []checker.Property                `json:"broken,omitempty"`  // properties broken in any run
	Runs    int                               `json:"runs"`
	Invalid int                               `json:"invalid"` // runs that were invalid
	// Stopped: the runs ended when one had shown what there was to show, so
	// that Invalid of Runs is no rate.
	Stopped bool `json:"stopped,omitempty"`
	Unknown int  `json:"unknown,omitempty"` // runs that were unknown
	// Seed, Folder, Replay and Summary belong to the run that is shown: the
	// first invalid one, else the first of the worst outcome.
	Seed    uint64                    `json:"seed,omitempty"`
	Folder  string                    `json:"folder,omitempty"`
	Replay  string                    `json:"replay,omitempty"`
	Summary string                    `json:"summary,omitempty"` // of its first violation
	Cause   checker.Cause             `json:"cause,omitempty"`
	Reason  string                    `json:"reason,omitempty"` // of unknown
	Claims  map[checker.Level]Promise `json:"claims,omitempty"`
	Skipped string                    `json:"skipped,omitempty"` // why the cell cannot be: "no Redis to fail over"
	Error   string                    `json:"error,omitempty"`   // lockcheck or its environment broke
	Seconds float64                   `json:"seconds,omitempty"`
}

// Promise is what a design claims about one level under one nemesis.
type Promise string

// The promises, in the words of the catalogue of designs.
const (
	MayBreak Promise = "may break" // depends on chance or settings; also no claim at all
	Holds    Promise = "holds"     // must never be violated
	Breaks   Promise = "breaks"    // is violated, and must be caught
)

// Surprise is a verdict that is not what the design claims.
type Surprise struct {
	Level checker.Level
	Claim Promise
	Got   checker.Outcome
}

// Text is the surprise as a sentence.
func (s Surprise) Text() string {
	switch {
	case s.Claim == Holds && s.Got == checker.Unknown:
		return fmt.Sprintf("the %s level claims to hold, and no run showed it", s.Level)
	case s.Claim == Holds:
		return fmt.Sprintf("the %s level claims to hold, and broke", s.Level)
	}
	return fmt.Sprintf("the %s level claims to break, and was not caught", s.Level)
}

// Surprises lists the levels whose verdict is not what the design claims. A
// known-bad design that was not caught is one, like a safe one that broke, or
// one of which no run could tell.
func (c Cell) Surprises() []Surprise {
	var list []Surprise
	if c.Runs == 0 {
		return nil
	}
	for _, level := range levels {
		got := c.Levels[level]
		if c.Unknown == c.Runs {
			got = checker.Unknown // a level may look valid in a run that meant nothing
		}
		if (c.Claims[level] == Holds && (got == checker.Invalid || c.Unknown == c.Runs)) || (c.Claims[level] == Breaks && got != checker.Invalid) {
			list = append(list, Surprise{level, c.Claims[level], got})
		}
	}
	return list
}

// Cell is the run as a cell of a matrix, without claims.
func (r Run) Cell() Cell {
	v := r.Verdict
	c := Cell{
		Design: r.Header.Design, Nemesis: r.Header.Nemesis, Source: r.source(), Outcome: v.Outcome, Levels: maps.Clone(v.Levels),
		Runs: 1, Seed: r.Header.Seed, Folder: r.Folder, Replay: r.Replay, Reason: v.Reason, Seconds: r.Took.Seconds(),
	}
	switch v.Outcome {
	case checker.Invalid:
		c.Invalid = 1
	case checker.Unknown:
		c.Unknown = 1
	}
	c.Broken = brokenOf(v)
	if first := v.First(); first != nil {
		c.Summary, c.Cause = first.Summary, first.Cause
	}
	return c
}

// cellID names a cell.
type cellID struct{ design, nemesis string }

func (c Cell) id() cellID { return cellID{c.Design, c.Nemesis} }

// Join is two results of one cell taken together: more runs of the same.
func (c Cell) Join(o Cell) Cell {
	shown := c
	if o.Outcome.Outranks(c.Outcome) || c.Runs == 0 {
		shown = o
	}
	j := shown
	j.Runs, j.Invalid, j.Unknown, j.Seconds = c.Runs+o.Runs, c.Invalid+o.Invalid, c.Unknown+o.Unknown, c.Seconds+o.Seconds
	j.Stopped = c.Stopped || o.Stopped
	j.Levels = map[checker.Level]checker.Outcome{}
	for _, part := range []Cell{c, o} {
		for level, got := range part.Levels {
			if before, known := j.Levels[level]; known {
				got = checker.Worse(before, got)
			}
			j.Levels[level] = got
		}
	}
	j.Broken = union(c.Broken, o.Broken)
	if c.Source != o.Source && c.Source != "" && o.Source != "" {
		j.Source = c.Source + ", " + o.Source
	}
	if j.Claims == nil {
		j.Claims = c.Claims
	}
	if j.Runs > 0 {
		j.Skipped = ""
	}
	if j.Error == "" {
		j.Error = c.Error + o.Error
	}
	return j
}

func union(a, b []checker.Property) []checker.Property {
	list := slices.Clone(a)
	for _, p := range b {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// Merge takes several results together, as if they were one: cells with the
// same design and nemesis are joined. Machines that share a night's work
// merge what each found.
func Merge(parts ...Matrix) Matrix {
	var m Matrix
	at := map[cellID]int{}
	for i, p := range parts {
		if i == 0 {
			m = p
			m.Cells, m.Changes = nil, nil
		}
		if !p.Started.IsZero() && (m.Started.IsZero() || p.Started.Before(m.Started)) {
			m.Started = p.Started
		}
		if i > 0 {
			m.Took += p.Took
			m.ByClaims = m.ByClaims || p.ByClaims
			m.Interrupted = m.Interrupted || p.Interrupted
			if p.Source != m.Source {
				m.Source = "" // each cell names its own
			}
		}
		for _, c := range p.Cells {
			if j, known := at[c.id()]; known {
				m.Cells[j] = m.Cells[j].Join(c)
				continue
			}
			at[c.id()] = len(m.Cells)
			m.Cells = append(m.Cells, c)
		}
	}
	return m
}

// Outcome is the worst outcome of all cells: invalid over unknown over valid.
// A matrix in which nothing ran is unknown.
func (m Matrix) Outcome() checker.Outcome {
	got := checker.Valid
	ran := false
	for _, c := range m.Cells {
		if c.Runs > 0 {
			ran = true
			got = checker.Worse(got, c.Outcome)
		}
	}
	if !ran {
		return checker.Unknown
	}
	return got
}

// grid is the matrix as a table: its designs and nemeses in the order in which
// they first occur, and where each cell is.
type grid struct {
	designs, nemeses []string
	leftOut          int // nemeses that the table has no room for
	cells            []Cell
	at               map[cellID]int
}

// maxGrid is how many fields a table has at most. Merged tables can have as many
// designs and nemeses as cells, and then nearly all fields would be empty.
const maxGrid = 1 << 18

func (m Matrix) grid() grid {
	g := grid{cells: m.Cells, at: make(map[cellID]int, len(m.Cells))}
	design, nemesis := map[string]bool{}, map[string]bool{}
	for i, c := range m.Cells {
		if _, known := g.at[c.id()]; !known {
			g.at[c.id()] = i
		}
		if !design[c.Design] {
			design[c.Design], g.designs = true, append(g.designs, c.Design)
		}
		if !nemesis[c.Nemesis] {
			nemesis[c.Nemesis], g.nemeses = true, append(g.nemeses, c.Nemesis)
		}
	}
	if room := max(1, maxGrid/max(1, len(g.designs))); room < len(g.nemeses) {
		g.nemeses, g.leftOut = g.nemeses[:room], len(g.nemeses)-room
	}
	return g
}

// find is the cell of a design under a nemesis, or nil.
func (g grid) find(design, nemesis string) *Cell {
	if i, ok := g.at[cellID{design, nemesis}]; ok {
		return &g.cells[i]
	}
	return nil
}

// note says what the table leaves out, "" if it has everything.
func (g grid) note() string {
	if g.leftOut == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the nemeses have no column here: the table would be too large. %s has them.", g.leftOut, MatrixFile)
}

// JSON writes the matrix for machines. It is valid by docs/verdict-schema.json.
func (m Matrix) JSON(w io.Writer) error {
	m.Format = MatrixFormat
	m.Started = m.Started.UTC()
	if m.Cells == nil {
		m.Cells = []Cell{}
	}
	return encode(w, m)
}

// ReadMatrix reads what JSON wrote. A document of another format is ErrFormat.
func ReadMatrix(r io.Reader) (Matrix, error) {
	var m Matrix
	if err := json.NewDecoder(r).Decode(&m); err != nil {
		return Matrix{}, fmt.Errorf("matrix: %w", err)
	}
	if m.Format != MatrixFormat {
		return Matrix{}, fmt.Errorf("matrix: format %.40q: %w", m.Format, ErrFormat)
	}
	for i, c := range m.Cells {
		if err := c.check(); err != nil {
			return Matrix{}, fmt.Errorf("matrix: cell %d (%.60q × %.60q): %w", i+1, c.Design, c.Nemesis, err)
		}
	}
	return m, nil
}

// maxRuns bounds the runs of a cell, so that sums of many stay what they are.
const maxRuns = 1 << 40

// check reports counts that no runs can have.
func (c Cell) check() error {
	switch {
	case c.Runs < 0 || c.Runs > maxRuns:
		return fmt.Errorf("%d runs", c.Runs)
	case c.Invalid < 0 || c.Unknown < 0 || c.Invalid > c.Runs || c.Unknown > c.Runs-c.Invalid:
		return fmt.Errorf("%d invalid and %d unknown of %d runs", c.Invalid, c.Unknown, c.Runs)
	case !(c.Seconds >= 0 && c.Seconds <= 1e12):
		return fmt.Errorf("%v seconds", c.Seconds)
	}
	want := checker.Outcome("")
	switch {
	case c.Invalid > 0:
		want = checker.Invalid
	case c.Unknown > 0:
		want = checker.Unknown
	case c.Runs > 0:
		want = checker.Valid
	}
	if c.Outcome != want {
		return fmt.Errorf("outcome %.40q of %d invalid and %d unknown of %d runs: want %q", c.Outcome, c.Invalid, c.Unknown, c.Runs, want)
	}
	for level, got := range c.Levels {
		if !slices.Contains(levels, level) || !slices.Contains(partOutcomes, got) {
			return fmt.Errorf("level %.40q is %.40q", level, got)
		}
	}
	return nil
}

// partOutcomes are what a level can be.
var partOutcomes = []checker.Outcome{checker.Valid, checker.Unknown, checker.Invalid, checker.NotLooked}
