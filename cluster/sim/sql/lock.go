package sql

import (
	"fmt"
	"slices"
	"time"
)

// mode of a lock.
type mode uint8

const (
	shared mode = iota
	exclusive
)

// span is what of a record and the gap before it a lock covers.
type span uint8

const (
	nextKey         span = iota // the record and the gap before it
	gapOnly                     // the gap: it keeps insertions out and conflicts with nothing else
	recordOnly                  // the record
	insertIntention             // asks whether the gap is free: it waits for gaps, nobody waits for it
)

// lock is one transaction's lock on one record, granted or waiting.
type lock struct {
	tx      *transaction
	record  *record // nil: released
	mode    mode
	span    span
	waiting bool
}

// kind is what InnoDB keeps in one structure per page: the number of such
// structures is part of a transaction's weight.
type kind struct {
	index *index
	mode  mode
	span  span
}

// blocks reports whether held makes a request of tx wait: InnoDB's table of
// record lock conflicts.
func (held *lock) blocks(tx *transaction, m mode, sp span) bool {
	switch {
	case held.tx == tx, held.mode == shared && m == shared:
		return false
	case sp != insertIntention && (sp == gapOnly || held.record.supremum()):
		return false // a gap may be locked by many
	case sp != insertIntention && held.span == gapOnly:
		return false // a record does not care for its gap
	case sp == insertIntention && held.span == recordOnly && !held.record.supremum():
		return false // a gap does not care for its record
	}
	return held.span != insertIntention
}

// covers reports whether a granted lock of the same transaction is as good
// as the one asked for.
func (held *lock) covers(m mode, sp span) bool {
	if held.waiting || held.span == insertIntention || sp == insertIntention || held.mode < m {
		return false
	}
	sup := held.record.supremum()
	return (held.span != recordOnly || sp == recordOnly || sup) && (held.span != gapOnly || sp == gapOnly || sup)
}

func (tx *transaction) holds(r *record, m mode, sp span) bool {
	for _, l := range r.locks {
		if l.tx == tx && l.covers(m, sp) {
			return true
		}
	}
	return false
}

// acquire takes a lock, or queues up for it and answers *Blocked.
//
// With implicit set nothing is left behind when the lock is free: the change
// that follows is a lock by itself, as long as its transaction is active.
func (tx *transaction) acquire(r *record, m mode, sp span, implicit bool) error {
	if r.supremum() && sp == recordOnly {
		return nil
	}
	if sp != insertIntention && !r.supremum() {
		if owner := r.author(); owner == tx && sp == recordOnly {
			return nil // locked implicitly by its own change
		} else if owner != nil && owner != tx && owner.active() {
			owner.explicit(r)
		}
	}
	if tx.holds(r, m, sp) {
		return nil
	}
	if sp == nextKey && tx.holds(r, m, recordOnly) {
		tx.grant(r, m, sp) // only the gap is new
		return nil
	}
	holder := tx.conflict(r, m, sp)
	if holder == nil {
		if !implicit && sp != insertIntention {
			tx.grant(r, m, sp)
		}
		return nil
	}
	l := &lock{tx: tx, record: r, mode: m, span: sp, waiting: true}
	tx.locks = append(tx.locks, l)
	r.locks = append(r.locks, l)
	tx.structures++
	return tx.wait(l, holder)
}

// conflict answers the first lock on r, granted or waiting, that tx must wait
// for.
func (tx *transaction) conflict(r *record, m mode, sp span) *lock {
	for _, l := range r.locks {
		if l.blocks(tx, m, sp) {
			return l
		}
	}
	return nil
}

// explicit makes the lock explicit that a change of an active transaction
// implies, so that others can queue behind it.
func (tx *transaction) explicit(r *record) {
	if !tx.holds(r, exclusive, recordOnly) {
		tx.grant(r, exclusive, recordOnly)
	}
}

func (tx *transaction) grant(r *record, m mode, sp span) {
	if r.supremum() {
		sp = nextKey // on the supremum all but insert intentions are the same
	}
	l := &lock{tx: tx, record: r, mode: m, span: sp}
	waited := slices.ContainsFunc(r.locks, func(l *lock) bool { return l.waiting })
	tx.locks = append(tx.locks, l)
	r.locks = append(r.locks, l)
	if k := (kind{r.index, m, sp}); waited || !slices.Contains(tx.kinds, k) {
		tx.kinds = append(tx.kinds, k)
		tx.structures++
	}
}

// wait makes a session wait for l, unless that closes a circle.
func (tx *transaction) wait(l, holder *lock) error {
	blocked := &Blocked{
		Limit:  tx.session.limit(),
		Holder: holder.tx.session.id,
		On:     fmt.Sprintf("a row lock in index %s of table %s", l.record.index.name, l.record.index.table.name),
	}
	tx.waiting, tx.waitsFor = l, holder.tx
	tx.session.db.resolve(tx)
	if tx.failed != nil {
		return tx.failed
	}
	return blocked
}

// limit is how long the session waits for row locks.
func (s *Session) limit() time.Duration {
	if s.pending != nil && s.pending.stmt.wait >= 0 {
		return s.pending.stmt.wait
	}
	return s.lockWait
}

// granted ends the wait of a lock that is free now.
func (l *lock) granted() {
	l.waiting = false
	k := kind{l.record.index, l.mode, l.span}
	if !slices.Contains(l.tx.kinds, k) {
		l.tx.kinds = append(l.tx.kinds, k)
	}
	l.tx.awake()
}

// awake ends the wait of a transaction, however it ended.
func (tx *transaction) awake() {
	tx.waiting, tx.waitsFor = nil, nil
	tx.session.wake()
}

// cancel takes a waiting request back: others may get on.
func (tx *transaction) cancel() {
	l := tx.waiting
	tx.waiting, tx.waitsFor = nil, nil
	l.release()
}

// release takes a lock out of its queue and grants what can be granted now.
func (l *lock) release() {
	r := l.record
	if r == nil {
		return
	}
	l.record = nil
	r.locks = slices.DeleteFunc(r.locks, func(o *lock) bool { return o == l })
	db := l.tx.session.db
	for i := 0; i < len(r.locks); i++ {
		w := r.locks[i]
		if !w.waiting {
			continue
		}
		if ahead := r.blocker(w, i); ahead == nil {
			w.granted()
		} else {
			w.tx.waitsFor = ahead.tx
			if ahead.tx.waitsFor != nil && !slices.Contains(db.suspects, ahead.tx) {
				db.suspects = append(db.suspects, ahead.tx)
			}
		}
	}
}

// blocker is the first lock ahead of the waiting one that it waits for.
func (r *record) blocker(w *lock, place int) *lock {
	for _, l := range r.locks[:place] {
		if l.blocks(w.tx, w.mode, w.span) {
			return l
		}
	}
	return nil
}

// inheritGap gives a new record the gap locks of the record after it: the gap
// has been split in two.
func (r *record) inheritGap(next *record) {
	for _, l := range slices.Clone(next.locks) {
		if l.span != insertIntention && (next.supremum() || l.span != recordOnly) {
			l.tx.inherit(r, l.mode)
		}
	}
}

// vanish takes a record out of its index. A session that had locked it, or waited for
// it, has the gap locked in which it was; one that waited looks again.
func (r *record) vanish() {
	heir := r.index.after(r)
	for _, l := range r.locks {
		if l.span != insertIntention {
			l.tx.inherit(heir, l.mode)
		}
	}
	for _, l := range r.locks {
		l.record = nil
		if l.waiting {
			l.waiting = false
			l.tx.awake()
		}
	}
	r.locks = nil
	r.index.remove(r)
}

func (tx *transaction) inherit(r *record, m mode) {
	if !tx.holds(r, m, gapOnly) {
		tx.grant(r, m, gapOnly)
	}
}
