package sql

import "slices"

// A waiting transaction knows one transaction that it waits for: that of the
// first lock in its way. So waits form chains, and a deadlock is a chain that
// runs into itself. InnoDB looks for one when a wait begins, and when a lock
// was released and a waiter still waits, now for somebody else.

// resolve breaks the deadlock that the wait of tx has closed, if it has.
func (db *DB) resolve(tx *transaction) {
	if in := circle(tx); in != nil {
		victim(tx, in).fail(errDeadlock)
	}
	db.recheck()
}

// recheck looks for deadlocks among those whose place in a chain has changed.
// InnoDB keeps them in the order of their addresses, which is no order.
func (db *DB) recheck() {
	for len(db.suspects) > 0 {
		at := db.choose(len(db.suspects))
		tx := db.suspects[at]
		db.suspects = slices.Delete(db.suspects, at, at+1)
		if in := circle(tx); in != nil {
			victim(tx, in).fail(errDeadlock)
		}
	}
}

func (db *DB) choose(n int) int {
	if n == 1 || db.Choose == nil {
		return 0
	}
	return db.Choose(n)
}

// circle answers a transaction in the circle that the chain from tx runs
// into, nil if it runs into none: Brent's algorithm, and InnoDB's choice of
// where in the circle to begin.
func circle(tx *transaction) *transaction {
	slow, fast := tx, tx
	for power, l := 1, 1; ; l++ {
		if fast = fast.waitsFor; fast == nil {
			return nil
		}
		if slow == fast {
			return fast
		}
		if l == power {
			power, l, slow = power*2, 0, fast
		}
	}
}

// victim is the lightest transaction of a circle: of equals tx, whose wait was
// looked at, or else the first.
func victim(tx, in *transaction) *transaction {
	v, member := in.waitsFor, false
	for t := in.waitsFor; ; t = t.waitsFor {
		member = member || t == tx
		if t.weight() < v.weight() {
			v = t
		}
		if t == in {
			break
		}
	}
	if member && tx.weight() == v.weight() {
		return tx
	}
	return v
}

// weight is how much work a rollback would throw away.
func (tx *transaction) weight() int { return tx.changes + tx.structures + len(tx.tables) }

// fail ends a wait with an error that rolls the transaction back.
func (tx *transaction) fail(err *Error) {
	tx.failed = err
	if !tx.session.running {
		tx.session.failed = err
	}
	l := tx.waiting
	tx.waiting, tx.waitsFor = nil, nil
	l.release()
	tx.rollback()
	tx.session.wake()
}
