package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/checker"
)

// DistancesFormat is the version of the JSON of Distances.
const DistancesFormat = "lockcheck-distances/1"

// Distances is the table of how many deviations it takes to break each design, at
// each level: what lockcheck explore reports.
type Distances struct {
	Format      string        `json:"format"` // DistancesFormat; set by JSON
	Version     string        `json:"lockcheck,omitempty"`
	Workers     int           `json:"workers"`
	Units       int64         `json:"units"`
	Sales       int           `json:"sales"`
	Bound       int           `json:"deviations"` // that were tried at most
	Kinds       []string      `json:"kinds"`      // of deviations that were tried, in order
	Shard       string        `json:"shard,omitempty"`
	Started     time.Time     `json:"started,omitzero"`
	Took        time.Duration `json:"took,omitempty"` // ns
	CPU         float64       `json:"cpu-seconds,omitempty"`
	Interrupted bool          `json:"interrupted,omitempty"`
	ByClaims    bool          `json:"by-claims,omitempty"`
	Rows        []Distance    `json:"designs"`
}

// Distance is a row of the table.
type Distance struct {
	Design    string       `json:"design"`
	Source    string       `json:"source,omitempty"`
	Servers   int          `json:"servers"`   // of the lock
	Bears     int          `json:"bears"`     // all schedules with so many deviations were played
	Schedules []Schedules  `json:"schedules"` // by number of deviations
	Levels    []LevelReach `json:"levels"`
	Undecided int64        `json:"undecided,omitempty"` // schedules on which the checker could not decide
	Seconds   float64      `json:"seconds,omitempty"`
	Error     string       `json:"error,omitempty"`
	Surprises []string     `json:"surprises,omitempty"` // where it is not as claimed
}

// Schedules counts those with one number of deviations.
type Schedules struct {
	All     int64 `json:"all"`
	Played  int64 `json:"played"`
	Invalid int64 `json:"invalid"`
}

// LevelReach is the distance at one level.
type LevelReach struct {
	Level  checker.Level  `json:"level"`
	Looked bool           `json:"looked-at"`         // the design has what the level is about
	Breaks *BreaksWith    `json:"breaks,omitempty"`  // nil: not within the bound
	ByKind map[string]int `json:"by-kind,omitempty"` // deviations of this kind alone that break it
}

// BreaksWith is the smallest schedule that breaks a level.
type BreaksWith struct {
	Deviations int              `json:"deviations"`
	Does       []string         `json:"does"` // each deviation, in words
	Property   checker.Property `json:"property"`
	Summary    string           `json:"summary"`
	Cause      checker.Cause    `json:"cause,omitempty"`
	Folder     string           `json:"folder,omitempty"`
	Replay     string           `json:"replay,omitempty"`
}

// played is how many schedules were.
func (d Distance) played() (n int64) {
	for _, s := range d.Schedules {
		n += s.Played
	}
	return n
}

// word is the distance in a table: "1", "> 2", "–".
func (l LevelReach) word(bears int) string {
	switch {
	case l.Breaks != nil:
		return fmt.Sprint(l.Breaks.Deviations)
	case !l.Looked:
		return "–"
	case bears < 0:
		return "?"
	}
	return fmt.Sprintf("> %d", bears)
}

// class is what colours it: unbroken is as good as valid within the bound.
func (l LevelReach) class() checker.Outcome {
	switch {
	case l.Breaks == nil && l.Looked:
		return checker.Valid
	case l.Breaks == nil:
		return ""
	case l.Breaks.Deviations >= 2:
		return checker.Unknown
	}
	return checker.Invalid
}

// kind is a column of the table by kinds: a digit for each level.
func (d Distance) kind(name string) string {
	word := ""
	for _, l := range d.Levels {
		n, broken := l.ByKind[name]
		switch {
		case broken:
			word += fmt.Sprint(n)
		case l.Looked:
			word += "·"
		default:
			word += " "
		}
	}
	return word
}

// Sentences say what was found of a design: of the levels that were not broken in
// one sentence, then of each that was.
func (d Distance) Sentences(t Distances) (list []string) {
	if d.Error != "" {
		return []string{"error: " + plain(d.Error)}
	}
	var whole []string
	for _, l := range d.Levels {
		if l.Looked && l.Breaks == nil {
			whole = append(whole, string(l.Level))
		}
	}
	if len(whole) > 0 {
		list = append(list, fmt.Sprintf("%s: no violation in %s (%s)", enumerate(whole), d.extent(), t.sceneOf(d)))
	}
	for _, l := range d.Levels {
		if b := l.Breaks; b != nil {
			list = append(list, fmt.Sprintf("%s: breaks with %d%s (%s)", l.Level, b.Deviations, b.how(), b.Property))
		}
	}
	if d.Undecided > 0 {
		list = append(list, fmt.Sprintf("undecided: %s", plural(d.Undecided, "schedule")))
	}
	return list
}

func (b BreaksWith) how() string {
	if len(b.Does) == 0 {
		return ", by the workers alone"
	}
	return ": " + plain(strings.Join(b.Does, "; "))
}

// extent is what was played: "all 64,981 schedules with at most 2 deviations", and
// of a further depth the part.
func (d Distance) extent() string {
	all := int64(0)
	for i := 0; i <= d.Bears && i < len(d.Schedules); i++ {
		all += d.Schedules[i].Played
	}
	s := fmt.Sprintf("all %s with at most %s", plural(all, "schedule"), plural(d.Bears, "deviation"))
	if next := d.Bears + 1; next < len(d.Schedules) && d.Schedules[next].Played > 0 {
		part := d.Schedules[next]
		s += fmt.Sprintf(", nor in %s of the %s with %d", count(part.Played), count(part.All), next)
	}
	return s
}

// sceneOf is the scene in brackets: "3 workers, 1 unit, 5 servers".
func (t Distances) sceneOf(d Distance) string {
	parts := []string{plural(t.Workers, "worker"), units(t.Units)}
	if t.Sales > 1 {
		parts = append(parts, fmt.Sprintf("%d sales each", t.Sales))
	}
	if d.Servers > 0 {
		parts = append(parts, plural(d.Servers, "server"))
	}
	return strings.Join(parts, ", ")
}

// enumerate joins words: "use and business".
func enumerate(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return words[0]
}

// NotVaried says what no schedule varies.
const NotVaried = "Not varied: how long packets take, other than beyond the lease; when workers begin; several keys; two deviations at one point (docs/exploring.md)."

// Outcome is the worst of all designs: invalid if any level of any broke.
func (t Distances) Outcome() checker.Outcome {
	outcome := checker.Valid
	for _, d := range t.Rows {
		for _, l := range d.Levels {
			if l.Breaks != nil {
				return checker.Invalid
			}
		}
		if d.Error != "" || d.Undecided > 0 || d.Bears < t.Bound {
			outcome = checker.Unknown
		}
	}
	return outcome
}

// total counts the schedules of all designs.
func (t Distances) total() (n int64) {
	for _, d := range t.Rows {
		n += d.played()
	}
	return n
}

// headline says what was played.
func (t Distances) headline() string {
	s := fmt.Sprintf("%s, at most %s, %s, %s, %s", plural(len(t.Rows), "design"), plural(t.Bound, "deviation"), plural(t.Workers, "worker"), units(t.Units), plural(t.total(), "schedule"))
	if t.CPU > 0 {
		s += fmt.Sprintf(" in %s CPU seconds", digits(t.CPU))
	}
	if t.Interrupted {
		s += ", interrupted before the end"
	}
	return s
}

// JSON writes the table for machines.
func (t Distances) JSON(w io.Writer) error {
	t.Format, t.Started = DistancesFormat, t.Started.UTC()
	if t.Rows == nil {
		t.Rows = []Distance{}
	}
	return encode(w, t)
}

// ReadDistances reads what JSON wrote. A document of another format is ErrFormat.
func ReadDistances(r io.Reader) (Distances, error) {
	var t Distances
	if err := json.NewDecoder(r).Decode(&t); err != nil {
		return Distances{}, fmt.Errorf("distances: %w", err)
	}
	if t.Format != DistancesFormat {
		return Distances{}, fmt.Errorf("distances: format %.40q: %w", t.Format, ErrFormat)
	}
	return t, nil
}

// Text writes the table for a terminal: in full for one design, and otherwise as two
// tables, of the levels and by kinds of deviations.
func (t Distances) Text(w io.Writer, style Style) error {
	x := &text{style: style}
	if len(t.Rows) == 1 {
		t.one(x, t.Rows[0])
	} else {
		t.table(x)
	}
	x.line("")
	x.para(0, NotVaried)
	_, err := io.WriteString(w, x.b.String())
	return err
}

func (t Distances) one(x *text, d Distance) {
	names := max(10, columns(plain(d.Design)))
	for i, s := range d.Sentences(t) {
		label := pad("", names)
		if i == 0 {
			label = pad(plain(d.Design), names)
		}
		x.hang(0, label+"  ", s)
	}
	t.whereabouts(x, d)
	for _, s := range d.Surprises {
		x.para(0, "Not as claimed: "+s)
	}
}

// whereabouts names the reports of what broke, each once.
func (t Distances) whereabouts(x *text, d Distance) {
	seen := map[string]bool{}
	for _, l := range d.Levels {
		b := l.Breaks
		if b == nil || b.Folder == "" || seen[b.Folder] {
			continue
		}
		seen[b.Folder] = true
		x.line("")
		x.line("Report:  " + plain(b.Folder) + "/report.html")
		x.line("Replay:  " + plain(b.Replay))
	}
}

func (t Distances) table(x *text) {
	x.para(0, t.headline())
	x.line("")
	names := 10
	for _, d := range t.Rows {
		names = max(names, min(columns(plain(d.Design)), 22))
	}
	head := pad("", names)
	for _, level := range levels {
		head += "  " + pad(string(level), 8)
	}
	x.line(head + "  schedules")
	for _, d := range t.Rows {
		line := pad(shorten(plain(d.Design), names), names)
		for _, l := range d.Levels {
			word := l.word(d.Bears)
			line += "  " + x.verdict(l.class(), word) + strings.Repeat(" ", max(0, 8-columns(word)))
		}
		line += fmt.Sprintf("  %9s", count(d.played()))
		switch {
		case d.Error != "":
			line += "  error"
		case len(d.Surprises) > 0:
			line += "  !"
		}
		x.line(line)
	}
	x.line("")
	x.para(0, fmt.Sprintf("How many deviations it takes to break each level. > %d: no schedule with at most %d does. –: the design has nothing that the level is about. !: not as claimed.", t.Bound, t.Bound))
	t.byKind(x, names)
	for _, d := range t.Rows {
		for _, s := range d.Surprises {
			x.hang(0, "! "+plain(d.Design)+": ", s)
		}
		if d.Error != "" {
			x.hang(0, plain(d.Design)+": ", "error: "+plain(d.Error))
		}
	}
}

// byKind is the table by deviations of a single kind.
func (t Distances) byKind(x *text, names int) {
	const width = 5
	for block := range slices.Chunk(t.Kinds, max(1, (x.style.width()-names)/width)) {
		x.line("")
		head := pad("", names)
		for _, k := range block {
			head += " " + pad(k[:min(len(k), width-1)], width-1)
		}
		x.line(head)
		for _, d := range t.Rows {
			line := pad(shorten(plain(d.Design), names), names)
			for _, k := range block {
				line += " " + pad(d.kind(k), width-1)
			}
			x.line(line)
		}
	}
	x.line("")
	x.para(0, "By deviations of one kind alone: lock, use, business; ·: not broken. The kinds: "+strings.Join(t.Kinds, ", ")+".")
}
