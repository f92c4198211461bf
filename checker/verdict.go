// Package checker judges histories: history in, verdict with evidence out.
//
// It has pure functions only: no clock, no network, no files; it is the only
// importer of porcupine. Start with Check. Each property of docs/checking.md
// is one file: its rule, its smallest evidence, its cause. The exact checks
// (checker/linear) decide at any size; porcupine re-decides whatever is
// small enough, and a disagreement is an error of ours that fails loudly.
//
// No false alarm, no missed violation. Where that is impossible, the verdict
// is Unknown and says why.
package checker

import (
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// Outcome is one of valid, unknown, invalid, and, of a property or a level,
// not looked at.
type Outcome string

// Invalid outranks Unknown outranks Valid outranks NotLooked.
const (
	Valid     Outcome = "valid"
	Unknown   Outcome = "unknown"
	Invalid   Outcome = "invalid"
	NotLooked Outcome = "not looked at" // the history has nothing that it would be about
)

// rank orders outcomes. One that is not known here, or none, ranks lowest.
func (o Outcome) rank() int {
	return slices.Index([]Outcome{NotLooked, Valid, Unknown, Invalid}, o)
}

// Outranks reports whether o counts for more than other where two are put together.
func (o Outcome) Outranks(other Outcome) bool { return o.rank() > other.rank() }

// Worse is the outcome that counts for both.
func Worse(a, b Outcome) Outcome {
	if b.Outranks(a) {
		return b
	}
	return a
}

// Level says what a property protects.
type Level string

// The levels are judged apart: many incidents have a perfect lock and a
// broken sale, or the other way round.
const (
	LockLevel     Level = "lock"
	UseLevel      Level = "use"
	BusinessLevel Level = "business"
)

// Property is the word for what can be broken.
type Property string

// The properties, DESIGN §5.
const (
	DoubleHold           Property = "double-hold"
	LockNotLinearizable  Property = "lock-not-linearizable"
	LeaseGap             Property = "lease-gap"
	ForeignRelease       Property = "foreign-release"
	FenceRegression      Property = "fence-regression"
	LeaseLost            Property = "lease-lost"
	StuckLock            Property = "stuck-lock"
	Deadlock             Property = "deadlock"
	MaxHold              Property = "max-hold"
	ZombieTime           Property = "zombie"
	UnlockedWrite        Property = "unlocked-write"
	StaleWrite           Property = "stale-write"
	Oversell             Property = "oversell"
	DuplicateOrder       Property = "duplicate-order"
	StockMismatch        Property = "stock-mismatch"
	StockNotLinearizable Property = "stock-not-linearizable"
)

// Properties is the table of properties, in the order in which verdicts list
// them.
var Properties = [...]struct {
	Name   Property
	Level  Level
	Broken string // when
}{
	{DoubleHold, LockLevel, "two workers believe at the same time that they hold one lock"},
	{ForeignRelease, LockLevel, "a release deleted a lock that another worker held"},
	{LeaseGap, LockLevel, "a renewal said ok although the lease had ended and someone else held the lock in between"},
	{LeaseLost, LockLevel, "a release or renewal was told \"not the owner\" inside a lease that nothing recorded can have ended"},
	{FenceRegression, LockLevel, "a later grant carries a number not above an earlier one, or the store took a smaller one after a larger"},
	{StuckLock, LockLevel, "nobody holds the lock, yet nobody gets it for longer than TTL + grace"},
	{Deadlock, LockLevel, "each of some workers holds a lock and waits for the one that the next of them holds"},
	{MaxHold, LockLevel, "a worker held a lock for longer than max-hold"},
	{ZombieTime, LockLevel, "nobody held the lock, and it was refused for longer than max-zombie"},
	{LockNotLinearizable, LockLevel, "no legal order fits the acquires and releases of a key"},
	{StaleWrite, UseLevel, "a worker wrote after its hold on the lock had ended"},
	{UnlockedWrite, UseLevel, "a sell wrote without the lock that other sells of the stock key take"},
	{Oversell, BusinessLevel, "more units were sold than existed"},
	{DuplicateOrder, BusinessLevel, "one order took effect more than once"},
	{StockMismatch, BusinessLevel, "the units that left the stock are not those in the orders"},
	{StockNotLinearizable, BusinessLevel, "no legal order fits the sells and reads of a key"},
}

// rank is the place of a property in Properties.
func (p Property) rank() int {
	for i := range Properties {
		if Properties[i].Name == p {
			return i
		}
	}
	panic("property " + string(p) + " is not in the table")
}

// Level is the level that a property is judged at.
func (p Property) Level() Level { return Properties[p.rank()].Level }

// Cause is a word for why, when it can be told.
type Cause string

// The causes, DESIGN §5.
const (
	CauseUnknown      Cause = ""
	LeaseRanOut       Cause = "lease ran out while working"
	LostAtFailover    Cause = "lost at failover"
	SplitBrain        Cause = "split brain"
	ReleasedByAnother Cause = "released by another"
	OwnLateRelease    Cause = "a late release of its own"
	DeletedByAnother  Cause = "deleted by another"
	ClockJumped       Cause = "clock jumped"
	RestartedEmpty    Cause = "server restarted empty"
	BeforeCommit      Cause = "release before commit"
	NeverReleased     Cause = "never released"
	RenewalStopped    Cause = "renewal stopped"
	RenewedReleased   Cause = "renewed after its release"
	NotAtomic         Cause = "check and act not atomic"
	SharedOwner       Cause = "two workers with one owner id"
	FailedOpen        Cause = "went on without the lock"
	Evicted           Cause = "evicted"
	ConnectionGone    Cause = "gone with its connection"
	OldStock          Cause = "read old stock"
	RetriedBlind      Cause = "tried again after an unknown outcome"
	DiedHalfway       Cause = "died between stock and order"
	NeverAsked        Cause = "never asked for the lock"
	Crosswise         Cause = "locks taken crosswise"
	AskedAgain        Cause = "asked for the lock that it held"
)

// Violation is one broken property, with what proves it.
type Violation struct {
	Property Property `json:"property"`
	Level    Level    `json:"level"`
	Key      string   `json:"key"`
	// Summary is one sentence for a tired person: "worker 4 and worker 7
	// both held stock:sku-2 for 1.84 s, from 12.9 s to 14.7 s".
	Summary string `json:"summary"`
	// Cause and Because: the word, and a sentence with the events:
	// "the lock was lost at failover (redis-1 killed at 12.3 s, redis-2 promoted at 14.6 s)".
	Cause   Cause  `json:"cause,omitempty"`
	Because string `json:"because,omitempty"`
	// Workers and Ops are the culprits, first the one to blame; Evidence is
	// the ids of the fewest operations that show it, in the order that makes
	// the contradiction plain. Orders names orders, for duplicate-order.
	Workers  []histories.Process `json:"workers,omitempty"`
	Ops      []int64             `json:"ops,omitempty"`
	Evidence []int64             `json:"evidence,omitempty"`
	Orders   []string            `json:"orders,omitempty"`
	// From and To bound the violation in time (ns): the overlap of a double
	// hold, the reach of a stale write.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Faults are the nemesis events in force, by index into History.Marks.
	Faults []int `json:"faults,omitempty"`
	// Units, for business properties: over the stock, leaked or invented.
	Units int64 `json:"units,omitempty"`
}

// Result is the verdict on one property over the whole history.
type Result struct {
	Property Property `json:"property"`
	Level    Level    `json:"level"`
	Outcome  Outcome  `json:"outcome"`
	Reason   string   `json:"reason,omitempty"` // of unknown and not looked at; of invalid: that another property has told it already
	Count    int      `json:"count"`            // of violations, listed or not
	Method   string   `json:"method,omitempty"` // how it was decided: "exact", "porcupine", "exact on 12 keys, porcupine on 2"
	Recheck  string   `json:"-"`                // "porcupine agrees on 12 of 14 keys": how many it had time for depends on the machine, so no file has it
}

// Warning is no violation, but worth a look.
type Warning struct {
	Word string `json:"word"` // "lock-busy", "low-stock", "slow-grants", "renewals-missed", "units-in-doubt", "starvation"
	Text string `json:"text"`
}

// Counts are the numbers beside a verdict.
type Counts struct {
	Ops       int            `json:"ops"`
	Grants    int            `json:"grants"`
	Outcomes  map[string]int `json:"outcomes"` // "sell ok", "sell fail busy", "acquire info", …
	Sold      int64          `json:"sold"`     // units in accepted orders
	Had       int64          `json:"had"`      // units that existed, of the keys touched
	Oversold  int64          `json:"oversold"` // units sold above what existed, over all keys
	Settled   int            `json:"settled"`  // unknown sells that the audit settled
	StillOpen int            `json:"unknown"`  // unknown sells that it did not
}

// Verdict is the judgement on one history.
type Verdict struct {
	Outcome    Outcome           `json:"outcome"`
	Reason     string            `json:"reason,omitempty"` // of unknown, for the whole run: it meant too little
	Advice     string            `json:"advice,omitempty"` // of unknown: what to do about it
	Levels     map[Level]Outcome `json:"levels"`
	Results    []Result          `json:"results"`
	Violations []Violation       `json:"violations"` // by time, at most MaxListed per property
	Warnings   []Warning         `json:"warnings,omitempty"`
	Counts     Counts            `json:"counts"`
	Zombie     *Zombie           `json:"zombie,omitempty"`
	Source     string            `json:"source"` // "simulated Redis", "Redis 7.0.15"
	Notes      []string          `json:"notes,omitempty"`
}

// First is the first violation by time, nil if there is none.
func (v *Verdict) First() *Violation {
	if len(v.Violations) == 0 {
		return nil
	}
	return &v.Violations[0]
}

// Doubt makes a property unknown that the history alone would call valid, and with
// it its level and the whole: something outside the history says why.
func (v *Verdict) Doubt(p Property, why string) {
	r := &v.Results[p.rank()]
	r.Outcome, r.Reason = Unknown, why
	v.Levels[r.Level] = Worse(v.Levels[r.Level], Unknown)
	v.Outcome = Worse(v.Outcome, Unknown)
	if v.Outcome == Unknown {
		v.Reason, v.Advice = fmt.Sprintf("%s: %s", p, why), ""
	}
}
