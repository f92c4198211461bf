package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lockcheck/lockcheck/checker"
)

func TestMergeJoinsTheRunsOfOneCell(t *testing.T) {
	valid := Cell{Design: "d", Nemesis: "n", Outcome: checker.Valid, Runs: 4, Seed: 1, Levels: map[checker.Level]checker.Outcome{checker.LockLevel: checker.Valid, checker.UseLevel: checker.Valid}}
	unknown := Cell{Design: "d", Nemesis: "n", Outcome: checker.Unknown, Runs: 1, Unknown: 1, Seed: 2, Levels: map[checker.Level]checker.Outcome{checker.LockLevel: checker.Unknown}}
	invalid := Cell{Design: "d", Nemesis: "n", Outcome: checker.Invalid, Runs: 5, Invalid: 2, Seed: 3, Broken: []checker.Property{checker.DoubleHold}, Summary: "both held",
		Levels: map[checker.Level]checker.Outcome{checker.LockLevel: checker.Invalid}}
	skipped := Cell{Design: "d", Nemesis: "n", Skipped: "not here"}
	want := Cell{Design: "d", Nemesis: "n", Outcome: checker.Invalid, Runs: 10, Invalid: 2, Unknown: 1, Seed: 3, Broken: []checker.Property{checker.DoubleHold}, Summary: "both held",
		Levels: map[checker.Level]checker.Outcome{checker.LockLevel: checker.Invalid, checker.UseLevel: checker.Valid}}
	for name, parts := range map[string][]Cell{
		"the worst last": {valid, unknown, skipped, invalid}, "the worst first": {invalid, valid, unknown, skipped}, "a skip first": {skipped, unknown, invalid, valid},
	} {
		var all []Matrix
		for _, c := range parts {
			all = append(all, Matrix{Cells: []Cell{c}})
		}
		got := Merge(all...)
		if d := cmp.Diff([]Cell{want}, got.Cells); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
		if got.Outcome() != checker.Invalid {
			t.Errorf("%s: outcome %s", name, got.Outcome())
		}
	}
	if Merge().Outcome() != checker.Unknown {
		t.Error("nothing at all is not unknown")
	}
}

// A merged table may have as many designs and nemeses as cells: the fields of
// such a table are nearly all empty, and as many as the square of the cells.
func TestAMatrixOfManyCellsIsWritten(t *testing.T) {
	const n = 300
	var square, diagonal Matrix
	for i := range n * n {
		d, f := fmt.Sprint("d", i/n), fmt.Sprint("n", i%n)
		square.Cells = append(square.Cells, Cell{Design: d, Nemesis: f, Outcome: checker.Valid, Runs: 1})
		diagonal.Cells = append(diagonal.Cells, Cell{Design: fmt.Sprint("d", i), Nemesis: fmt.Sprint("n", i), Outcome: checker.Valid, Runs: 1})
	}
	if g := square.grid(); g.note() != "" || len(g.designs) != n || len(g.nemeses) != n || g.find("d7", "n9").Design != "d7" || g.find("d7", "x") != nil {
		t.Errorf("%d designs, %d nemeses, %q", len(g.designs), len(g.nemeses), g.note())
	}
	for name, write := range map[string]func(io.Writer, Matrix) error{
		"text":     func(w io.Writer, m Matrix) error { return m.Text(w, Style{Width: 80}) },
		"markdown": func(w io.Writer, m Matrix) error { return m.Markdown(w) },
		"JUnit":    func(w io.Writer, m Matrix) error { return m.JUnit(w) },
		"HTML":     func(w io.Writer, m Matrix) error { return m.HTML(w, ".") },
	} {
		var all, few bytes.Buffer
		if err := write(&all, square); err != nil {
			t.Fatal(err)
		}
		if err := write(&few, diagonal); err != nil {
			t.Fatal(err)
		}
		if name != "JUnit" && (!strings.Contains(few.String(), "no column here") || few.Len() > 10*all.Len()) {
			t.Errorf("%s: a table of %d cells on its diagonal has %d bytes, a full one %d", name, n*n, few.Len(), all.Len())
		}
		if strings.Contains(all.String(), "no column here") {
			t.Errorf("%s: a full table leaves cells out", name)
		}
	}
	if changes := Compare(diagonal, diagonal); len(changes) != 0 {
		t.Errorf("%d changes between a night and itself", len(changes))
	}
}

// A scale of some nanoseconds, months after zero, has a few numbers as any other.
func TestAnAxisAdvancesWhereverItBegins(t *testing.T) {
	for _, from := range []int64{0, 1 << 40, 1<<53 - 10_000_000_000} {
		for _, length := range []int64{1, 7, 300, 1e9, 9_999_999_999} {
			svg := string(chart{From: from, End: from + length}.SVG())
			if n := strings.Count(svg, " s</text>"); n < 1 || n > 8 {
				t.Errorf("from %d, %d ns: %d numbers on the axis of time", from, length, n)
			}
		}
	}
}

func TestCompareTellsChangeFromChance(t *testing.T) {
	for _, c := range []struct {
		name             string
		before, now      Rate
		want             Kind
		listed, byChance bool
	}{
		{"clean both times", Rate{0, 10}, Rate{0, 10}, "", false, false},
		{"broken for the first time", Rate{0, 10}, Rate{1, 10}, New, true, false},
		{"a new cell that is broken", Rate{}, Rate{1, 10}, New, true, false},
		{"as before", Rate{5, 10}, Rate{5, 10}, StillThere, true, false},
		{"a little more often, as chance has it", Rate{3, 10}, Rate{5, 10}, StillThere, true, false},
		{"much more often", Rate{5, 100}, Rate{60, 100}, RateUp, true, false},
		{"much less often", Rate{60, 100}, Rate{5, 100}, RateDown, true, false},
		{"not met again in too few runs", Rate{3, 10}, Rate{0, 2}, Gone, true, true},
		{"not met again in many runs", Rate{50, 100}, Rate{0, 100}, Gone, true, false},
		{"not run", Rate{5, 10}, Rate{}, NotRun, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := func(r Rate) Matrix {
				return Matrix{Cells: []Cell{{Design: "d", Nemesis: "n", Runs: r.Runs, Invalid: r.Invalid}}}
			}
			got := Compare(at(c.before), at(c.now))
			if (len(got) == 1) != c.listed {
				t.Fatalf("changes %+v", got)
			}
			if c.listed && (got[0].Kind != c.want || strings.Contains(got[0].Text(), "luck") != c.byChance) {
				t.Errorf("%s: %s, want %s, by chance %v", got[0].Kind, got[0].Text(), c.want, c.byChance)
			}
		})
	}
}

func TestCompareListsTheWorstFirst(t *testing.T) {
	cell := func(design string, invalid int) Cell {
		return Cell{Design: design, Nemesis: "n", Runs: 100, Invalid: invalid}
	}
	before := Matrix{Cells: []Cell{cell("gone", 50), cell("same", 50), cell("more", 5)}}
	now := Matrix{Cells: []Cell{cell("gone", 0), cell("same", 50), cell("more", 80), cell("new", 1)}}
	var got []string
	for _, c := range Compare(before, now) {
		got = append(got, c.Design)
	}
	if d := cmp.Diff([]string{"new", "more", "same", "gone"}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestFisherAgreesWithPublishedValues(t *testing.T) {
	for _, c := range []struct {
		a, b Rate
		want float64
	}{
		{Rate{3, 4}, Rate{1, 4}, 0.4857142857},   // Fisher's lady tasting tea, two-sided
		{Rate{1, 12}, Rate{9, 12}, 0.0027594562}, // the example of the test's usual description: 1/11, 9/3
		{Rate{5, 10}, Rate{5, 10}, 1},
		{Rate{0, 10}, Rate{0, 10}, 1},
	} {
		if got := fisher(c.a, c.b); math.Abs(got-c.want) > 1e-8 {
			t.Errorf("fisher(%v, %v) = %.10f, want %.10f", c.a, c.b, got, c.want)
		}
	}
}

func TestSurprisesAreVerdictsThatDifferFromTheClaim(t *testing.T) {
	for _, c := range []struct {
		name  string
		claim Promise
		got   checker.Outcome
		runs  int
		want  bool
	}{
		{"a safe design that held", Holds, checker.Valid, 1, false},
		{"a safe design that broke", Holds, checker.Invalid, 1, true},
		{"a safe design of which nothing is known", Holds, checker.Unknown, 1, true},
		{"one that may break, of which nothing is known", MayBreak, checker.Unknown, 1, false},
		{"a bad design that was caught", Breaks, checker.Invalid, 1, false},
		{"a bad design that was not caught", Breaks, checker.Valid, 1, true},
		{"a bad design of which nothing is known", Breaks, checker.Unknown, 1, true},
		{"a bad design that did not run", Breaks, "", 0, false},
		{"one that may break and did", MayBreak, checker.Invalid, 1, false},
		{"one that may break and did not", MayBreak, checker.Valid, 1, false},
		{"no claim", "", checker.Invalid, 1, false},
	} {
		cell := Cell{Runs: c.runs, Outcome: c.got, Claims: map[checker.Level]Promise{checker.LockLevel: c.claim}, Levels: map[checker.Level]checker.Outcome{checker.LockLevel: c.got}}
		if c.got == checker.Unknown {
			cell.Unknown = c.runs
		}
		if got := len(cell.Surprises()) > 0; got != c.want {
			t.Errorf("%s: surprise %v", c.name, got)
		}
	}
}

func TestIndexLinksOnlyWithinTheStore(t *testing.T) {
	for folder, want := range map[string]string{
		"store/a-run": "./a-run/report.html", "store/a/../b": "./b/report.html", "": "", "/etc": "", "other/run": "../other/report.html",
		"../elsewhere": "", "store/with space#x": "./with%20space%23x/report.html", "store/javascript:alert(1)": "./javascript:alert%281%29/report.html",
	} {
		if folder == "other/run" {
			want = "./../other/run/report.html"
		}
		got := string(reportLink(folder, "store"))
		if strings.TrimPrefix(got, "./") != strings.TrimPrefix(want, "./") {
			t.Errorf("%q links to %q, want %q", folder, got, want)
		}
	}
	var b bytes.Buffer
	if err := hostileMatrix().HTML(&b, "store"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<script") || strings.Contains(b.String(), `href="javascript`) {
		t.Error("markup of a cell reaches the index")
	}
}

func TestACellSaysInHowManyRunsItIsUnknown(t *testing.T) {
	cell := Cell{Outcome: checker.Unknown, Reason: "no fault"}
	for _, c := range []struct {
		unknown, runs int
		want          string
	}{
		{1, 1, "unknown: no fault"},
		{3, 3, "unknown: no fault"},
		{7, 1000, "unknown in 7 of 1000 runs, else valid: no fault"},
	} {
		cell.Unknown, cell.Runs = c.unknown, c.runs
		if got := cell.what(); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.unknown, c.runs, got, c.want)
		}
	}
}
