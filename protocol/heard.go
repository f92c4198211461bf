package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Heard is something that a child said, or that can be said about it: a Ready,
// an Answer, a Note, a Step or a Finding.
type Heard interface{ heard() }

func (Ready) heard()   {}
func (Answer) heard()  {}
func (Note) heard()    {}
func (Step) heard()    {}
func (Finding) heard() {}

// Ready is what a child says of itself when it can be asked.
type Ready struct {
	Name string        // of the lock, with its version: "my-lock 1.4"
	Can  []string      // see the Can… words
	TTL  time.Duration // the lease that it really asks for; the hello's unless it says so; 0: none, held until released
}

// What a child can do besides acquire and release.
const (
	CanExtend    = "extend"    // a lease can be renewed by the request extend
	CanLost      = "lost"      // it tells by a note when a hold is gone
	CanRenews    = "renews"    // it renews by itself, in the background
	CanFence     = "fence"     // each grant has a number that grows
	CanDeadline  = "deadline"  // each grant says how long it is valid
	CanReentrant = "reentrant" // the worker that holds it may take it again
	CanSell      = "sell"      // it makes whole sales
	CanAnnounce  = "announce"  // it tells by notes when a sale takes the lock, releases it and writes
	CanStep      = "step"      // it stops at steps
)

var canWords = []string{CanExtend, CanLost, CanRenews, CanFence, CanDeadline, CanReentrant, CanSell, CanAnnounce, CanStep}

// Has says whether a child can do something.
func (r Ready) Has(can string) bool { return slices.Contains(r.Can, can) }

// Outcome is how a request ended.
type Outcome string

// The outcomes. All but Unknown are definite, and all but OK and Unknown mean
// that there was certainly no effect.
const (
	OK      Outcome = "ok"
	Busy    Outcome = "busy"     // another has the lock
	Gone    Outcome = "gone"     // extend, release: the lock is not held by this grant any more
	SoldOut Outcome = "sold_out" // sell: not enough units
	Refused Outcome = "refused"  // for a reason that says nothing about lock or stock
	Unknown Outcome = "unknown"  // nobody knows
)

// Definite says that there is no doubt about what happened.
func (o Outcome) Definite() bool { return o != Unknown }

// outcomes are those that each request can have.
var outcomes = map[string][]Outcome{
	Acquire: {OK, Busy, Refused, Unknown},
	Extend:  {OK, Gone, Refused, Unknown},
	Release: {OK, Gone, Refused, Unknown},
	Sell:    {OK, SoldOut, Busy, Refused, Unknown},
}

// Answer is how a request ended. Each request gets exactly one, if need be of
// the session itself: then it is unknown.
type Answer struct {
	Request Request
	Outcome Outcome
	Why     string // of refused and unknown, in words

	Asked time.Duration // right before the request was sent
	Read  time.Duration // when the answer had been read

	Token string        // of a grant; may be empty
	Until time.Duration // acquire, extend: the end of the lease, by what the child said; 0: it said nothing
	Fence Number        // of a grant
	Left  Number        // of a sell: units afterwards
	Seen  Number        // of a sell that was sold out: units that there were
}

// Number is a number that a message may lack.
type Number struct {
	N     int64
	Known bool
}

// Note is something that a child tells unasked.
type Note struct {
	Note  string        // see the Note… words
	At    time.Duration // when it had been read
	Key   string
	Token string
	Until time.Duration // acquired, renewed: the end of the lease, on the safe side; 0: nothing was said
	Fence Number        // acquired
	Left  Number        // wrote: units afterwards
}

// What a child tells unasked.
const (
	NoteAcquired  = "acquired"  // a shop took a lock for the sale under way
	NoteReleasing = "releasing" // it is about to send the release
	NoteWriting   = "writing"   // it is about to write the stock
	NoteWrote     = "wrote"     // it has
	NoteRenewed   = "renewed"   // a renewal in the background was granted
	NoteLost      = "lost"      // a hold is gone
)

var noteWords = []string{NoteAcquired, NoteReleasing, NoteWriting, NoteWrote, NoteRenewed, NoteLost}

// Step is a place between two commands at which a child waits for Session.Go.
type Step struct {
	Step string // "before-write"
	ID   int64  // of the request that it serves; 0: none
	At   time.Duration
}

// Kind names what is wrong with what a child does.
type Kind string

// The kinds of findings. After some of them there is nothing more to be had
// from a child: these are fatal.
const (
	Prose        Kind = "prose"         // a line that is no JSON object
	Malformed    Kind = "malformed"     // a JSON object that is no message
	WrongAnswer  Kind = "wrong-answer"  // an outcome or a field that the request does not have
	SecondAnswer Kind = "second-answer" // the request has been answered
	LateAnswer   Kind = "late-answer"   // the request has been given up
	FutureAnswer Kind = "future-answer" // the request has not been sent yet
	BadValidity  Kind = "bad-validity"  // a lease that is longer than the one asked for, or negative
	OutOfTurn    Kind = "out-of-turn"   // a message that is not due: a second ready, a step of no request

	LongLine   Kind = "long-line"   // fatal: more than MaxLine bytes without an end
	Nonsense   Kind = "nonsense"    // fatal: more findings than can be borne
	NeverReady Kind = "never-ready" // fatal: no ready in time
	NoAnswer   Kind = "no-answer"   // fatal: no answer in time
	Ended      Kind = "ended"       // fatal: its output ended before its input
	Deaf       Kind = "deaf"        // fatal: it does not read what is sent

	WouldNotEnd Kind = "would-not-end" // the end of its input was not enough to end it
	LeftBehind  Kind = "left-behind"   // processes that it started outlived it
)

var fatal = []Kind{LongLine, Nonsense, NeverReady, NoAnswer, Ended, Deaf}

// Finding is something about a child that its author should know.
type Finding struct {
	Kind    Kind
	At      time.Duration
	Problem string // "answers acquire 3 a second time"
	Line    string // what it wrote, bounded; empty if it is about silence
	Bytes   int    // how long the line was, as far as it was read
}

// Fatal says that the child is no use any more and is to be ended.
func (f Finding) Fatal() bool { return slices.Contains(fatal, f.Kind) }

// Line is a line of the conversation.
type Line struct {
	At   time.Duration
	Sent bool // by lockcheck
	Text string
}

// String marks who wrote the line.
func (l Line) String() string {
	if l.Sent {
		return "→ " + l.Text
	}
	return "← " + l.Text
}

// quoted is how much of a line a finding keeps, in bytes.
const quoted = 160

// String is the finding with its line quoted.
func (f Finding) String() string {
	if f.Line == "" {
		return f.Problem
	}
	text := f.Problem + ": " + strconv.Quote(f.Line)
	if f.Bytes > len(f.Line) {
		text += fmt.Sprintf("… (%d bytes)", f.Bytes)
	}
	return text
}
