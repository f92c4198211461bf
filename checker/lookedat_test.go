package checker

import (
	"context"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

// A release that said ok is looked at, whatever became of its acquire.
func TestAReleaseIsLookedAt(t *testing.T) {
	v := tell(withLease).op(0, "acquire", "info", 0, 2, token("a")).op(0, "release", "ok", 5, 6, token("a")).check()
	if r := v.Results[LockNotLinearizable.rank()]; r.Outcome != Valid {
		t.Errorf("%s is %s (%s), want valid", LockNotLinearizable, r.Outcome, r.Reason)
	}
}

// What was not looked at is never valid, and what little was looked at decides.
func TestWhatIsNotThereIsNotLookedAt(t *testing.T) {
	none := histories.LockSpec{None: true}
	for name, c := range map[string]struct {
		story               *story
		lock, use, business Outcome
		all                 Outcome
		property            Property
		why                 string
	}{
		"a lock and no sale": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(0, "release", "ok", 5, 6),
			Valid, NotLooked, NotLooked, Valid, Oversell, "no sale was recorded"},
		"a lock that nobody renewed": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)),
			Valid, NotLooked, NotLooked, Valid, LeaseGap, "no renewal was recorded"},
		"a lock that nobody got": {
			tell(withLease).op(0, "acquire", "info", 0, 2),
			NotLooked, NotLooked, NotLooked, Unknown, LockNotLinearizable, "no lock was granted or given back"},
		"a lock that was refused": {
			tell(withLease).op(0, "acquire", "fail", 0, 2, failed("busy")),
			Unknown, NotLooked, NotLooked, Unknown, Deadlock, "no lock was granted"},
		"a lock in doubt that is given back": {
			tell(withLease).op(0, "acquire", "info", 0, 2, token("a")).op(0, "release", "ok", 5, 6, token("a")),
			Valid, NotLooked, NotLooked, Valid, Deadlock, "no lock was granted"},
		"a stock that is only read": {
			tell(none).op(0, "read", "ok", 0, 2),
			NotLooked, NotLooked, Valid, Valid, Oversell, "no sale was recorded"},
		"a lock that is given back and was not taken": {
			tell(withLease).op(0, "release", "ok", 0, 2),
			Invalid, NotLooked, NotLooked, Invalid, StuckLock, "no lock was granted or refused"},
		"a lock that was neither given back nor renewed": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)),
			Valid, NotLooked, NotLooked, Valid, LeaseLost, "no release or renewal was recorded"},
		"a sale without a lock": {
			tell(none).op(0, "sell", "fail", 0, 2, failed("sold-out")),
			NotLooked, NotLooked, Valid, Valid, StaleWrite, "the design uses no lock"},
		"a sale that nobody audited": {
			tell(none).op(0, "sell", "fail", 0, 2, failed("sold-out")),
			NotLooked, NotLooked, Valid, Valid, StockMismatch, "the stock was not audited"},
		"a sale in a history that says nothing of locks": {
			tell(histories.LockSpec{}).op(0, "sell", "fail", 0, 2, failed("sold-out")),
			NotLooked, NotLooked, Valid, Valid, LockNotLinearizable, "no lock was asked for"},
		"only a fault": {
			tell(withLease).mark(histories.Nemesis, "kill", 5, targeting("redis-1")),
			NotLooked, NotLooked, NotLooked, Unknown, DoubleHold, "no lock was asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Check(context.Background(), c.story.history(), Options{})
			if v.Levels[LockLevel] != c.lock || v.Levels[UseLevel] != c.use || v.Levels[BusinessLevel] != c.business || v.Outcome != c.all {
				t.Errorf("%s, levels %v, want %s, %s %s %s", v.Outcome, v.Levels, c.all, c.lock, c.use, c.business)
			}
			if r := v.Results[c.property.rank()]; r.Outcome != NotLooked || r.Reason != c.why {
				t.Errorf("%s is %s (%s), want not looked at (%s)", c.property, r.Outcome, r.Reason, c.why)
			}
			if (v.Reason != "") != (v.Outcome == Unknown) {
				t.Errorf("%s with reason %q", v.Outcome, v.Reason)
			}
		})
	}
}
