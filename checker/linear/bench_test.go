package linear

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/checker/internal/sample"
	"github.com/lockcheck/lockcheck/histories"
)

// partsOf hands each key's operations over as Check does.
func partsOf(ops []histories.Op) map[string][]*histories.Op {
	keys := map[string][]*histories.Op{}
	sorted := pointers(ops)
	for _, op := range sorted {
		keys[op.Key] = append(keys[op.Key], op)
	}
	return keys
}

func pointers(ops []histories.Op) []*histories.Op {
	out := make([]*histories.Op, len(ops))
	for i := range ops {
		out[i] = &ops[i]
	}
	return finish(out)
}

var lease = histories.LockSpec{TTL: 10 * time.Second}

// BenchmarkExact shows how the exact checks grow: from 10⁵ to 10⁶ operations
// by less than 12 times, on one key and on a hundred.
func BenchmarkExact(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		for _, keys := range []int{1, 100} {
			big := sample.Large{Ops: n, Workers: 50, Keys: keys, Unknown: 5, Told: true}
			b.Run(fmt.Sprintf("lock/ops=%d/keys=%d", n, keys), func(b *testing.B) {
				parts := partsOf(big.Locks())
				for b.Loop() {
					for _, ops := range parts {
						if c, covered := Lock(ops, lease, nil); c != nil || covered != nil {
							b.Fatal(c, covered)
						}
					}
				}
			})
			b.Run(fmt.Sprintf("stock/ops=%d/keys=%d", n, keys), func(b *testing.B) {
				parts := partsOf(big.Sales())
				for b.Loop() {
					for _, ops := range parts {
						if c, covered := Stock(ops, int64(n), MaxSteps); c != nil || covered != nil {
							b.Fatal(c, covered)
						}
					}
				}
			})
		}
	}
}

// BenchmarkSideBySide decides 10⁵ lock operations on one key with the exact
// check and with porcupine.
func BenchmarkSideBySide(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		ops := pointers(sample.Large{Ops: n, Workers: 50, Keys: 1}.Locks())
		b.Run(fmt.Sprintf("ops=%d/exact", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c, covered := Lock(ops, histories.LockSpec{}, nil); c != nil || covered != nil {
					b.Fatal(c, covered)
				}
			}
		})
		b.Run(fmt.Sprintf("ops=%d/porcupine", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, why := lockSearch(ops, histories.LockSpec{}, nil).run(Bounds{}); got != Legal {
					b.Fatal(got, why)
				}
			}
		})
	}
}

// oneViolation breaks a history of 10³ operations at 90 %.
type oneViolation struct {
	name  string
	stock bool
	ops   []*histories.Op
	first int64 // the operations that the contradiction is about
	last  int64
}

func oneViolations() []oneViolation {
	var out []oneViolation
	for _, try := range []bool{false, true} {
		ops := pointers(sample.Large{Ops: 1000, Workers: 50, Keys: 1, TryLock: try}.Locks())
		v := oneViolation{name: "lock", ops: ops}
		if try {
			v.name = "try-lock"
		}
		var grants []*histories.Op
		for _, op := range ops[:900] {
			if op.F == histories.Acquire && op.Outcome == histories.OK {
				grants = append(grants, op)
			}
		}
		slices.SortFunc(grants, func(a, b *histories.Op) int { return cmp.Compare(a.Return, b.Return) })
		a, b := grants[len(grants)-2], grants[len(grants)-1]
		b.Call, b.Return = a.Return, a.Return+1 // granted while the one before is in force
		v.first, v.last = a.ID, b.ID
		v.ops = finish(ops)
		out = append(out, v)
	}
	for _, told := range []bool{true, false} {
		ops := pointers(sample.Large{Ops: 1000, Workers: 50, Keys: 1, Told: told}.Sales())
		v := oneViolation{name: "stock without remaining", stock: true, ops: ops}
		at := ops[900]
		if told {
			v.name = "stock with remaining"
			other := ops[880+slices.IndexFunc(ops[880:], claims)]
			*at = histories.Op{ID: at.ID, Process: at.Process, F: histories.Sell, Qty: 1, Call: at.Call, Return: at.Return, Outcome: histories.OK, Left: other.Left}
			v.first, v.last = other.ID, at.ID
		} else {
			at.F, at.Value = histories.Read, histories.N(999) // long gone
			v.first, v.last = at.ID, at.ID
		}
		out = append(out, v)
	}
	return out
}

func (v oneViolation) find() (*Contradiction, error) {
	if v.stock {
		return Stock(v.ops, 1000, MaxSteps)
	}
	return Lock(v.ops, lease, nil)
}

func TestOneViolationIsNamed(t *testing.T) {
	for _, v := range oneViolations() {
		t.Run(v.name, func(t *testing.T) {
			c, covered := v.find()
			if c == nil || covered != nil {
				t.Fatalf("not found: %v", covered)
			}
			if !slices.Contains(c.Ops, v.first) || !slices.Contains(c.Ops, v.last) || len(c.Ops) > 6 {
				t.Errorf("evidence %v, want few operations with %d and %d: %s", c.Ops, v.first, v.last, c.Why)
			}
		})
	}
}

// BenchmarkOneViolation finds one violation at 90 % of 10³ operations of 50
// workers; porcupine takes over a minute on most of them.
func BenchmarkOneViolation(b *testing.B) {
	for _, v := range oneViolations() {
		b.Run(v.name, func(b *testing.B) {
			for b.Loop() {
				if c, _ := v.find(); c == nil {
					b.Fatal("not found")
				}
			}
		})
	}
}

// unknownSells is a key with n sells of unknown outcome among n that are known.
func unknownSells(n int) []*histories.Op {
	var ops []histories.Op
	left := int64(2 * n)
	for i := range int64(2 * n) {
		op := histories.Op{ID: i + 1, Process: histories.Process(i % 50), F: histories.Sell, Qty: 1, Call: 10 * i, Return: 10*i + 25, Outcome: histories.OK}
		switch {
		case i%2 == 0:
			op.Outcome, op.Return = histories.Info, histories.Never
			left -= i / 2 % 2 // every other one acted
		case i%10 == 9:
			op.F, op.Value = histories.Read, histories.N(left)
		default:
			left--
		}
		ops = append(ops, op)
	}
	return pointers(ops)
}

func TestTenThousandUnknownSellsAreDecided(t *testing.T) {
	ops := unknownSells(10_000)
	if c, covered := Stock(ops, 20_000, MaxSteps); c != nil || covered != nil {
		t.Errorf("a legal history: %v, %v", c, covered)
	}
	late := ops[len(ops)-11]
	if late.F != histories.Read {
		t.Fatalf("op %d is a %s", late.ID, late.F)
	}
	late.Value.N += 5000 // fewer sold than were known to be
	c, covered := Stock(ops, 20_000, MaxSteps)
	if c == nil || covered != nil || !slices.Contains(c.Ops, late.ID) {
		t.Errorf("op %d saw units that were sold: %v, %v", late.ID, c, covered)
	}
}

func TestAMillionOpenOperationsEndInAVerdict(t *testing.T) {
	n := min(5*(*smallHistories), 1_000_000)
	ops := make([]histories.Op, n)
	for i := range ops {
		ops[i] = histories.Op{ID: int64(i + 1), Process: histories.Process(i), F: histories.Acquire, Qty: 1, Call: int64(i), Return: histories.Never, Outcome: histories.Info}
	}
	if c, covered := Lock(pointers(ops), lease, nil); c != nil || covered != nil {
		t.Errorf("open acquires: %v, %v", c, covered)
	}
	for i := range ops {
		ops[i].F, ops[i].Qty = histories.Sell, int64(1+i%3)
	}
	last := histories.Op{ID: int64(n + 1), F: histories.Read, Qty: 1, Call: int64(n), Return: int64(n + 1), Outcome: histories.OK, Value: histories.N(5)}
	if c, covered := Stock(append(pointers(ops), &last), 10, MaxSteps); c != nil {
		t.Errorf("open sells: %v, %v", c, covered)
	}
}
