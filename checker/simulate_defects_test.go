package checker

import (
	"context"
	"slices"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

// What went wrong in a world is found, and nothing else is called wrong: the
// culprits are among the operations that the world knows to be at fault.
func TestDefectsAreFoundAndTheirCulpritsBlamed(t *testing.T) {
	for _, c := range []struct {
		defect   defect
		property Property
		change   func(*simulation)
		// excused properties may be broken as a consequence.
		excused []Property
		// blames: the culprits must be operations at fault.
		blames bool
		// least is the share of worlds, in per cent, in which the defect must
		// be found, of those that it struck.
		least int
	}{
		{grantsTwice, DoubleHold, nil, []Property{LockNotLinearizable, FenceRegression, ForeignRelease, LeaseLost}, false, 60},
		{deletesAny, ForeignRelease, func(s *simulation) { s.paused, s.longWork = 10, 40 }, []Property{DoubleHold, LockNotLinearizable}, true, 20},
		{takesAnew, LeaseGap, func(s *simulation) { s.paused, s.renew = 20, true }, []Property{DoubleHold, LockNotLinearizable, ForeignRelease}, true, 20},
		{neverFrees, StuckLock, func(s *simulation) { s.killed, s.lost, s.sells = 0, 0, 150 }, []Property{LockNotLinearizable}, false, 90},
		{repeatsFence, FenceRegression, nil, []Property{LockNotLinearizable}, true, 60},
		{looksAtNone, StaleWrite, func(s *simulation) { s.longWork = 40; s.renew = false }, nil, false, 0},
		{sellsTooMuch, Oversell, func(s *simulation) { s.stock = 3 }, []Property{StockNotLinearizable}, false, 0},
		{takesTwice, StockMismatch, nil, []Property{StockNotLinearizable}, false, 50},
		{writesTwice, DuplicateOrder, nil, []Property{StockNotLinearizable}, false, 100},
		{forgets, StockMismatch, nil, []Property{StockNotLinearizable}, false, 50},
	} {
		t.Run(string(c.defect), func(t *testing.T) {
			struck, found := 0, 0
			for seed := range uint64(*worlds) {
				s := usual(seed)
				s.defect = c.defect
				if c.change != nil {
					c.change(&s)
				}
				h, w := s.run()
				v := Check(context.Background(), h, Options{RecheckTime: -1, MaxListed: 1000})
				for _, x := range v.Violations {
					if x.Property != c.property && !slices.Contains(c.excused, x.Property) {
						t.Fatalf("world %d: unexpected:\n%s", seed, told(v))
					}
					if x.Property == c.property && c.blames && w.truth[x.Ops[0]] != c.defect {
						t.Fatalf("world %d: op %d is blamed, and did nothing wrong:\n%s", seed, x.Ops[0], told(v))
					}
				}
				struck += one(len(w.truth) > 0)
				found += one(breaks(v, c.property))
				if truth, known := w.broken(c.property, h); known && truth != breaks(v, c.property) {
					t.Fatalf("world %d: %s is broken: %v, and the verdict says:\n%s", seed, c.property, truth, told(v))
				}
			}
			if found == 0 || struck >= 10 && found*100 < struck*c.least {
				t.Errorf("found in %d worlds, of %d that were struck", found, struck)
			}
			t.Logf("found in %d worlds, of %d that were struck", found, struck)
		})
	}
}

func breaks(v *Verdict, p Property) bool {
	return slices.ContainsFunc(v.Violations, func(x Violation) bool { return x.Property == p })
}

// broken is whether a property is really broken, where a world can tell.
func (w *testWorld) broken(p Property, h *histories.History) (broken, known bool) {
	switch p {
	case Oversell:
		for key := range w.left {
			if int64(len(w.orders[key])) > w.stock {
				return true, true
			}
		}
		return false, true
	case DuplicateOrder:
		return len(w.truth) > 0, true
	}
	return false, false
}
