package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

func marksOf(of []band) string {
	var list []string
	for _, b := range of {
		list = append(list, fmt.Sprint(b.Mark))
	}
	return strings.Join(list, " ")
}

func TestFewBandsKeepsWhatViolationsName(t *testing.T) {
	all := make([]band, 10)
	for i := range all {
		all[i].Mark = i
	}
	for _, c := range []struct {
		most  int
		named map[int]bool
		want  string
	}{
		{10, nil, "0 1 2 3 4 5 6 7 8 9"},
		{9, nil, "1 2 3 4 5 6 7 8 9"},
		{5, nil, "1 3 5 7 9"},
		{3, map[int]bool{4: true}, "4 5 9"},
		{2, map[int]bool{4: true, 5: true, 6: true}, "4 5"},
		{0, map[int]bool{4: true}, ""},
	} {
		if got := marksOf(fewBands(all, c.named, c.most)); got != c.want {
			t.Errorf("%d with %v named: marks %s, want %s", c.most, c.named, got, c.want)
		}
	}
}

func TestFewNodesKeepsWhatViolationsConcern(t *testing.T) {
	all := []node{{Name: "redis-1"}, {Name: "redis-2"}, {Name: "redis-3"}, {Name: "redis-4"}}
	bands := []band{{Mark: 7, On: []string{"redis-3"}}, {Mark: 8, On: []string{"redis-4"}}}
	for most, want := range []string{"", "redis-4", "redis-3 redis-4", "redis-1 redis-3 redis-4", "redis-1 redis-2 redis-3 redis-4"} {
		var got []string
		for _, n := range fewNodes(all, bands, map[int]bool{8: true}, most) {
			got = append(got, n.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d lanes: %v, want %s", most, got, want)
		}
	}
}

func TestFewStatesSaysHowManyLanesItCut(t *testing.T) {
	nodes := []node{{States: make([]state, 2)}, {States: make([]state, 3)}}
	if cut := fewStates(nodes, 2); cut != 1 || len(nodes[0].States) != 2 || len(nodes[1].States) != 2 {
		t.Errorf("%d lanes cut, states %d and %d, want 1, 2 and 2", cut, len(nodes[0].States), len(nodes[1].States))
	}
}

// However many faults and servers a history has, its page stays small, shows
// the fault of its violation, and says what it left out.
func TestAPageOfVeryManyFaultsStaysSmall(t *testing.T) {
	r := shop(2000, 10, 1)
	h := *r.History
	h.Marks = nil
	const n = 30_000
	for i := range n {
		server := fmt.Sprintf("redis-%d", i)
		h.Marks = append(h.Marks, histories.Event{Time: int64(i), Process: histories.Nemesis, F: histories.Pause, Type: histories.Info, Targets: []string{server}},
			histories.Event{Time: int64(i), Process: histories.Nemesis, F: histories.Promoted, Type: histories.Info, Targets: []string{server}})
	}
	h.End = max(h.End, n)
	v := *r.Verdict
	v.Violations = []checker.Violation{{Property: checker.DoubleHold, Level: checker.LockLevel, Faults: []int{len(h.Marks) - 7}}}
	r.History, r.Verdict = &h, &v
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 3_000_000 {
		t.Errorf("%d bytes", b.Len())
	}
	page := b.String()
	server := h.Marks[len(h.Marks)-7].Targets[0]
	for _, want := range []string{"59,500 of 60,000 faults are not shown", "29,936 of 30,000 servers have no lane", `"name":"` + server + `"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}
