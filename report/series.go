package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// point is a value at a moment of the run.
type point struct {
	At int64 // ns
	Y  float64
}

// slots is how many stretches of equal length a run is cut into for rates
// and quantiles.
const slots = 120

// rates are the sells that ended per second, by how they ended.
func rates(h *histories.History) (sold, refused, unknown []point) {
	width := max(1, float64(h.End)/slots)
	var n [3][slots]int
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F != histories.Sell {
			continue
		}
		at := op.Return
		if at == histories.Never {
			at = op.Call
		}
		n[outcomeIndex(op.Outcome)][slot(at, width)]++
	}
	line := func(counts [slots]int) []point {
		points := make([]point, slots)
		for i, c := range counts {
			points[i] = point{int64((float64(i) + 0.5) * width), float64(c) / (width / 1e9)}
		}
		return points
	}
	return line(n[0]), line(n[1]), line(n[2])
}

func slot(at int64, width float64) int { return min(max(int(float64(at)/width), 0), slots-1) }

func outcomeIndex(o histories.Type) int {
	switch o {
	case histories.OK:
		return 0
	case histories.Fail:
		return 1
	}
	return 2
}

// quantiles are the latencies (seconds) of operations f that were answered,
// as lines of the median, the 95th and the 99th percentile.
func quantiles(h *histories.History, f string) (lines [3][]point, answered int) {
	width := max(1, float64(h.End)/slots)
	var all [slots][]int64
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F == f && op.Return != histories.Never {
			s := slot(op.Return, width)
			all[s] = append(all[s], op.Return-op.Call)
			answered++
		}
	}
	for i, list := range all {
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		at := int64((float64(i) + 0.5) * width)
		for j, q := range []float64{0.5, 0.95, 0.99} {
			lines[j] = append(lines[j], point{at, float64(Quantile(list, q)) / 1e9})
		}
	}
	return lines, answered
}

// Quantile is the smallest value that a share q of a sorted list does not exceed; 0
// of an empty one.
func Quantile[T ~int64](sorted []T, q float64) T {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// ledger is the stock of one key over time, as the store told it and as the
// accepted orders leave it.
type ledger struct {
	Key    string
	Had    int64
	Stock  []point // what the store answered
	Orders []point // what there was at first, minus the units of accepted orders
	Sold   int64

	First, Last int64 // ns: when it was read or changed first and last, before the audit
}

// maxLedgers is how many keys a page draws.
const maxLedgers = 6

// ledgersOf draws up the stock keys worth a picture: those with broken
// business first, then those that sold most. of is how many keys there are.
func ledgersOf(h *histories.History, violations []checker.Violation) (list []ledger, of int) {
	index := map[string]int{}
	all := []ledger{}
	find := func(key string) *ledger {
		i, known := index[key]
		if !known {
			i = len(all)
			index[key] = i
			had := h.Header.StockOf(key)
			start := point{0, float64(had)}
			all = append(all, ledger{Key: key, Had: had, Stock: []point{start}, Orders: []point{start}, First: math.MaxInt64})
		}
		return &all[i]
	}
	for _, i := range byReturn(h) {
		enter(find, &h.Ops[i])
	}
	for _, e := range h.Audits {
		settle(find(e.Key), e)
	}
	first := brokenKeys(violations)
	slices.SortStableFunc(all, func(a, b ledger) int {
		return cmp.Or(cmp.Compare(placeOf(first, a.Key), placeOf(first, b.Key)), cmp.Compare(b.Sold, a.Sold))
	})
	return all[:min(len(all), maxLedgers)], len(all)
}

// byReturn are the stock operations that were answered, by their answers.
func byReturn(h *histories.History) []int {
	var list []int
	for i := range h.Ops {
		switch op := &h.Ops[i]; op.F {
		case histories.Sell, histories.Write, histories.Read:
			if op.Outcome == histories.OK {
				list = append(list, i)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(h.Ops[a].Return, h.Ops[b].Return) })
	return list
}

// enter takes one answered operation into its ledger.
func enter(find func(string) *ledger, op *histories.Op) {
	l := find(op.Key)
	l.First, l.Last = min(l.First, op.Call), max(l.Last, op.Return)
	if n, told := stockTold(op); told {
		l.Stock = append(l.Stock, point{op.Return, float64(n)})
	}
	if op.F == histories.Sell && !op.Replay {
		l.Sold += op.Qty
		l.Orders = append(l.Orders, point{op.Return, float64(l.Had - l.Sold)})
	}
}

// stockTold is the stock that an answer tells.
func stockTold(op *histories.Op) (int64, bool) {
	if op.Left.Known {
		return op.Left.N, true
	}
	return op.Value.N, op.Value.Known
}

// settle takes the audit into a ledger: the last word on stock and orders.
func settle(l *ledger, e histories.Event) {
	l.First, l.Last = min(l.First, e.Time), max(l.Last, min(l.First, e.Time))
	if e.Value.Known {
		l.Stock = append(l.Stock, point{e.Time, float64(e.Value.N)})
	}
	l.Sold = 0
	for _, o := range e.Orders {
		l.Sold += o.Qty
	}
	l.Orders = append(l.Orders, point{e.Time, float64(l.Had - l.Sold)})
}

// brokenKeys are the keys of business violations, in order.
func brokenKeys(violations []checker.Violation) []string {
	var keys []string
	for _, level := range []checker.Level{checker.BusinessLevel, checker.UseLevel, checker.LockLevel} {
		for _, v := range violations {
			if v.Level == level {
				keys = append(keys, v.Key, strings.TrimPrefix(v.Key, "stock:"))
			}
		}
	}
	return keys
}

func placeOf(keys []string, key string) int {
	if i := slices.Index(keys, key); i >= 0 {
		return i
	}
	return len(keys)
}
