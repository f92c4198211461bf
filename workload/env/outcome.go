package env

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"
)

// Errors of connections. A cluster wraps what its client library or model
// reports into one of these where the error is born.
var (
	// ErrRefused: no connection, nothing was sent.
	ErrRefused = errors.New("connection refused")
	// ErrTimeout: no answer in time. The request may have acted, or may act yet.
	ErrTimeout = errors.New("timeout")
	// ErrReset: the connection broke after the request was sent.
	ErrReset = errors.New("connection reset")
	// ErrNotOwner: the lock is not held by this token (any more). The
	// request had no effect.
	ErrNotOwner = errors.New("not the owner")
	// ErrBusy: the lock is held by another. The request had no effect.
	ErrBusy = errors.New("busy")
	// ErrDoubt goes around an error (%w: %w) that looks definite but is not:
	// of a step after another that acted, or of one server out of several.
	// Whatever else the error is, its outcome is unknown.
	ErrDoubt = errors.New("in doubt")
)

// ServerError is an error reply of a server, as it came.
type ServerError string

func (e ServerError) Error() string { return string(e) }

// Code is the first word of the reply: "READONLY".
func (e ServerError) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// definite lists the error replies of Redis after which a single command has
// certainly had no effect: each is checked before the command executes. All
// other replies are unknown, a time-out above all. Inside a script a write
// may have happened before the failing call, so scripts are unknown unless
// the server refuses them whole (refusesScript).
var definite = map[string]bool{
	"READONLY":    true, // a replica refuses writes
	"LOADING":     true, // still reading its dataset
	"MASTERDOWN":  true, // replica without master, replica-serve-stale-data no
	"CLUSTERDOWN": true, // slot not served
	"MOVED":       true, // slot is elsewhere
	"ASK":         true,
	"NOREPLICAS":  true, // min-replicas-to-write not met: checked before the write
	"OOM":         true, // maxmemory: checked before the write
	"BUSY":        true, // another script is running
	"NOAUTH":      true,
	"NOSCRIPT":    true,
	"WRONGTYPE":   true,
}

// definiteSQL lists the error replies of MariaDB and MySQL, by their number,
// after which the statement has certainly had no effect: it was refused, or it
// was rolled back. A cluster maps such a reply to a ServerError that begins
// with the number ("1062 Duplicate entry …"). What an error of COMMIT means
// only the transaction's beginner knows: that one is marked by ErrDoubt.
var definiteSQL = map[string]bool{
	"1020": true, // record has changed since last read (innodb_snapshot_isolation): transaction rolled back
	"1040": true, // too many connections
	"1048": true, // column cannot be null
	"1050": true, // table exists
	"1054": true, // unknown column
	"1062": true, // duplicate entry
	"1064": true, // syntax error
	"1136": true, // column count
	"1146": true, // no such table
	"1205": true, // lock wait timeout: the statement was rolled back, the transaction goes on
	"1213": true, // deadlock: the transaction was rolled back
	"1264": true, // out of range
	"1364": true, // no default value
	"1366": true, // incorrect value
	"1406": true, // data too long
	"1690": true, // out of range in an expression: unsigned stock below zero
	"4025": true, // CHECK constraint failed
}

// refusesScript lists the replies with which a server refuses a script
// before its first command.
var refusesScript = map[string]bool{
	"LOADING": true, "MASTERDOWN": true, "CLUSTERDOWN": true, "MOVED": true,
	"ASK": true, "BUSY": true, "NOAUTH": true, "NOSCRIPT": true,
	// Every script of ours writes with its first write command or not at
	// all, and a replica refuses that one.
	"READONLY": true,
}

// Unknown reports whether a request that ended with err may have acted, or
// may act yet. In doubt it says yes.
func Unknown(err error) bool {
	var se ServerError
	switch {
	case errors.Is(err, ErrDoubt):
		return true
	case err == nil, errors.Is(err, ErrRefused), errors.Is(err, ErrNotOwner), errors.Is(err, ErrBusy):
		return false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return true
	case errors.As(err, &se):
		return !definite[se.Code()] && !definiteSQL[se.Code()]
	}
	return true
}

// ScriptUnknown is Unknown for a script that may write more than once.
func ScriptUnknown(err error) bool {
	if se, ok := errors.AsType[ServerError](err); ok {
		return !refusesScript[se.Code()]
	}
	return Unknown(err)
}

// NewScript names a Lua script and computes its hash.
func NewScript(name, source string) *Script {
	sum := sha1.Sum([]byte(source))
	return &Script{Name: name, Source: source, SHA: hex.EncodeToString(sum[:])}
}
