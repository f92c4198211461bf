package sql

import (
	"fmt"
	"strconv"
	"time"
)

// Error is an error reply of the server, with its number and wording.
type Error struct {
	Number  int
	Message string
}

// Error is the number and the wording: "1062 Duplicate entry 'a' for key 'PRIMARY'".
func (e *Error) Error() string { return strconv.Itoa(e.Number) + " " + e.Message }

// Numbers of errors that callers may want to tell apart.
const (
	DuplicateEntry  = 1062
	SyntaxError     = 1064 // also: not modelled here
	LockWaitTimeout = 1205
	Deadlock        = 1213
	RecordChanged   = 1020 // innodb_snapshot_isolation
	ConnectionLost  = 1927 // the session was killed
)

// Blocked is no error reply: the statement waits for a lock of another
// session. DB.OnWake tells when the wait is over; then call Continue.
type Blocked struct {
	Limit  time.Duration // after which the caller should call TimeOut
	Holder int64         // connection that is waited for
	On     string        // what is waited for, for people
}

// Error says who waits for whom.
func (b *Blocked) Error() string {
	return fmt.Sprintf("waits for %s, held by connection %d", b.On, b.Holder)
}

func errorf(number int, format string, args ...any) *Error {
	return &Error{number, fmt.Sprintf(format, args...)}
}

// notModelled refuses what a real server would do.
func notModelled(format string, args ...any) *Error {
	return errorf(SyntaxError, "not modelled by the simulated MariaDB: "+format, args...)
}

func duplicateEntry(entry, key string) *Error {
	return errorf(DuplicateEntry, "Duplicate entry '%s' for key '%s'", entry, key)
}

func unknownColumn(name, where string) *Error {
	return errorf(1054, "Unknown column '%s' in '%s'", name, where)
}

func noTable(name string) *Error {
	return errorf(1146, "Table '%s.%s' doesn't exist", Schema, name)
}

var (
	errTimeout  = &Error{LockWaitTimeout, "Lock wait timeout exceeded; try restarting transaction"}
	errDeadlock = &Error{Deadlock, "Deadlock found when trying to get lock; try restarting transaction"}
	errKilled   = &Error{ConnectionLost, "Connection was killed"}
)
