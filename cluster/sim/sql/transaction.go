package sql

import "slices"

// transaction is what a session does between a beginning and a commit or
// rollback. Single statements outside of one are transactions of their own.
type transaction struct {
	session *Session
	begun   bool   // by BEGIN or without autocommit: more than one statement
	seq     uint64 // of its commit; 0: not committed
	ended   bool

	view   uint64 // its snapshot: what was committed up to this
	viewed bool

	undo    []undo
	changes int // of rows

	locks      []*lock
	kinds      []kind
	structures int // of locks, as InnoDB counts them
	tables     []tableUse
	waiting    *lock
	waitsFor   *transaction
	failed     *Error // rolled back by somebody else's deadlock check
}

// tableUse is an intention lock on a table: it keeps nobody out here and only
// makes the transaction heavier.
type tableUse struct {
	table *table
	mode  mode
}

// undo says how to take one change of one record back.
type undo struct {
	what   change
	record *record
	by     *transaction // secondary index: the author before
}

type change uint8

const (
	rowInserted  change = iota // a record with one version
	rowChanged                 // one version more
	entryAdded                 // secondary: a new record
	entryRevived               // secondary: no longer marked as deleted
	entryDead                  // secondary: marked as deleted
)

func (tx *transaction) active() bool { return !tx.ended }

// use notes the intention lock on a table. An exclusive one covers a shared
// one.
func (tx *transaction) use(t *table, m mode) {
	for _, u := range tx.tables {
		if u.table == t && u.mode >= m {
			return
		}
	}
	tx.tables = append(tx.tables, tableUse{t, m})
}

// snapshot opens the transaction's view at its first consistent read, not at
// its beginning.
func (tx *transaction) snapshot() {
	if !tx.viewed {
		tx.viewed, tx.view = true, tx.session.db.commits
		tx.session.db.views = append(tx.session.db.views, tx)
	}
}

// sees answers the row that the transaction's snapshot shows, nil if none.
func (tx *transaction) sees(r *record) []any {
	for v := r.newest; v != nil; v = v.older {
		if v.by == tx || v.by.seq != 0 && v.by.seq <= tx.view {
			if v.deleted {
				return nil
			}
			return v.values
		}
	}
	return nil
}

// stale reports whether the newest version of a row is one that the
// transaction's own snapshot does not show.
func (tx *transaction) stale(r *record) bool {
	by := r.newest.by
	return tx.viewed && by != tx && by.seq > tx.view
}

// commit makes the changes everybody's and lets go of all locks.
func (tx *transaction) commit() {
	db := tx.session.db
	if len(tx.undo) > 0 {
		db.commits++
		tx.seq = db.commits
		if db.committed != nil {
			db.committed(tx.undo)
		}
		for _, u := range tx.undo {
			db.history = append(db.history, garbage{tx.seq, u.record})
		}
	}
	tx.end()
}

// rollback takes all changes back and lets go of all locks.
func (tx *transaction) rollback() {
	tx.rollbackTo(0)
	tx.end()
}

func (tx *transaction) end() {
	db := tx.session.db
	if tx.session.tx == tx {
		tx.session.tx = nil
	}
	tx.ended, tx.undo = true, nil
	if tx.viewed {
		db.views = slices.DeleteFunc(db.views, func(o *transaction) bool { return o == tx })
	}
	locks := tx.locks
	tx.locks, tx.kinds = nil, nil
	for _, l := range slices.Backward(locks) {
		l.release()
	}
	db.recheck()
}

// rollbackTo takes back what came after the first n changes.
func (tx *transaction) rollbackTo(n int) {
	for len(tx.undo) > n {
		u := tx.undo[len(tx.undo)-1]
		tx.undo = tx.undo[:len(tx.undo)-1]
		r := u.record
		switch u.what {
		case rowChanged:
			r.newest = r.newest.older
			tx.changes--
		case rowInserted, entryAdded:
			r.vanish()
			if u.what == rowInserted {
				tx.changes--
			}
		case entryRevived:
			r.dead, r.by = true, u.by
		case entryDead:
			r.dead, r.by = false, u.by
		}
	}
}

// garbage is a record that was changed by a committed transaction: it may
// have versions, or be one, that no snapshot shows any more.
type garbage struct {
	seq    uint64
	record *record
}

// purge throws away what no snapshot can show. A real server does that in the
// background, here it is done when the next statement begins: those that a
// commit lets go on still meet what was deleted.
func (db *DB) purge() {
	oldest := db.commits
	if len(db.views) > 0 {
		oldest = db.views[0].view
	}
	for len(db.history) > 0 && db.history[0].seq <= oldest {
		r := db.history[0].record
		db.history[0].record = nil
		db.history = db.history[1:]
		switch {
		case r.index.all[r.key] != r:
		case r.row != nil:
			if r.dead && (r.by == nil || r.by.seq != 0 && r.by.seq <= oldest) {
				r.vanish()
			}
		default:
			r.trim(oldest)
		}
	}
	db.recheck()
}

// trim cuts the versions off that are older than any snapshot.
func (r *record) trim(oldest uint64) {
	v := r.newest
	for v != nil && (v.by.seq == 0 || v.by.seq > oldest) {
		v = v.older
	}
	if v == nil {
		return
	}
	v.older = nil
	if v == r.newest && v.deleted {
		r.vanish()
	}
}
