package checker

import (
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// What operations are counted by.
var (
	functions = [...]string{
		histories.Acquire, histories.Release, histories.Sell, histories.Read, histories.Write,
		histories.Extend, histories.Restock, histories.Cancel, histories.Break,
	}
	outcomes = [...]histories.Type{histories.OK, histories.Fail, histories.Info}
	reasons  = [...]string{"", " " + histories.Busy, " " + histories.SoldOut}
)

// counts are the numbers beside the verdict.
func (r *run) counts() Counts {
	var tally [len(functions)][len(outcomes)][len(reasons)]int
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		f, outcome := slices.Index(functions[:], op.F), slices.Index(outcomes[:], op.Outcome)
		if f >= 0 && outcome >= 0 {
			tally[f][outcome][reason(op)]++
		}
	}
	c := Counts{Ops: len(r.h.Ops), Outcomes: map[string]int{}, Grants: tally[0][0][0]}
	for f, byOutcome := range tally {
		for outcome, byReason := range byOutcome {
			for reason, n := range byReason {
				if n > 0 {
					c.Outcomes[functions[f]+" "+string(outcomes[outcome])+reasons[reason]] = n
				}
			}
		}
	}
	for _, k := range r.keys {
		if b := k.books; b != nil {
			sold := b.sold()
			c.Sold += sold
			c.Had += b.limit()
			if !b.clipped {
				c.Oversold += max(0, sold-b.limit())
			}
			c.Settled += b.settled
			c.StillOpen += b.open
		}
	}
	return c
}

// reason is the index into reasons of why op failed.
func reason(op *histories.Op) int {
	switch {
	case saidBusy(op):
		return 1
	case op.Outcome == histories.Fail && op.Error == histories.SoldOut:
		return 2
	}
	return 0
}
