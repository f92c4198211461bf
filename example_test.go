package lockcheck_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck"
	"github.com/lockcheck/lockcheck/workload"
)

// In a test of your own module t is its *testing.T; this one prints the first line
// of what it is told.
func ExampleTest() {
	design, _ := workload.Find("del-any")        // its release deletes whatever is there
	design.Claims = nil                          // and it promises to hold
	design.Defaults.TimeLimit = 10 * time.Second // of each run
	lockcheck.Test(printer{}, design, "none", "pause")
	// Output:
	// del-any under pause, seed 1:
}

type printer struct{}

func (printer) Context() context.Context { return context.Background() }
func (printer) Helper()                  {}
func (printer) Errorf(format string, args ...any) {
	line, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	fmt.Println(line)
}

// told is a T that keeps what it is told.
type told struct {
	testing.TB
	errors []string
}

func (t *told) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

func TestWhatTestSays(t *testing.T) {
	good, _ := workload.Find("conditional-update")
	good.Defaults.TimeLimit = 10 * time.Second
	bad, _ := workload.Find("del-any")
	bad.Defaults.TimeLimit = 10 * time.Second
	if !bad.KnownBad {
		t.Fatal("del-any is not known to be bad")
	}
	for _, c := range []struct {
		name    string
		design  workload.Design
		nemesis string
		want    string // in the only error; "": none
	}{
		{"a design that holds", good, "pause", ""},
		{"what breaks as it claims to", bad, "pause", ""},
		{"a nemesis that its servers cannot have", good, "failover", "has no replica"},
		{"a nemesis that does not exist", good, "flood", "flood"},
		{"a design without a name", workload.Design{Sale: good.Sale}, "none", "want a name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := &told{TB: t}
			lockcheck.Test(got, c.design, c.nemesis)
			if c.want == "" && len(got.errors) > 0 || c.want != "" && (len(got.errors) != 1 || !strings.Contains(got.errors[0], c.want)) {
				t.Errorf("told %q, want %q", got.errors, c.want)
			}
		})
	}
}
