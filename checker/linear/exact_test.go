package linear

import (
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

// What the exact check of locks covers, and what it leaves to the search.
func TestWhatTheMutexCovers(t *testing.T) {
	lease, reentrant := histories.LockSpec{TTL: 100}, histories.LockSpec{Reentrant: true}
	const a, rel = histories.Acquire, histories.Release
	op := func(id int64, f string, outcome histories.Type, call, ret int64) *histories.Op {
		return &histories.Op{ID: id, F: f, Token: "t", Call: call, Return: ret, CallLine: int(2 * id), Outcome: outcome}
	}
	until := func(op *histories.Op, t int64) *histories.Op {
		op.Until = histories.N(t)
		return op
	}
	denied := op(2, rel, "fail", 5, 7)
	denied.Error = histories.NotOwner
	for name, c := range map[string]struct {
		spec    histories.LockSpec
		ops     []*histories.Op
		covered bool
		legal   bool
	}{
		"granted again after a release in doubt, inside the lease":     {lease, []*histories.Op{op(1, a, "ok", 0, 1), op(2, rel, "info", 5, 6), op(3, a, "ok", 8, 9)}, true, true},
		"granted again inside the lease, and nothing released it":      {lease, []*histories.Op{op(1, a, "ok", 0, 1), op(2, a, "ok", 8, 9), op(3, rel, "info", 50, 51)}, true, false},
		"granted again after a release in doubt, the lease over":       {lease, []*histories.Op{op(1, a, "ok", 0, 1), op(2, rel, "info", 5, 6), op(3, a, "ok", 98, 100)}, true, true},
		"granted again just before the lease is over":                  {lease, []*histories.Op{op(1, a, "ok", 0, 1), op(2, rel, "info", 5, 6), op(3, a, "ok", 98, 99)}, true, true},
		"nested grants that end at different times":                    {reentrant, []*histories.Op{until(op(1, a, "ok", 0, 1), 50), until(op(2, a, "ok", 2, 3), 60), op(3, rel, "ok", 5, 6), op(4, rel, "ok", 7, 8)}, true, true},
		"two grants that end at different times, of which one is left": {lease, []*histories.Op{until(op(1, a, "ok", 0, 1), 50), until(op(2, a, "ok", 102, 103), 160), op(3, rel, "ok", 105, 106)}, true, true},
		"two grants that end together, of which one is left":           {lease, []*histories.Op{op(1, a, "ok", 0, 1), op(2, a, "ok", 102, 103), op(3, rel, "ok", 105, 106)}, true, true},
		"refused before its own grant was answered":                    {histories.LockSpec{}, []*histories.Op{op(1, a, "ok", 0, 10), denied}, true, true},
	} {
		got, uncovered := Lock(c.ops, c.spec, nil)
		if (uncovered == nil) != c.covered || c.covered && (got == nil) != c.legal {
			t.Errorf("%s: found %+v, not covered %v; want covered %v, legal %v", name, got, uncovered, c.covered, c.legal)
		}
		if c.covered && bruteLock(c.ops, c.spec, orUntil(nil)) != c.legal {
			t.Errorf("%s: the brute force does not say legal %v", name, c.legal)
		}
	}
}

// A contradiction that stands whatever else was sold does so also where a sell
// that tells nothing has no room in one piece.
func TestASellMayComeInPiecesAroundAnother(t *testing.T) {
	sell := func(id, call, ret, qty int64) *histories.Op {
		return &histories.Op{ID: id, F: histories.Sell, Call: call, Return: ret, CallLine: int(id), Outcome: histories.OK, Qty: qty}
	}
	claim := sell(1, 0, 20, 1)
	claim.Left = histories.N(2)
	if contradicts([]*histories.Op{claim, sell(2, 1, 10, 3)}, 5) {
		t.Error("3 units of 5 do not fit around 1, when others may have been sold")
	}
	if !contradicts([]*histories.Op{claim, sell(2, 1, 10, 5)}, 5) {
		t.Error("5 units of 5 fit beside 1")
	}
}

// Every word of an operation that a picture shows.
func TestAnOperationInAPicture(t *testing.T) {
	for want, op := range map[string]histories.Op{
		"op 7: sell 3 → fail, seen 2, sold-out": {ID: 7, F: histories.Sell, Qty: 3, Outcome: histories.Fail, Seen: histories.N(2), Error: "sold-out"},
		"op 8: sell → ok, left 1":               {ID: 8, F: histories.Sell, Qty: 1, Outcome: histories.OK, Left: histories.N(1)},
		"op 9: read → unknown":                  {ID: 9, F: histories.Read, Qty: 1, Outcome: histories.Info},
		"op 4: acquire → ok, number 6":          {ID: 4, F: histories.Acquire, Outcome: histories.OK, Fence: histories.N(6)},
	} {
		if got := describe(&op); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What was answered after a contradiction came up says nothing about it.
func TestUnitsThatVanished(t *testing.T) {
	read := func(id, call, value int64) *histories.Op {
		return &histories.Op{ID: id, F: histories.Read, Call: call, Return: call + 1, CallLine: int(id), Outcome: histories.OK, Qty: 1, Value: histories.N(value)}
	}
	c := &Contradiction{To: 11}
	if !unitsVanished([]*histories.Op{read(1, 10, 3), read(2, 20, 5)}, 5, c) {
		t.Error("3 of 5 were there, and no sell that nobody recorded would explain it")
	}
	if unitsVanished([]*histories.Op{read(1, 2, 3), read(2, 10, 5)}, 5, c) {
		t.Error("3 of 5 were there and then 5, and sells that nobody recorded would explain it")
	}
}

// Two sells of two units that say nothing do not fit beside one unit in the midst.
func TestALooseSellNeedsRoomInOnePiece(t *testing.T) {
	sell := func(id, qty int64) *histories.Op {
		return &histories.Op{ID: id, F: histories.Sell, Call: 0, Return: 10, CallLine: int(id), Outcome: histories.OK, Qty: qty}
	}
	for left, legal := range map[int64]bool{0: true, 1: false, 2: true, 3: false, 4: true} {
		claim := sell(1, 1)
		claim.Left = histories.N(left)
		ops := []*histories.Op{claim, sell(2, 2), sell(3, 2)}
		if c, err := Stock(ops, 5, MaxSteps); err != nil || (c == nil) != legal || bruteStock(ops, 5) != legal {
			t.Errorf("left %d: %+v, %v; want legal %v", left, c, err, legal)
		}
	}
}
