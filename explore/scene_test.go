package explore

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
)

func sceneOf(t testing.TB, design string, size Size) *Scene {
	t.Helper()
	d, ok := workload.Find(design)
	if !ok {
		t.Fatalf("there is no design %q", design)
	}
	s, err := NewScene(d, size)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func play(t testing.TB, s *Scene, plan ...sim.Placed) *Played {
	t.Helper()
	p, err := s.Play(plan, true)
	if err != nil {
		t.Fatalf("%v: %v", plan, err)
	}
	return p
}

// brokenAtOnce are the designs that two workers alone break.
var brokenAtOnce = map[string]bool{
	"redis-lock-short": true, "nested-deadlock": true, "none": true, "unlock-before-commit": true, "shared-owner": true, "read-before-lock": true,
	"get-lock-pool": true, "half-locked": true, "wrong-key": true,
}

func TestEveryDesignPlaysItsDefaultSchedule(t *testing.T) {
	for _, d := range workload.Designs() {
		for workers := 2; workers <= 3; workers++ {
			p := play(t, sceneOf(t, d.Name, Size{Workers: workers}))
			if p.Points == 0 || len(p.Options) == 0 {
				t.Errorf("%s, %d workers: %d points, %d options", d.Name, workers, p.Points, len(p.Options))
			}
			if invalid := p.Verdict.Outcome == checker.Invalid; invalid != brokenAtOnce[d.Name] {
				t.Errorf("%s, %d workers: %s, want invalid %v", d.Name, workers, p.Verdict.Outcome, brokenAtOnce[d.Name])
			}
		}
	}
}

// A history that is judged in memory is one that can be written, read and judged
// again, whatever was done in it.
func TestAScheduleIsTheSameInMemoryAndInAFile(t *testing.T) {
	for _, design := range []string{"redlock", "async-failover", "fenced", "client-clock", "watchdog"} {
		s := sceneOf(t, design, Size{})
		kinds := map[sim.Kind]bool{}
		for _, o := range play(t, s).Options {
			if kinds[o.Kind] {
				continue
			}
			kinds[o.Kind] = true
			p := play(t, s, o)
			var file bytes.Buffer
			rec, err := histories.NewRecorder(&file, p.History.Header)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range p.Events {
				rec.Record(e)
			}
			h, err := histories.ReadJSON(&file)
			if err != nil {
				t.Errorf("%s, %v: %v", design, p.Done[0].Text, err)
				continue
			}
			if v := checker.Check(t.Context(), h, judging); !reflect.DeepEqual(v, p.Verdict) {
				t.Errorf("%s, %v: the verdict on the file is %s, in memory %s", design, p.Done[0].Text, v.Outcome, p.Verdict.Outcome)
			}
		}
	}
}

func TestAScheduleIsPlayedTheSameWayTwice(t *testing.T) {
	s := sceneOf(t, "redlock", Size{Workers: 3})
	for i, o := range play(t, s).Options {
		if i%50 != 0 {
			continue
		}
		if a, b := play(t, s, o), play(t, s, o); !reflect.DeepEqual(a, b) {
			t.Errorf("%v: two runs differ", a.Done[0].Text)
		}
	}
}

func TestAPlanThatDoesNotFitIsRefused(t *testing.T) {
	s := sceneOf(t, "redis-lock", Size{})
	last := play(t, s).Points
	for _, plan := range [][]sim.Placed{
		{{Point: last + 1, Deviation: sim.Deviation{Kind: sim.Crash}}},                            // beyond the end
		{{Point: 1, Deviation: sim.Deviation{Kind: sim.Evict}}},                                   // of a worker's step
		{{Point: 1, Deviation: sim.Deviation{Kind: sim.Freeze, Variant: 9}}},                      // there is no such freeze
		{{Point: 5, Deviation: sim.Deviation{}}, {Point: 4, Deviation: sim.Deviation{Kind: 200}}}, // out of order
	} {
		if _, err := s.Play(plan, false); !errors.Is(err, sim.ErrNoSuchDeviation) {
			t.Errorf("%v: error %v, want %v", plan, err, sim.ErrNoSuchDeviation)
		}
	}
}

func BenchmarkSchedule(b *testing.B) {
	for _, design := range []string{"redis-lock", "redlock", "row-lock", "fenced", "lua-stock"} {
		b.Run(design, func(b *testing.B) {
			s := sceneOf(b, design, Size{})
			used := cpuTime(b)
			for b.Loop() {
				p, err := s.Play(nil, false)
				if err != nil {
					b.Fatal(err)
				}
				p.forget()
			}
			b.ReportMetric(float64((cpuTime(b)-used).Microseconds())/float64(b.N), "cpu-µs/schedule")
		})
	}
}

// The page has a row for every kind.
func TestThePageHasEveryKind(t *testing.T) {
	page, err := os.ReadFile("../docs/exploring.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range sim.AllKinds {
		if row := "| `" + k.Name + "` | " + k.Does + " |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/exploring.md lacks %q", row)
		}
	}
}
