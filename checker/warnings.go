package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// What a warning begins at. The first two are what shops watch for.
const (
	lowSuccess = 95 // per cent of acquires that are not told busy
	lowStock   = 5  // units

	fewAcquires = 20 // of fewer, a rate tells nothing
)

// warnings are what is no violation, but worth a look.
func (r *run) warnings() []Warning {
	var out []Warning
	for _, w := range []Warning{r.lockBusy(), r.lowOnStock(), r.slowGrants(), r.renewalsMissed(), r.unitsInDoubt(), r.starved()} {
		if w.Word != "" {
			out = append(out, w)
		}
	}
	return out
}

func (r *run) lockBusy() Warning {
	var granted, busy int
	for _, k := range r.keys {
		for _, op := range k.locks {
			if op.F != histories.Acquire {
				continue
			}
			granted += one(op.Outcome == histories.OK)
			busy += one(saidBusy(op))
		}
	}
	if granted+busy < fewAcquires || granted*100 >= (granted+busy)*lowSuccess {
		return Warning{}
	}
	return Warning{"lock-busy", sprintf("lock success rate %d %%, below %d %%: %s told busy", granted*100/(granted+busy), lowSuccess, count(busy, "acquire"))}
}

func (r *run) lowOnStock() Warning {
	var names []string
	for _, k := range r.keys {
		if k.audit != nil && k.audit.Value.Known && k.audit.Value.N < lowStock && k.audit.Value.N > 0 {
			names = append(names, sprintf("%s (%d)", k.name, k.audit.Value.N))
		}
	}
	if len(names) == 0 {
		return Warning{}
	}
	return Warning{"low-stock", sprintf("fewer than %d units left of %s", lowStock, few(names))}
}

// slowGrants warns if one grant in a hundred takes longer than a third of the
// TTL: that much of each lease is gone before the work begins.
func (r *run) slowGrants() Warning {
	limit := int64(r.spec.TTL / 3)
	if limit <= 0 {
		limit = int64(time.Second)
	}
	var slow []int64
	grants := 0
	for _, k := range r.keys {
		for _, op := range k.locks {
			if op.F == histories.Acquire && op.Outcome == histories.OK {
				grants++
				if op.Return-op.Call > limit {
					slow = append(slow, op.Return-op.Call)
				}
			}
		}
	}
	if grants < fewAcquires || len(slow)*100 <= grants {
		return Warning{}
	}
	return Warning{"slow-grants", sprintf("%d of %d grants took longer than %s, the slowest %s", len(slow), grants, length(limit), length(slices.Max(slow)))}
}

func (r *run) renewalsMissed() Warning {
	if !r.renews {
		return Warning{}
	}
	var all, missed int
	for _, k := range r.keys {
		for _, op := range k.locks {
			if op.F == histories.Extend {
				all++
				missed += one(op.Outcome != histories.OK)
			}
		}
	}
	if missed == 0 {
		return Warning{}
	}
	return Warning{"renewals-missed", sprintf("%d of %d renewals did not succeed", missed, all)}
}

// unitsInDoubt warns of units that left the stock without an order, where
// unknown sells may have taken them: a worker that stopped half-way. That
// breaks no promise to a customer, but the shop has fewer units to sell.
func (r *run) unitsInDoubt() Warning {
	type doubt struct {
		name  string
		units int64
	}
	var list []doubt
	for _, k := range r.keys {
		if _, broken := k.broken(StockMismatch); broken > 0 {
			continue
		}
		if k.books != nil && k.books.doubt > 0 {
			list = append(list, doubt{k.name, k.books.doubt})
		}
	}
	if len(list) == 0 {
		return Warning{}
	}
	slices.SortStableFunc(list, func(a, b doubt) int { return cmp.Compare(b.units, a.units) })
	var sum int64
	var names []string
	for _, d := range list {
		sum += d.units
		names = append(names, sprintf("%s (%d)", d.name, d.units))
	}
	return Warning{"units-in-doubt", sprintf("%s left the stock without an order, as unknown sells may have taken them: %s", count(sum, "unit"), few(names))}
}
