// Package histories is the vocabulary of lockcheck: what happened in a run,
// event by event. Everything before a history writes it, everything after it
// only reads it.
//
// A history is a Header followed by Events, one JSON object a line (JSON
// Lines). The words are Jepsen's, with Jepsen's meaning: a process invokes an
// operation f and completes it with ok (it happened), fail (it certainly had
// no effect) or info (nobody knows). Times are nanoseconds since the start of
// the run on one monotonic clock shared by all processes.
//
// Start with Event (one line), then History (what Read makes of the lines:
// invocations and completions paired into Ops), then Recorder (how a run
// writes them) and Folder (where a run keeps them). docs/history-format.md
// has the format in full.
//
// The package imports nothing else of lockcheck. It judges nothing: that is
// package checker.
package histories

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Type says which end of an operation an event is.
type Type string

// The types of events, Jepsen's words.
const (
	Invoke Type = "invoke" // an operation begins
	OK     Type = "ok"     // it had its effect
	Fail   Type = "fail"   // it certainly had no effect
	Info   Type = "info"   // nobody knows whether it had; also: a note
)

// The functions f that workers and the auditor perform.
const (
	Acquire = "acquire" // ok: token, perhaps fence and until
	Extend  = "extend"  // renewal; ok moves until
	Release = "release" // ok: deleted; fail: not the owner
	Break   = "break"   // the deletion of a lock by anybody: a janitor, an operator
	Lost    = "lost"    // the design told its worker that the lock is gone
	Sell    = "sell"    // one whole purchase
	Read    = "read"    // a stock read inside a sell
	Write   = "write"   // a stock write inside a sell
	Restock = "restock" // put units in
	Cancel  = "cancel"  // undo one order
	Audit   = "audit"   // stock and orders as the store has them, at the end
)

// What the cluster was seen to do by itself, and the phases of the run: marks of
// process nemesis, of type info, like the faults that it injects (see Kinds).
const (
	Promoted = "promoted" // a replica became master
	Demoted  = "demoted"  // an old master became replica
	Healthy  = "healthy"  // the cluster was checked to be well
	Phase    = "phase"    // the run entered a phase: Note says which
)

// PhaseFinal is the phase of the last attempts: by then every fault is healed.
const PhaseFinal = "final"

// Modes of an acquire, for locks that several readers may hold at once.
const (
	ReadMode  = "read"  // beside other readers
	WriteMode = "write" // alone; what an acquire without a mode means
)

// functions are those of workers and of the auditor.
var functions = [...]string{Acquire, Extend, Release, Break, Lost, Sell, Read, Write, Restock, Cancel, Audit}

// marks are the functions of process nemesis. What stands in no list cannot
// be read back.
var marks = slices.Concat(Faults(), []string{Promoted, Demoted, Healthy, Phase})

// Functions are the f of workers, of the auditor and of the nemesis.
func Functions() []string { return slices.Concat(functions[:], marks) }

// Reasons a sell fails with, as its Error.
const (
	SoldOut = "sold-out" // seen says how many units were left
	Busy    = "busy"     // the lock was taken
)

// Refused is the Error of an operation that certainly did nothing, for a
// reason that says nothing about the lock: "refused: server is starting".
const Refused = "refused"

// NotOwner is the Error of a release or extend that failed because the lock
// was not held by its worker (any more). Other errors of a failed release say
// only that nothing was done.
const NotOwner = "not the owner"

// Process numbers who did it: workers count from 0.
type Process int32

// Processes that are not workers.
const (
	Nemesis Process = -1 // injects faults
	Auditor Process = -2 // looks at the store when all is quiet
)

// String is the number of a worker, or the name of another process.
func (p Process) String() string {
	switch p {
	case Nemesis:
		return "nemesis"
	case Auditor:
		return "audit"
	}
	return strconv.Itoa(int(p))
}

// MarshalJSON writes workers as numbers, other processes as names.
func (p Process) MarshalJSON() ([]byte, error) {
	if p >= 0 {
		return strconv.AppendInt(nil, int64(p), 10), nil
	}
	return strconv.AppendQuote(nil, p.String()), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Process) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"nemesis"`:
		*p = Nemesis
	case `"audit"`:
		*p = Auditor
	default:
		n, err := strconv.ParseInt(string(b), 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("process is %.20s: want a number from 0, \"nemesis\" or \"audit\"", b)
		}
		*p = Process(n)
	}
	return nil
}

// Num is a number that an event may lack. The zero Num is absent.
type Num struct {
	N     int64
	Known bool
}

// N makes a known number.
func N(n int64) Num { return Num{n, true} }

// At makes a known number of nanoseconds.
func At(d time.Duration) Num { return N(int64(d)) }

// IsZero tells encoding/json's omitzero to leave the field out.
func (n Num) IsZero() bool { return !n.Known }

// String is the number, or "?".
func (n Num) String() string {
	if !n.Known {
		return "?"
	}
	return strconv.FormatInt(n.N, 10)
}

// MarshalJSON writes the bare number.
func (n Num) MarshalJSON() ([]byte, error) {
	if !n.Known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, n.N, 10), nil
}

// UnmarshalJSON reads a bare number or null.
func (n *Num) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Num{}
		return nil
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("%.20s is not a whole number", b)
	}
	*n = N(v)
	return nil
}

// Event is one line of a history. Which fields it has depends on F.
type Event struct {
	Time    int64   `json:"time"` // ns since the start of the run
	Process Process `json:"process"`
	Type    Type    `json:"type"`
	F       string  `json:"f"`
	Op      int64   `json:"op,omitempty"`     // pairs an invocation with its completion; from 1
	Parent  int64   `json:"parent,omitempty"` // the sell that this step belongs to

	Key      string `json:"key,omitempty"`      // lock key or stock key
	Qty      int64  `json:"qty,omitempty"`      // units asked for; absent means 1
	Order    string `json:"order,omitempty"`    // order id: the same id means the same intent
	Customer string `json:"customer,omitempty"` // who buys
	Work     int64  `json:"work,omitempty"`     // ns the sell will work inside its critical section
	Token    string `json:"token,omitempty"`    // unique per acquire
	Fence    Num    `json:"fence,omitzero"`     // grows with each grant; on writes: the number shown to the store
	Until    Num    `json:"until,omitzero"`     // ns: the deadline that the design shows its worker
	Left     Num    `json:"left,omitzero"`      // stock after a sell or write
	Seen     Num    `json:"seen,omitzero"`      // stock seen by a refused sell
	Value    Num    `json:"value,omitzero"`     // stock read, or stock an absolute write set, or audited
	Replay   bool   `json:"replay,omitempty"`   // ok because the same order had been taken before
	Final    bool   `json:"final,omitempty"`    // one of the last attempts, after healing and quiet
	Mode     string `json:"mode,omitempty"`     // acquire: read or write; absent means write
	TTL      int64  `json:"ttl,omitempty"`      // ns: the lease that its worker asks for, if that is not the lock's
	Error    string `json:"error,omitempty"`

	// Orders are the order rows as the store has them, duplicates included, for
	// audits. Empty and not nil: the store was asked and has none. Nil: nobody asked.
	Orders []Order `json:"orders,omitzero"`

	Targets []string `json:"targets,omitempty"` // nemesis: nodes or workers
	Fault   *Fault   `json:"fault,omitempty"`   // nemesis: the fault in full
	Proof   string   `json:"proof,omitempty"`   // nemesis: what showed that the fault bit; absent if nothing did
	Note    string   `json:"note,omitempty"`
}

// Order is one order row found by the audit.
type Order struct {
	ID  string `json:"order"`
	Qty int64  `json:"qty"`
}
