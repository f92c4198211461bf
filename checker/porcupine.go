package checker

import (
	"errors"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// bounds limits a search by porcupine. A search that would need more is not
// begun, or is given up: the outcome is Unknown.
type bounds struct {
	Time   time.Duration // per key
	Memory int64         // bytes per key, by estimate
}

// errDisagree reports that an exact check and porcupine answer differently
// on the same operations: an error of lockcheck, never of the history.
var errDisagree = errors.New("the exact check and porcupine disagree: an error of lockcheck")

// porcupineLock searches for a legal order of one lock key's acquires and
// releases; end as for mutex. Unknown comes with a reason.
func porcupineLock(ops []*histories.Op, spec histories.LockSpec, end func(*histories.Op) int64, b bounds) (Outcome, string) {
	return Unknown, "not searched"
}

// porcupineStock searches for a legal order of one stock key's sells, reads,
// restocks and cancels.
func porcupineStock(ops []*histories.Op, initial int64, b bounds) (Outcome, string) {
	return Unknown, "not searched"
}

// Picture draws the operations of one key that touch [from, to] (ns) as a
// self-contained HTML page of porcupine's.
func Picture(h *histories.History, key string, from, to int64) ([]byte, error) {
	return nil, errors.New("no picture")
}
