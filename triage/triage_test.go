package triage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// drawn is a file of some parts, several of which may be the same work.
func drawn(r *rand.Rand) (f File) {
	for range r.IntN(4) {
		p := Part{Design: one(r, "a", "b"), Nemesis: one(r, "pause", "loss"), Seed: 1, Runs: 100, Shard: fmt.Sprintf("%d/3", 1+r.IntN(3)), Tried: 33 + r.IntN(2), CPU: float64(r.IntN(3))}
		for range r.IntN(6) {
			s := Signature{Level: checker.LockLevel, Property: one(r, checker.DoubleHold, checker.StuckLock), Faults: one(r, "", "kill")}
			p.Add(s, Best{Seed: r.Uint64N(9), At: r.Int64N(3), Summary: one(r, "x", "y")})
		}
		f.Parts = append(f.Parts, p)
	}
	f.Night = r.IntN(3)
	for range r.IntN(3) {
		s := Seen{Night: r.IntN(3), Seed: r.Uint64N(3)}
		f.Known = append(f.Known, Known{Design: one(r, "a", "b"), Signature: Signature{Property: one(r, checker.DoubleHold, checker.StuckLock)}, First: s, Last: s})
	}
	return f
}

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func written(t *testing.T, f File) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMergeIsAssociativeCommutativeAndTakesAPartOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		a, b, c := drawn(r), drawn(r), drawn(r)
		want := written(t, Merge(a, b, c))
		for name, got := range map[string]File{
			"(a b) c": Merge(Merge(a, b), c), "a (b c)": Merge(a, Merge(b, c)), "c b a": Merge(c, b, a), "a b c b": Merge(a, b, c, b),
		} {
			if got := written(t, got); got != want {
				t.Fatalf("%s:\n%s\nwant\n%s", name, got, want)
			}
		}
	}
}

func TestTheResultWithMoreRunsIsKept(t *testing.T) {
	short, whole := Part{Design: "a", Runs: 10, Tried: 4, CPU: 0.1}, Part{Design: "a", Runs: 10, Tried: 10, CPU: 9}
	if m := Merge(File{Parts: []Part{short}}, File{Parts: []Part{whole}}); len(m.Parts) != 1 || m.Parts[0].Tried != 10 {
		t.Errorf("kept %+v", m.Parts)
	}
	other := whole
	other.Version = "2"
	if m := Merge(File{Parts: []Part{whole, other}}); len(m.Parts) != 2 {
		t.Errorf("results of two versions became one: %+v", m.Parts)
	}
}

// night has the findings of one night.
func night(properties ...checker.Property) File {
	p := Part{Design: "a", Nemesis: "loss", Version: "v1", Runs: 10, Tried: 10}
	for i, property := range properties {
		p.Add(Signature{Property: property}, Best{Seed: uint64(i) + 1, Summary: "s"})
	}
	return File{Parts: []Part{p}}
}

func TestWhatBecameOfAFindingOverNights(t *testing.T) {
	last := File{}
	for i, c := range []struct {
		found []checker.Property
		want  map[checker.Property]State
	}{
		{[]checker.Property{checker.DoubleHold}, map[checker.Property]State{checker.DoubleHold: New}},
		{[]checker.Property{checker.StuckLock, checker.DoubleHold}, map[checker.Property]State{checker.DoubleHold: Ongoing, checker.StuckLock: New}},
		{[]checker.Property{checker.DoubleHold}, map[checker.Property]State{checker.DoubleHold: Ongoing, checker.StuckLock: Gone}},
		{[]checker.Property{checker.DoubleHold}, map[checker.Property]State{checker.DoubleHold: Ongoing}},
		{[]checker.Property{checker.StuckLock}, map[checker.Property]State{checker.DoubleHold: Gone, checker.StuckLock: Back}},
	} {
		var all []Total
		last, all = night(c.found...).Since(last)
		if len(all) != len(c.want) {
			t.Errorf("night %d: %d findings, want %d", i+1, len(all), len(c.want))
		}
		for _, f := range all {
			if f.State != c.want[f.Signature.Property] {
				t.Errorf("night %d: %s is %q, want %q", i+1, f.Signature.Property, f.State, c.want[f.Signature.Property])
			}
			if f.Signature.Property == checker.StuckLock && (f.First.Night != 2 || f.First.Seed != 1 || f.First.Version != "v1" || f.First.Rate != 0.1) {
				t.Errorf("night %d: first seen %+v", i+1, f.First)
			}
		}
	}
}

func TestASignatureHasRolesAndNoNames(t *testing.T) {
	h := func(first, second histories.Process) *histories.History {
		return &histories.History{
			Ops: []histories.Op{
				{ID: 1, Process: first, F: histories.Acquire, Outcome: histories.OK},
				{ID: 2, Process: second, F: histories.Acquire, Outcome: histories.OK},
				{ID: 3, Process: first, F: histories.Release, Outcome: histories.Fail},
			},
			Marks: []histories.Event{
				{F: histories.Pause, Fault: &histories.Fault{F: histories.Pause}},
				{F: histories.Resume, Fault: &histories.Fault{F: histories.Resume}},
				{F: histories.Promoted},
			},
		}
	}
	v := checker.Violation{Level: checker.LockLevel, Property: checker.DoubleHold, Evidence: []int64{1, 3, 2, 9}, Faults: []int{0, 1, 2, 7}}
	want := Signature{Level: checker.LockLevel, Property: checker.DoubleHold, Skeleton: "A acquire ok, A release fail, B acquire ok", Faults: "pause+promoted"}
	if got := Of(h(4, 7), v); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Of(h(1, 0), v); got != want {
		t.Errorf("other workers: %+v", got)
	}
	if got := Of(h(2, 2), v); got == want {
		t.Errorf("one worker is two: %+v", got)
	}
}

func TestAFileThatIsNone(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `{"format":"lockcheck-findings/2"}`,
		`{"format":"lockcheck-findings/1","parts":[{"runs":1,"tried":2,"findings":[{"count":1,"best":[{}]}]}]}`,
		`{"format":"lockcheck-findings/1","parts":[{"runs":1,"tried":1,"findings":[{"count":1,"best":[]}]}]}`,
	} {
		if f, err := Read(bytes.NewReader([]byte(text))); err == nil {
			t.Errorf("%s: read as %+v", text, f)
		}
	}
}
