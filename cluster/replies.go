package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/histories"
)

// reading are the commands that change nothing.
var reading = []string{"GET", "HGET", "EXISTS", "HEXISTS", "TTL", "PTTL", "TIME", "LRANGE", "CLUSTER", "PING"}

// Tells reports whether a reply to a command tells its worker that an operation
// f has acted: a fault that loses replies to f waits for one of these. A 0 means
// that nothing was done, but for a release, where it may be a count.
func Tells(f, command string, reply any) bool {
	if reply == nil || slices.Contains(reading, strings.ToUpper(command)) {
		return false
	}
	return f == histories.Release || reply != int64(0)
}

// TellsSQL is Tells of a SQL statement and its rows: a COMMIT tells that all of its
// transaction has acted, the functions for locks tell it by a 1.
func TellsSQL(f, statement string, rows [][]any) bool {
	done := len(rows) == 1 && len(rows[0]) == 1 && rows[0][0] == int64(1)
	switch statement = strings.ToUpper(statement); {
	case statement == Commit:
		return true
	case strings.Contains(statement, " GET_LOCK("):
		return f == histories.Acquire && done
	case strings.Contains(statement, " RELEASE_LOCK("):
		return f == histories.Release && done
	}
	return false
}

// Commit is the statement that ends a transaction.
const Commit = "COMMIT"

// Statement is a SQL statement, in place of the reply to it.
type Statement string

// LostReply is the proof that a reply, or the one to a Statement, got lost.
func LostReply(worker int, f string, reply any) string {
	text, which := fmt.Sprint(reply), "the reply"
	if _, isSQL := reply.(Statement); isSQL {
		which = "the reply to"
	}
	return fmt.Sprintf("%s never got %s %q in its %s", histories.WorkerName(worker), which, text[:min(len(text), 30)], f)
}
