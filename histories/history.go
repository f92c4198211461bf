package histories

import (
	"math"
	"time"
)

// Never is the Return of an operation that never completed.
const Never = math.MaxInt64

// Op is one operation: an invocation and, if there was one, its completion.
type Op struct {
	ID, Parent int64
	Process    Process
	F          string
	Key        string

	Call, Return         int64 // ns; Return is Never if it did not complete
	CallLine, ReturnLine int   // where in the file; ReturnLine 0 if it did not complete
	Outcome              Type  // OK, Fail or Info; Info if it did not complete

	Qty                             int64 // at least 1
	Work                            int64 // ns
	Order, Customer, Token, Error   string
	TTL                             int64  // ns, of an acquire or extend; 0: the lock's own
	Mode                            string // of an acquire: ReadMode, WriteMode or ""
	Fence, Until, Left, Seen, Value Num
	Replay, Final                   bool
	Whole                           bool // a cancel that named no quantity: it is of its whole order
}

// History is a recorded run, as read back: operations paired, the rest in
// order of time.
type History struct {
	Header Header
	Ops    []Op     // by Call; equal times by line
	Marks  []Event  // everything that is no operation: faults, roles, lost
	Audits []Event  // by time; the last one of a stock key counts
	End    int64    // ns: time of the last event
	Notes  []string // what reading tolerated: a torn last line
}

// Later is t + d, Never if that is too far.
func Later(t int64, d time.Duration) int64 {
	if t > Never-int64(d) {
		return Never
	}
	return t + int64(d)
}
