package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/histories/corpus"
)

// Every history of the corpus gets exactly the verdict that its header
// expects: these properties and no others, and these culprits.
func TestCorpusGetsItsExpectedVerdicts(t *testing.T) {
	names, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 30 {
		t.Fatalf("only %d histories in the corpus", len(names))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			h := readCorpus(t, name)
			v := Check(context.Background(), h, Options{})
			if diff := cmp.Diff(h.Header.Expect, blamed(v)); diff != "" {
				t.Errorf("expected and blamed differ (-want +got):\n%s%s", diff, told(v))
			}
			t.Log(told(v))
		})
	}
}

// Each property has a smallest history that keeps it and one that breaks it.
func TestCorpusHasBothSidesOfEveryProperty(t *testing.T) {
	for _, p := range Properties {
		accepted := readCorpus(t, "properties/"+string(p.Name)+"-accepted.jsonl")
		rejected := readCorpus(t, "properties/"+string(p.Name)+"-rejected.jsonl")
		if _, ok := rejected.Header.Expect[string(p.Name)]; !ok || accepted.Header.Expect["verdict"] != "valid" {
			t.Errorf("%s: expects %v and %v", p.Name, accepted.Header.Expect, rejected.Header.Expect)
		}
	}
}

func readCorpus(t *testing.T, name string) *histories.History {
	t.Helper()
	f, err := corpus.Files.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := histories.ReadJSON(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return h
}

// blamed is a verdict in the form of a header's expect.
func blamed(v *Verdict) map[string]string {
	out := map[string]string{}
	for _, x := range v.Violations {
		names := x.Orders
		if x.Property != DuplicateOrder {
			names = nil
			for _, id := range x.Ops {
				names = append(names, fmt.Sprint(id))
			}
		}
		if old := out[string(x.Property)]; old != "" {
			names = slices.Concat([]string{old}, names)
		}
		out[string(x.Property)] = strings.Join(names, ",")
	}
	if len(out) == 0 {
		out["verdict"] = string(v.Outcome)
	}
	return out
}

func told(v *Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", v.Outcome, v.Reason)
	for _, x := range v.Violations {
		fmt.Fprintf(&b, "  %s: %s [ops %v, evidence %v, faults %v]\n      cause: %s: %s\n", x.Property, x.Summary, x.Ops, x.Evidence, x.Faults, x.Cause, x.Because)
	}
	for _, res := range v.Results {
		if res.Outcome != Valid {
			fmt.Fprintf(&b, "  = %s %s %d (%s) %s\n", res.Property, res.Outcome, res.Count, res.Method, res.Reason)
		}
	}
	fmt.Fprintf(&b, "  %v %v", v.Warnings, v.Notes)
	return b.String()
}

// A lock whose owner is the same each time, as a host's name is, needs no search:
// neither where a lease was lost nor where it was shared.
func TestTokensThatComeAgainAreDecidedExactly(t *testing.T) {
	for name, want := range map[string]Outcome{"tricky/one-owner-lease-lost.jsonl": Valid, "tricky/one-owner-lease-shared.jsonl": Invalid} {
		v := Check(t.Context(), readCorpus(t, name), Options{})
		if r := v.Results[LockNotLinearizable.rank()]; r.Outcome != want || r.Method != "exact" {
			t.Errorf("%s: %s by %q, want %s by the exact check (%s)", name, r.Outcome, r.Method, want, r.Reason)
		}
	}
}
