package run

import (
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

// A worker that was started again is waited for, and one that was told "busy"
// has not made its last attempt yet.
func TestTallyOfLastAttempts(t *testing.T) {
	var c tally
	mark := func(f string) {
		c.see(histories.Event{F: f, Targets: []string{"worker-4", "worker-5"}, Process: histories.Nemesis})
	}
	mark(histories.Kill)
	if !c.dead(5) || c.dead(3) {
		t.Error("of the workers of a killed host, or of another, the wrong ones are dead")
	}
	mark(histories.Start)
	if c.dead(5) {
		t.Error("a worker that was started again is dead")
	}
	sell := func(op int64, typ histories.Type, err string) {
		c.see(histories.Event{F: histories.Sell, Op: op, Type: histories.Invoke, Final: true})
		c.see(histories.Event{F: histories.Sell, Op: op, Type: typ, Error: err})
	}
	sell(1, histories.Fail, histories.Busy)
	if n := c.finals(); n != 0 {
		t.Errorf("%d last attempts ended by a busy lock", n)
	}
	sell(2, histories.Fail, histories.SoldOut)
	sell(3, histories.OK, "")
	if n := c.finals(); n != 2 {
		t.Errorf("%d last attempts ended, want 2", n)
	}
}
