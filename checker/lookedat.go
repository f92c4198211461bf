package checker

import (
	"cmp"

	"github.com/lockcheck/lockcheck/histories"
)

// looked is what a history has for properties to look at. A property for which
// there was nothing has not been kept: it was not looked at.
type looked struct {
	ops               map[string]bool // functions that occur
	granted, released bool            // a lock; by an ok release
	refused, numbered bool            // an acquire was told "busy"; a grant or write has a fence
	ordered           bool            // a sell names its order
	audited, rows     bool            // stock; orders
}

func (r *run) lookedAt() looked {
	l := looked{ops: map[string]bool{}}
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if !l.ops[op.F] {
			l.ops[op.F] = true
		}
		l.granted = l.granted || op.F == histories.Acquire && op.Outcome == histories.OK
		l.released = l.released || op.F == histories.Release && op.Outcome == histories.OK
		l.refused = l.refused || op.F == histories.Acquire && saidBusy(op)
		l.numbered = l.numbered || op.Fence.Known
		l.ordered = l.ordered || op.F == histories.Sell && op.Order != ""
	}
	for i := range r.h.Audits {
		l.audited = l.audited || r.h.Audits[i].Value.Known
		l.rows = l.rows || len(r.h.Audits[i].Orders) > 0
	}
	return l
}

// missing says what a property would have looked at, if the history has
// nothing of it; "" if it has.
func (r *run) missing(p Property, l looked) string {
	switch {
	case p == FenceRegression:
		return unless(l.numbered, "no grant or write carries a number") // with or without a lock
	case p.Level() != BusinessLevel && r.spec.None:
		return "the design uses no lock"
	case p.Level() == LockLevel && !l.ops[histories.Acquire] && !l.ops[histories.Release] && !l.ops[histories.Extend]:
		return "no lock was asked for"
	case p.Level() == UseLevel && !l.ops[histories.Write]:
		return "no write was recorded"
	case p.Level() == UseLevel && !l.ops[histories.Acquire]:
		return "no lock was asked for"
	}
	switch p {
	case DoubleHold, Deadlock:
		return unless(l.granted, "no lock was granted")
	case LockNotLinearizable:
		return unless(l.granted || l.released, "no lock was granted or given back")
	case ForeignRelease:
		return unless(l.ops[histories.Release], "no release was recorded")
	case LeaseGap:
		return unless(l.ops[histories.Extend], "no renewal was recorded")
	case LeaseLost:
		return cmp.Or(unless(r.spec.TTL > 0, "the lock has no lease"),
			unless(l.ops[histories.Release] || l.ops[histories.Extend], "no release or renewal was recorded"))
	case MaxHold:
		return cmp.Or(unless(r.spec.MaxHold > 0, "no bound for a hold was promised"), unless(l.granted, "no lock was granted"))
	case ZombieTime:
		return cmp.Or(unless(r.spec.MaxZombie > 0, "no bound for zombie time was given"), unless(l.granted || l.refused, "no lock was granted or refused"))
	case StuckLock:
		return cmp.Or(unless(r.spec.TTL > 0 || r.spec.Grace > 0, "the lock promises no bound"), unless(l.granted || l.refused, "no lock was granted or refused"))
	case Oversell:
		return unless(l.ops[histories.Sell] || l.rows, "no sale was recorded")
	case DuplicateOrder:
		return unless(l.ordered || l.rows, "no order was recorded")
	case StockMismatch:
		return unless(l.audited || l.rows, "the stock was not audited")
	case StockNotLinearizable:
		return unless(l.ops[histories.Sell] || l.ops[histories.Read] || l.ops[histories.Restock] || l.ops[histories.Cancel], "no sale was recorded")
	}
	return ""
}

func unless(there bool, why string) string {
	if there {
		return ""
	}
	return why
}
