package histories

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/internal/spelling"
)

// Fault is one thing done to a cluster, as data: schedules are lists of
// them, clusters inject them, histories record them. What each kind of fault
// is and does stands in Kinds.
//
// Targets are names of nodes ("redis-1"), of workers ("worker-3"), or roles
// that are resolved when the fault is injected (see Roles).
type Fault struct {
	F       string   `json:"f"`
	Targets []string `json:"targets,omitempty"`

	// Partition and loss: every link between a member of From and a member of To,
	// or everybody else if To is empty; Targets alone mean the same as From alone.
	// Heal: these links only.
	From   []string `json:"from,omitempty"`
	To     []string `json:"to,omitempty"`
	OneWay bool     `json:"one-way,omitempty"` // only what From sends to To is lost

	Offset time.Duration `json:"offset,omitempty"` // skew: jump the wall clock by this (ns)
	Drift  float64       `json:"drift,omitempty"`  // skew: run fast by this share (0.01: 1 %)
	Rate   float64       `json:"rate,omitempty"`   // loss: share of packets dropped, default all; evict: share of keys thrown away, default half
	For    time.Duration `json:"for,omitempty"`    // delay: how long a step takes longer; else how long to wait for a worker to reach the step, default StepLimit (ns)
	Step   string        `json:"step,omitempty"`   // crash, delay, pause: the step concerned; loss: the operation whose reply gets lost, once
	Mode   string        `json:"mode,omitempty"`   // kill: "host" (silence, default), "process" (peers see a reset) or "connection" (of clients, with To of these only); start: "keep" (what persistence kept, default) or "empty"
}

// The ways in which faults are done: Fault.Mode.
const (
	ModeHost       = "host"       // kill: the whole machine; its peers hear nothing
	ModeProcess    = "process"    // kill: the server alone; its peers see their connections reset
	ModeConnection = "connection" // kill: the connections of clients; the server goes on
	ModeKeep       = "keep"       // start: with what persistence kept
	ModeEmpty      = "empty"      // start: with nothing
)

// The steps of a sale at which a fault can be aimed: Fault.Step. Designs pass
// them by Env.Step.
const (
	StepBeforeExpire   = "before-expire"   // between SETNX and EXPIRE
	StepBeforeDelete   = "before-delete"   // between the look at the owner and the deletion
	StepBeforeWrite    = "before-write"    // between the look at the deadline and the write
	StepBeforeOrder    = "before-order"    // between the stock and the order
	StepBeforeRollback = "before-rollback" // before units are put back
	StepBeforeRelease  = "before-release"
	StepCommit         = "commit"
	// The steps of a pause that stop a part of a worker only.
	StepRenewal = "renewal" // what it does periodically, and nothing else
	StepWork    = "work"    // its work; what it does periodically goes on
)

// StepLimit is how long a fault waits for a worker to reach its step, if it
// does not say.
const StepLimit = 8 * time.Second

// LongestRun bounds every time in a schedule.
const LongestRun = 24 * time.Hour

// Kind is the fault's row in Kinds; false if there is none.
func (f *Fault) Kind() (Kind, bool) {
	for _, k := range Kinds {
		if k.F == f.F && (k.when == nil || k.when(f)) {
			return k, true
		}
	}
	return Kind{}, false
}

// LosesPackets is the share of packets that a loss or a partition drops.
func (f *Fault) LosesPackets() float64 {
	if f.Rate == 0 {
		return 1
	}
	return f.Rate
}

// Evicts is the share of keys that an eviction throws away.
func (f *Fault) Evicts() float64 {
	if f.Rate == 0 {
		return 0.5
	}
	return f.Rate
}

// Waits is how long the fault waits for a worker to reach its step.
func (f *Fault) Waits() time.Duration {
	if f.F == Delay || f.For == 0 {
		return StepLimit
	}
	return f.For
}

// Names are all names and roles in the fault.
func (f *Fault) Names() []string { return slices.Concat(f.Targets, f.From, f.To) }

// Check reports a fault that says too little or what no cluster can do. Whether
// a cluster has the targets only the cluster knows.
func (f *Fault) Check() error {
	if f.F == "" {
		return fmt.Errorf("no fault")
	}
	k, known := f.Kind()
	if !known {
		return unknownWord("no fault is", f.F, Faults())
	}
	switch {
	case !k.wants(f):
		return fmt.Errorf("%s of nothing: want targets%s", f.F, map[bool]string{true: " or from", false: ""}[k.Hits == HitsLinks])
	case slices.Contains(f.Names(), ""):
		return fmt.Errorf("%s: a target without a name", f.F)
	case f.Rate < 0 || f.Rate > 1:
		return fmt.Errorf("%s: rate is %v: want 0 to 1", f.F, f.Rate)
	case f.Offset < -LongestRun || f.Offset > LongestRun:
		return fmt.Errorf("skew: offset is %v: a day is the most", f.Offset)
	case f.Drift < -1 || f.Drift > 1:
		return fmt.Errorf("skew: drift is %v: want -1 to 1", f.Drift)
	case f.For < 0:
		return fmt.Errorf("for is %v, before the run", f.For)
	case f.For > LongestRun:
		return fmt.Errorf("for is %v: no run is longer than %v", f.For, LongestRun)
	case f.Mode != "" && !slices.Contains(k.Modes, f.Mode):
		return fmt.Errorf("%s has no mode %q; it has %q", f.F, f.Mode, k.Modes)
	}
	for _, name := range f.Targets {
		if err := k.hits(name); err != nil {
			return err
		}
	}
	if k.check != nil {
		return k.check(f)
	}
	return nil
}

// unknownWord says that there is no such word, and which one is near.
func unknownWord(what, word string, known []string) error {
	if near := spelling.Nearest(word, known); near != "" {
		return fmt.Errorf("%s called %.40q: did you mean %q?", what, word, near)
	}
	return fmt.Errorf("%s called %.40q", what, word)
}

// WorkerName is the name of a worker in a fault or a mark: "worker-3". The
// process that some workers share is named after the first of them.
func WorkerName(worker int) string { return fmt.Sprintf("worker-%d", worker) }

// WorkerNumber reads what WorkerName writes. Other names have none.
func WorkerNumber(name string) (worker int, ok bool) {
	digits, ok := strings.CutPrefix(name, "worker-")
	if !ok || digits == "" || len(digits) > 9 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	for _, d := range digits {
		worker = 10*worker + int(d-'0')
	}
	return worker, true
}
