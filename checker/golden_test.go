package checker

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories/corpus"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The expect of a history names who is to blame. This has all the rest of the
// verdict: words, times, evidence, faults, measures and counts. Read the
// difference before you accept it.
func TestVerdictsOfTheCorpusToTheWord(t *testing.T) {
	const golden = "testdata/corpus.golden"
	names, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%s\n%s\n", name, toTheWord(Check(context.Background(), readCorpus(t, name), Options{})))
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("verdicts differ (-want +got; -update accepts them):\n%s", diff)
	}
}

func toTheWord(v *Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s %s %s\n  %+v\n", v.Outcome, v.Reason, v.Advice, v.Counts)
	if v.Zombie != nil {
		fmt.Fprintf(&b, "  zombie time %+v\n", *v.Zombie)
	}
	for _, x := range v.Violations {
		fmt.Fprintf(&b, "  %s: %s\n    of %s by %v, ops %v, %d to %d, %d units, orders %v, evidence %v, faults %v\n    cause %q: %s\n",
			x.Property, x.Summary, x.Key, x.Workers, x.Ops, x.From, x.To, x.Units, x.Orders, x.Evidence, x.Faults, x.Cause, x.Because)
	}
	var unseen []Property
	for _, res := range v.Results {
		switch res.Outcome {
		case NotLooked:
			unseen = append(unseen, res.Property)
		case Valid:
		default:
			fmt.Fprintf(&b, "  = %s %s %d (%s) %s\n", res.Property, res.Outcome, res.Count, res.Method, res.Reason)
		}
	}
	fmt.Fprintf(&b, "  not looked at: %v\n", unseen)
	for _, w := range v.Warnings {
		fmt.Fprintf(&b, "  warning %s: %s\n", w.Word, w.Text)
	}
	for _, note := range v.Notes {
		fmt.Fprintf(&b, "  note: %s\n", note)
	}
	return b.String()
}
