package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares what is written with a file of testdata.
func golden(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("%s differs; look at it, then go test -update (-want +got)\n%s", path, d)
	}
	return b.String()
}

// unknownRun meant too little to judge.
func unknownRun() Run {
	r := validRun()
	v := *r.Verdict
	v.Outcome, v.Reason = checker.Unknown, "no lock was ever granted after the fault: the run says nothing about it"
	v.Levels = map[checker.Level]checker.Outcome{checker.LockLevel: checker.Unknown, checker.BusinessLevel: checker.Valid}
	v.Results = append(v.Results, checker.Result{Property: checker.StuckLock, Level: checker.LockLevel, Outcome: checker.Unknown, Reason: "the run ended before TTL + grace had passed"})
	v.Notes = []string{"the last line of the history was cut off"}
	r.Verdict, r.Interrupted = &v, true
	r.Replay = `lockcheck run --design=lua-stock --nemesis="a fault with spaces in its name, quoted so that it stays one word"`
	return r
}

// manyRun has more violations than a page of text should tell.
func manyRun() Run {
	r := failoverRun()
	v := *r.Verdict
	hold := v.Violations[0]
	for range 11 {
		v.Violations = append(v.Violations, hold)
	}
	v.Results[0].Count = 40
	v.Violations[1].Key = strings.Repeat("库存:", 30)
	r.Verdict = &v
	return r
}

// lateRun is a stale write by a worker that was paused beyond its lease.
func lateRun() Run {
	w := newWriter(histories.Header{Design: "stock-lock", Nemesis: "pause", Source: "Redis 7.0.15", Lock: histories.LockSpec{TTL: 3e9, Deadline: true}, Initial: 3})
	a := w.op(2, histories.Acquire, "stock:sku-1", 4000*ms, 4002*ms, histories.OK, token("t2"), func(o *histories.Op) { o.Until = histories.N(7002 * ms) })
	pause := w.mark(histories.Event{Time: 4100 * ms, Process: histories.Nemesis, F: histories.Pause, Targets: []string{"worker-2"}, Proof: "process state T"})
	w.mark(histories.Event{Time: 8100 * ms, Process: histories.Nemesis, F: histories.Resume, Targets: []string{"worker-2"}})
	b := w.op(2, histories.Write, "sku-1", 8101*ms, 8103*ms, histories.OK, left(2))
	w.h.End = 9 * sec
	return Run{Header: w.h.Header, History: &w.h, Verdict: &checker.Verdict{
		Outcome: checker.Invalid, Levels: map[checker.Level]checker.Outcome{checker.LockLevel: checker.Valid, checker.UseLevel: checker.Invalid},
		Results: []checker.Result{{Property: checker.StaleWrite, Level: checker.UseLevel, Outcome: checker.Invalid, Count: 1}},
		Counts:  checker.Counts{Ops: 2, Grants: 1, Outcomes: map[string]int{"acquire ok": 1, "write ok": 1}},
		Violations: []checker.Violation{{
			Property: checker.StaleWrite, Level: checker.UseLevel, Key: "sku-1", Summary: "worker 2 wrote sku-1 1.1 s after its hold of stock:sku-1 had ended",
			Cause: checker.LeaseRanOut, Because: "worker-2 was paused from 4.1 s to 8.1 s; its lease ended at 7.0 s",
			Workers: []histories.Process{2}, Ops: []int64{b}, Evidence: []int64{a, b}, From: 7002 * ms, To: 8101 * ms, Faults: []int{pause},
		}},
	}}
}

func TestTextOfOneRun(t *testing.T) {
	for name, r := range map[string]Run{
		"failover": failoverRun(), "valid": validRun(), "unknown": unknownRun(), "many": manyRun(), "stale-write": lateRun(),
	} {
		t.Run(name, func(t *testing.T) {
			got := golden(t, name+".txt", func(w io.Writer) error { return Text(w, r, Style{}) })
			fits(t, got, 80)
		})
		t.Run(name+" in Markdown", func(t *testing.T) {
			golden(t, name+".md", func(w io.Writer) error { return Markdown(w, r) })
		})
	}
}

func TestTextOfAMatrix(t *testing.T) {
	for name, m := range map[string]Matrix{"matrix": fullMatrix(), "matrix-wide": wideMatrix(), "matrix-empty": {}} {
		t.Run(name, func(t *testing.T) {
			got := golden(t, name+".txt", func(w io.Writer) error { return m.Text(w, Style{}) })
			fits(t, got, 80)
		})
		t.Run(name+" in Markdown", func(t *testing.T) {
			golden(t, name+".md", m.Markdown)
		})
	}
}

// wideMatrix has more nemeses than fit beside each other.
func wideMatrix() Matrix {
	m := Matrix{Source: "Redis 7.0.15"}
	for _, d := range []string{"redis-lock", "conditional-update"} {
		for _, n := range []string{"none", "failover", "switchover", "kill", "restart", "partition", "pause", "clock", "failover+clock"} {
			m.Cells = append(m.Cells, Cell{Design: d, Nemesis: n, Outcome: checker.Valid, Runs: 3})
		}
	}
	return m
}

// fits checks that text needs no more columns. A command in quotes is the one
// thing that may, because a break would change it.
func fits(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := columns(strings.TrimRight(line, "\n")); n > width && !strings.HasPrefix(line, "Again:") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestTextFitsNarrowAndWideTerminals(t *testing.T) {
	for _, width := range []int{60, 80, 132} {
		for _, r := range []Run{failoverRun(), manyRun(), lateRun(), hostileRun()} {
			var b bytes.Buffer
			if err := Text(&b, r, Style{Width: width}); err != nil {
				t.Fatal(err)
			}
			text, _, _ := strings.Cut(b.String(), "Report:") // a folder's name is never broken
			fits(t, text, width)
		}
	}
}

func TestACommandIsBrokenBetweenItsWordsOnly(t *testing.T) {
	r := failoverRun()
	r.Replay = "lockcheck run --schedule=/a/folder/with/a/long/name/" + strings.Repeat("and/then/some/", 8) + "schedule.json --seed=1"
	var b bytes.Buffer
	if err := Text(&b, r, Style{Width: 60}); err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(b.String(), "Again:")
	typed := strings.Join(strings.Fields(strings.ReplaceAll(command, "\\\n", " ")), " ")
	if typed != r.Replay {
		t.Errorf("a shell reads %s\nwant %s", typed, r.Replay)
	}
}

func TestColourIsOnlyUsedWhenAsked(t *testing.T) {
	for _, colour := range []bool{false, true} {
		var b bytes.Buffer
		if err := Text(&b, failoverRun(), Style{Colour: colour}); err != nil {
			t.Fatal(err)
		}
		if err := fullMatrix().Text(&b, Style{Colour: colour}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "\x1b["); got != colour {
			t.Errorf("colour %v: escapes %v", colour, got)
		}
		plain := strings.NewReplacer("\x1b[1;31m", "", "\x1b[1;32m", "", "\x1b[1;33m", "", "\x1b[0m", "").Replace(b.String())
		if strings.Contains(plain, "\x1b") {
			t.Error("an escape that is no colour")
		}
	}
}
