package workload

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tables of the README have every design, and a mark at those that claim to
// sell right: a mark that means less is read as "use this" all the same.
func TestTheReadmeListsEveryDesignWithItsMark(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)`( ✓)? \\| ").FindAllStringSubmatch(string(text), -1) {
		if _, ok := Find(m[1]); ok && m[1] != "none" {
			got[m[1]] = m[2] != ""
		}
	}
	want := map[string]bool{}
	for _, d := range Designs() {
		if d.Name != "none" { // a nemesis has that name too
			want[d.Name] = d.SellsRight()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("designs and their marks (-want +got):\n%s", diff)
	}
}
