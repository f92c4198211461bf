package checker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lockcheck/lockcheck/histories"
)

func TestHoldsSayWhenAndWhyABeliefEnded(t *testing.T) {
	op := func(id int64, p histories.Process, f string, call, ret int64, until histories.Num) histories.Op {
		return histories.Op{ID: id, Process: p, F: f, Key: "k", Call: call, Return: ret, Outcome: histories.OK, Qty: 1, Until: until}
	}
	h := &histories.History{
		Header: histories.Header{Lock: histories.LockSpec{TTL: time.Second}},
		Ops: []histories.Op{
			op(1, 0, histories.Acquire, 0, 2, histories.Num{}), op(2, 0, histories.Release, 10, 12, histories.Num{}),
			op(3, 1, histories.Acquire, 20, 22, histories.N(30)), op(4, 2, histories.Acquire, 40, 41, histories.Num{}),
		},
		End: 50,
	}
	type row struct {
		Op, From, To int64
		End          string
		Released     bool
	}
	var got []row
	for _, b := range Holds(h) {
		got = append(got, row{b.Acquire.ID, b.From, b.To, b.End, b.Released()})
	}
	want := []row{
		{1, 2, 10, "released", true},
		{3, 22, 30, "its own deadline passed", false},
		{4, 41, 50, "held to the end of the run", false},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	h.Header.Lock.None = true
	if n := len(Holds(h)); n != 0 {
		t.Errorf("a design without a lock has %d holds", n)
	}
}
