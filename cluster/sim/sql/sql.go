// Package sql is a small model of a MariaDB server with InnoDB tables: as far
// as designs that keep stock in SQL need it, and there as exactly as can be.
//
// Start with DB and Session. A Session is one connection: Do runs one
// statement. A statement that must wait answers *Blocked; when DB.OnWake
// says so, Continue goes on with it. The engine knows neither time nor
// scheduling: its user ends a wait that takes too long by TimeOut.
// Everything is deterministic.
//
// What it is faithful in: REPEATABLE READ with a snapshot made at the first
// consistent read; locking reads and writes that see the newest committed
// version; record, gap, next-key and insert-intention locks with InnoDB's
// conflict table, queues, inheritance and implicit locks; deadlock detection
// and its victim; lock wait time-outs that roll back one statement;
// duplicate checks that wait for uncommitted rows; AUTO_INCREMENT that is not
// rolled back; rows changed, not found, as the number affected; GET_LOCK;
// error numbers and wording. The tests hold all of it against a real server.
//
// What it refuses, by error 1064, rather than guess: joins, subqueries,
// floating point, time stamps, savepoints, other isolation levels, changes of
// a primary key, and locking statements whose locks hang on the optimizer's
// choice among several indexes. What it does not know: metadata locks, page
// splits, the delay of the purge of deleted rows, accents that do not count
// when text is compared, and warnings (INSERT IGNORE ignores duplicates only).
//
// The server compared with is MariaDB 10.11. Newer ones turn
// innodb_snapshot_isolation on by default; here SET does.
package sql

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// Schema is the name of the one database.
const Schema = "lockcheck"

// Result is what a statement answers.
type Result struct {
	Rows     [][]any // of nil, int64 and string
	Affected int64   // rows changed
	LastID   int64   // first AUTO_INCREMENT value that it made
}

// DB is one server: its tables and its sessions.
type DB struct {
	// OnWake is called when the wait of a session is over: its lock was
	// granted, or its transaction was rolled back to end a deadlock. It may
	// be called while another session's statement is at work, so it should
	// only take note.
	OnWake func(*Session)

	// Choose decides what on a real server is chance: which of n, from 0.
	// Nil: always the first.
	Choose func(n int) int

	now      func() time.Time
	tables   map[string]*table
	sessions map[int64]*Session
	nextID   int64
	parsed   map[string]*statement

	// committed, if set, is shown each commit: tests wait for the server's
	// purge by it.
	committed func([]undo)

	commits  uint64         // number of the last commit that changed something
	views    []*transaction // with an open snapshot, oldest first
	history  []garbage
	suspects []*transaction // to be looked at for deadlocks
	names    map[string]*userLock
}

// New makes an empty server. now is its wall clock.
func New(now func() time.Time) *DB {
	db := &DB{now: now}
	db.tables, db.names, db.parsed = map[string]*table{}, map[string]*userLock{}, borrowed()
	db.sessions = map[int64]*Session{}
	return db
}

// Session is one connection.
type Session struct {
	db       *DB
	id       int64
	tx       *transaction // open, or nil
	manual   bool         // autocommit=0
	lockWait time.Duration
	strict   bool // innodb_snapshot_isolation
	lastID   int64

	pending *pending  // the statement at work
	named   *userLock // the user lock that it waits for
	running bool
	failed  error // how the wait ended, if badly
	dead    bool
}

// pending is a statement that has begun, and how far it is.
type pending struct {
	stmt  *statement
	args  []any
	start int // undo records of the transaction before it
	work  progress
}

// lockWaitDefault is the server's default for innodb_lock_wait_timeout.
const lockWaitDefault = 50 * time.Second

// Session connects.
func (db *DB) Session() *Session {
	db.nextID++
	s := &Session{db: db, id: db.nextID, lockWait: lockWaitDefault}
	db.sessions[s.id] = s
	return s
}

// ID is the connection's number.
func (s *Session) ID() int64 { return s.id }

// Connected reports whether a connection of that number exists.
func (db *DB) Connected(id int64) bool { return db.sessions[id] != nil }

// InTransaction reports whether the session is in a transaction that it has
// begun, so that its death would roll something back.
func (s *Session) InTransaction() bool { return s.tx != nil }

// Do runs one statement. Its error is an *Error, or *Blocked.
func (s *Session) Do(query string, args ...any) (Result, error) {
	if s.dead {
		return Result{}, errKilled
	}
	if s.pending != nil {
		panic("sql: a statement is at work on this connection")
	}
	st, err := s.db.parse(query)
	if err != nil {
		return Result{}, err
	}
	if len(args) != st.params {
		return Result{}, errorf(1210, "Incorrect arguments to EXECUTE: %d for %d placeholders", len(args), st.params)
	}
	p := &pending{stmt: st, args: make([]any, len(args))}
	for i, a := range args {
		if p.args[i], err = argument(a); err != nil {
			return Result{}, err
		}
	}
	s.db.purge()
	s.pending = p
	if s.tx != nil {
		p.start = len(s.tx.undo)
	}
	return s.Continue()
}

// Waiting reports whether the session's statement waits for a lock.
func (s *Session) Waiting() bool {
	return s.tx != nil && s.tx.waiting != nil || s.named != nil
}

// Continue goes on with a statement that was blocked.
func (s *Session) Continue() (Result, error) {
	s.running = true
	defer func() { s.running = false }()
	for {
		result, err := s.attempt()
		if blocked := (*Blocked)(nil); errors.As(err, &blocked) {
			if s.Waiting() {
				return Result{}, err
			}
			continue // granted in the meantime
		}
		s.finish(err)
		return result, err
	}
}

// attempt runs the pending statement as far as it gets.
func (s *Session) attempt() (Result, error) {
	if err := s.failed; err != nil {
		s.failed = nil
		return Result{}, err
	}
	if s.Waiting() {
		return Result{}, &Blocked{}
	}
	if s.pending == nil {
		return Result{}, errKilled
	}
	return s.execute(s.pending)
}

// finish ends a statement: a failed one leaves no change behind, a single one
// commits.
func (s *Session) finish(err error) {
	p := s.pending
	s.pending = nil
	tx := s.tx
	if tx == nil || p == nil {
		return
	}
	if changed := (*Error)(nil); errors.As(err, &changed) && changed.Number == RecordChanged {
		tx.rollback()
		return
	}
	if err != nil {
		tx.rollbackTo(p.start)
		s.db.recheck()
	}
	if !tx.begun {
		tx.commit()
	}
}

// wake tells that the session's wait is over.
func (s *Session) wake() {
	if !s.running && s.db.OnWake != nil {
		s.db.OnWake(s)
	}
}

// TimeOut ends the session's wait because it took too long: a row lock's by
// error 1205, which rolls back the statement and not the transaction,
// GET_LOCK's with 0. Then call Continue.
func (s *Session) TimeOut() {
	switch {
	case s.named != nil:
		s.giveUp()
		s.pending.work.timedOut = true
	case s.tx != nil && s.tx.waiting != nil:
		s.tx.cancel()
		s.failed = errTimeout
		s.db.recheck()
	}
}

// Kill ends the connection: its transaction is rolled back, its user locks
// are free.
func (s *Session) Kill() {
	if s.dead {
		return
	}
	s.dead, s.failed = true, errKilled
	delete(s.db.sessions, s.id)
	if s.named != nil {
		s.giveUp()
	}
	if tx := s.tx; tx != nil {
		if tx.waiting != nil {
			tx.cancel()
		}
		tx.rollback()
	}
	s.freeAll()
	s.pending = nil
}

// Crash ends the server and starts it again: what was committed is there,
// all else is gone.
func (db *DB) Crash() {
	wake := db.OnWake
	db.OnWake = nil // nobody lives to hear it
	for _, s := range db.connected() {
		s.Kill()
	}
	db.OnWake = wake
}

// connected are the sessions in the order in which they came.
func (db *DB) connected() []*Session {
	all := slices.Collect(maps.Values(db.sessions))
	slices.SortFunc(all, func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
	return all
}

func (db *DB) table(name string) (*table, error) {
	if t := db.tables[strings.ToLower(name)]; t != nil {
		return t, nil
	}
	return nil, noTable(name)
}
