package report

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/checker"
)

// distanceTable has a lock that breaks at once, one whose exploration was cut
// short, one that bears two deviations, and one that could not be played.
func distanceTable() Distances {
	frozen := &BreaksWith{
		Deviations: 1, Does: []string{"worker 0 is frozen at before-write until just after its lease ends"}, Property: checker.StaleWrite,
		Summary: "worker 0 wrote late", Folder: "store/a-explore", Replay: "lockcheck explore --schedule=store/a-explore/explore.json",
	}
	alone := &BreaksWith{Property: checker.DoubleHold, Summary: "both held it"}
	level := func(l checker.Level, b *BreaksWith, kinds map[string]int) LevelReach {
		return LevelReach{Level: l, Looked: true, Breaks: b, ByKind: kinds}
	}
	return Distances{
		Workers: 3, Units: 1, Sales: 1, Bound: 2, Kinds: []string{"preempt", "freeze", "restart"}, CPU: 12.34,
		Rows: []Distance{
			{Design: "short", Servers: 3, Bears: 2, Schedules: []Schedules{{1, 1, 1}, {300, 0, 0}, {9000, 0, 0}}, Levels: []LevelReach{
				level(checker.LockLevel, alone, map[string]int{"preempt": 0, "freeze": 0, "restart": 0}), level(checker.UseLevel, nil, nil), level(checker.BusinessLevel, nil, nil),
			}},
			{Design: "attentive-lock-of-a-majority", Servers: 5, Bears: 1, Schedules: []Schedules{{1, 1, 0}, {866, 866, 13}, {676001, 41213, 900}}, Levels: []LevelReach{
				level(checker.LockLevel, nil, nil), level(checker.UseLevel, frozen, map[string]int{"freeze": 1}), level(checker.BusinessLevel, frozen, map[string]int{"freeze": 1, "restart": 2}),
			}},
			{Design: "row", Bears: 2, Schedules: []Schedules{{1, 1, 0}, {146, 146, 0}, {18751, 18751, 0}}, Levels: []LevelReach{
				{Level: checker.LockLevel}, {Level: checker.UseLevel}, level(checker.BusinessLevel, nil, nil),
			}, Surprises: []string{"the business level claims breaks with 0, and no schedule with 2 did"}},
			{Design: "broken", Error: "the scene does not end"},
		},
	}
}

func TestTheTableOfDistancesReads(t *testing.T) {
	table := distanceTable()
	got := golden(t, "distances.txt", func(w io.Writer) error { return table.Text(w, Style{}) })
	for line := range strings.Lines(got) {
		if n := columns(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	table.Rows = table.Rows[1:2]
	golden(t, "distance.txt", func(w io.Writer) error { return table.Text(w, Style{}) })
}

func TestTheTableOfDistancesSurvivesJSON(t *testing.T) {
	want := distanceTable()
	var b bytes.Buffer
	if err := want.JSON(&b); err != nil {
		t.Fatal(err)
	}
	got, err := ReadDistances(&b)
	if err != nil {
		t.Fatal(err)
	}
	want.Format = DistancesFormat
	for i := range want.Rows { // what is empty is left out
		for j := range want.Rows[i].Levels {
			if want.Rows[i].Levels[j].ByKind == nil {
				got.Rows[i].Levels[j].ByKind = nil
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if _, err := ReadDistances(strings.NewReader(`{"format":"lockcheck-matrix/1"}`)); !errors.Is(err, ErrFormat) {
		t.Errorf("another format: %v, want %v", err, ErrFormat)
	}
}

func TestThePageOfDistancesLinksToReportsAndHasNoScript(t *testing.T) {
	var b bytes.Buffer
	table := distanceTable()
	table.Rows[0].Design = "<script>alert(1)</script>"
	if err := table.HTML(&b, "store/distances"); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if !strings.Contains(page, `href="./../a-explore/report.html"`) {
		t.Error("no link to the report")
	}
	if strings.Contains(page, "<script") {
		t.Error("a name became a script")
	}
}

// Invalid outranks unknown outranks valid.
func TestTheOutcomeOfDistances(t *testing.T) {
	whole := Distances{Bound: 2, Rows: []Distance{{Bears: 2, Levels: []LevelReach{{Looked: true}}}}}
	short, undecided, broken := whole, whole, whole
	short.Rows = []Distance{{Bears: 1}}
	undecided.Rows = []Distance{{Bears: 2, Undecided: 1}}
	broken.Rows = []Distance{{Bears: 1, Levels: []LevelReach{{Breaks: &BreaksWith{}}}}}
	for want, t1 := range map[checker.Outcome][]Distances{checker.Valid: {whole}, checker.Unknown: {short, undecided}, checker.Invalid: {broken}} {
		for _, table := range t1 {
			if got := table.Outcome(); got != want {
				t.Errorf("%+v: %s, want %s", table.Rows, got, want)
			}
		}
	}
}
