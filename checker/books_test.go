package checker

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

// smallHistories is how many random histories of shops are tried; CI tries fewer
// than -histories=1000000.
var smallHistories = flag.Int("histories", 20_000, "random histories of shops")

// shop is one that does everything right, by itself: stock and orders change
// together, an order is taken once, and what is refused has no effect. Its
// customers retry, cancel, give up, and name no order; some of its workers hang in
// the midst of a sale; its auditor looks when it likes.
type shop struct {
	*rand.Rand
	*story
	stock  int64
	orders []histories.Order
	rows   string // of sells without an order id: "none", "nameless", "named"
	steps  []shopStep
}

type shopStep struct {
	at int64
	do func()
}

// No history of such a shop is called a violation, whenever it was audited.
func TestBooksRaiseNoFalseAlarm(t *testing.T) {
	for seed := range uint64(*smallHistories) {
		s := shop{Rand: rand.New(rand.NewPCG(seed, 1)), story: tell(histories.LockSpec{None: true})}
		s.open()
		if v := s.check(); len(v.Violations) > 0 {
			for _, op := range s.h.Ops {
				t.Logf("%d %s %s [%d, %d] qty %d whole %t order %q replay %t left %s", op.ID, op.F, op.Outcome, op.Call/ms, op.Return/ms, op.Qty, op.Whole, op.Order, op.Replay, op.Left)
			}
			t.Fatalf("seed %d, %d units, audits %+v:\n%s", seed, s.h.Header.Initial, s.h.Audits, told(v))
		}
	}
}

// Where nothing is in doubt, one unit more or less in the stock is a mismatch.
func TestBooksMissNoUnit(t *testing.T) {
	tried := 0
	for seed := range uint64(*smallHistories) {
		s := shop{Rand: rand.New(rand.NewPCG(seed, 2)), story: tell(histories.LockSpec{None: true})}
		s.open()
		last := &s.h.Audits[len(s.h.Audits)-1]
		if slices.ContainsFunc(s.h.Ops, func(op histories.Op) bool {
			return op.Outcome == histories.Info || op.Return >= last.Time || op.F == histories.Cancel && op.Outcome == histories.OK && s.h.Header.Design == ""
		}) {
			continue
		}
		tried++
		last.Value.N += 1 - 2*s.Int64N(2)
		if _, broken := blamed(s.check())[string(StockMismatch)]; !broken {
			for _, op := range s.h.Ops {
				t.Logf("%d %s %s [%d, %d] qty %d order %q", op.ID, op.F, op.Outcome, op.Call/ms, op.Return/ms, op.Qty, op.Order)
			}
			t.Fatalf("seed %d, %d units, audits %+v: no mismatch", seed, s.h.Header.Initial, s.h.Audits)
		}
	}
	if tried < 100 {
		t.Errorf("only %d histories without doubt", tried)
	}
}

// open plans the operations and the audits of a day and lets it pass.
func (s *shop) open() {
	s.stock = s.Int64N(12)
	s.h.Header.Initial = s.stock
	s.rows = []string{"none", "nameless", "named"}[s.IntN(3)]
	lists := s.IntN(3) > 0
	for range 2 + s.IntN(8) {
		s.plan()
	}
	for range 1 + s.IntN(2) {
		at := s.Int64N(160)
		s.steps = append(s.steps, shopStep{at, func() {
			s.audit(at, s.stock)
			if e := &s.h.Audits[len(s.h.Audits)-1]; lists {
				e.Orders = slices.Clone(s.orders)
			}
		}})
	}
	slices.SortStableFunc(s.steps, func(a, b shopStep) int { return cmp.Compare(a.at, b.at) })
	for _, step := range s.steps {
		step.do()
	}
	if lists {
		s.h.Header.Design = "right"
	}
}

// plan plans one operation. It acts at one moment between call and return; of
// unknown outcome, perhaps never, or half.
func (s *shop) plan() {
	call, last := s.Int64N(100), 1+s.Int64N(40)
	op := histories.Op{
		ID: int64(len(s.h.Ops) + 1), CallLine: len(s.h.Ops) + 1, Process: histories.Process(len(s.h.Ops)),
		F: histories.Sell, Key: "sku-1", Call: call * ms, Return: (call + last) * ms, Qty: 1 + s.Int64N(3), Outcome: histories.Info,
	}
	if s.IntN(4) > 0 {
		op.Order = fmt.Sprint("o", s.IntN(4))
	}
	switch s.IntN(6) {
	case 0:
		op.F, op.Order = histories.Restock, ""
	case 1:
		if op.Order != "" {
			op.F, op.Qty, op.Whole = histories.Cancel, 1, true
		}
	}
	known, happens, half := s.IntN(4) > 0, s.IntN(3) > 0, s.IntN(4) == 0
	if half && !known && op.F == histories.Sell {
		// Retried, it would take its units twice: that is a violation. So it is if it never
		// takes the other half, which is in doubt while its worker has not come back.
		op.Order, op.Return = fmt.Sprint("half ", op.ID), histories.Never
	}
	at := len(s.h.Ops)
	s.h.Ops = append(s.h.Ops, op)
	s.steps = append(s.steps, shopStep{call + s.Int64N(last), func() {
		if known || happens {
			if did := s.serve(s.h.Ops[at], !known && half); known {
				s.h.Ops[at] = did
			}
		}
	}})
}

// serve is op with its answer.
func (s *shop) serve(op histories.Op, half bool) histories.Op {
	at := slices.IndexFunc(s.orders, func(o histories.Order) bool { return o.ID != "" && o.ID == op.Order })
	op.Outcome = histories.OK
	switch {
	case op.F == histories.Restock:
		s.stock += op.Qty
		op.Left = histories.N(s.stock)
	case op.F == histories.Cancel && at < 0:
		op.Outcome, op.Error = histories.Fail, "no such order"
	case op.F == histories.Cancel:
		s.stock += s.orders[at].Qty
		s.orders = slices.Delete(s.orders, at, at+1)
	case at >= 0:
		op.Replay = true
	case s.stock < op.Qty:
		op.Outcome, op.Error = histories.Fail, histories.SoldOut
	default:
		s.stock -= op.Qty
		op.Left = histories.N(s.stock)
		if row := (histories.Order{ID: op.Order, Qty: op.Qty}); !half && s.keeps(op, &row) {
			s.orders = append(s.orders, row)
		}
	}
	return op
}

// keeps reports whether the shop keeps a row of a sell, and names it.
func (s *shop) keeps(op histories.Op, row *histories.Order) bool {
	if op.Order == "" && s.rows == "named" {
		row.ID = fmt.Sprint("named by the shop ", op.ID)
	}
	return op.Order != "" || s.rows != "none"
}
