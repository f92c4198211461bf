package histories

import (
	"errors"
	"fmt"
	"slices"
)

// The faults that a nemesis injects: the f of their marks. Each mark is one
// event of type info.
const (
	Kill      = "kill"      // SIGKILL a node or a worker
	Start     = "start"     // start a killed node again
	Pause     = "pause"     // freeze a node or a worker
	Resume    = "resume"    // let it go on
	Partition = "partition" // cut links
	Loss      = "loss"      // drop a share of packets, or one reply
	Skew      = "skew"      // jump or drift a wall clock
	Failover  = "failover"  // ask for a manual failover (switchover)
	Evict     = "evict"     // memory pressure: a node throws keys away
	Delay     = "delay"     // slow a step down (COMMIT)
	Crash     = "crash"     // kill a worker between two steps
	Heal      = "heal"      // undo partitions, losses, skews, delays
)

// Hits says whom a kind of fault concerns.
type Hits uint8

// Whom faults hit.
const (
	HitsTargets     Hits = iota // servers and worker processes, as the targets say
	HitsServers                 // servers only
	HitsWorkers                 // workers only, each by itself
	HitsLinks                   // links: of From with To, or of the targets with everybody
	HitsConnections             // connections with servers: these go on
	HitsAll                     // everything, or the links of From with To
)

// Kind is one kind of fault. Some F have several: what a pause does depends on
// its step.
type Kind struct {
	Name string // "lost-reply"; kinds without a special case are called as their F
	F    string
	when func(*Fault) bool // which faults of that F; nil: all that no row above takes

	Hits Hits
	// Ends is the f of the mark that ends it, name by name; a heal and the end of
	// the run end all. Empty: the kind does not last.
	Ends string
	// Undoes: it harms nothing and ends others.
	Undoes bool
	// Step says that it waits for a worker to reach a step, or an operation. What
	// happens then has a mark of its own, at its own time, if Later.
	Step, Later bool
	// OneMaster: of several masters, which share the keys, it hits one.
	OneMaster bool
	// Modes are the values of Fault.Mode, the default first.
	Modes []string
	// State is what a server is called meanwhile.
	State string

	check func(*Fault) error
}

// Kinds is the table of faults. The checker reads in it which faults last and
// what ends them, the report too; schedules are checked by it; the clusters
// resolve targets by it (package cluster/inject). Whoever adds a kind of fault
// begins here: docs/architecture.md has the list.
var Kinds = []Kind{
	{Name: "cut-connections", F: Kill, when: mode(ModeConnection), Hits: HitsConnections, OneMaster: true, Modes: killModes},
	{Name: Kill, F: Kill, Hits: HitsTargets, Ends: Start, OneMaster: true, Modes: killModes, State: "killed"},
	{Name: Start, F: Start, Hits: HitsTargets, Undoes: true, Modes: []string{ModeKeep, ModeEmpty}},

	{Name: "pause-renewals", F: Pause, when: step(StepRenewal), Hits: HitsWorkers, Ends: Resume},
	{Name: "pause-work", F: Pause, when: step(StepWork), Hits: HitsWorkers, Ends: Resume},
	{Name: "pause-at-step", F: Pause, when: anyStep, Hits: HitsWorkers, Ends: Resume, Step: true},
	{Name: Pause, F: Pause, Hits: HitsTargets, Ends: Resume, OneMaster: true, State: "paused"},
	{Name: "resume-renewals", F: Resume, when: step(StepRenewal), Hits: HitsWorkers, Undoes: true},
	{Name: "resume-work", F: Resume, when: step(StepWork), Hits: HitsWorkers, Undoes: true},
	{Name: Resume, F: Resume, Hits: HitsTargets, Undoes: true},

	{Name: Partition, F: Partition, Hits: HitsLinks, Ends: Heal, State: "cut"},
	{Name: "lost-reply", F: Loss, when: anyStep, Hits: HitsWorkers, Step: true, Later: true, check: ofOperation},
	{Name: Loss, F: Loss, Hits: HitsLinks, Ends: Heal, State: "cut"},

	{Name: Skew, F: Skew, Hits: HitsTargets, Ends: Heal, State: "skewed", check: bySomething},
	{Name: Failover, F: Failover, Hits: HitsServers, OneMaster: true},
	{Name: Evict, F: Evict, Hits: HitsServers, OneMaster: true},

	{Name: Delay, F: Delay, Hits: HitsWorkers, Ends: Heal, Step: true, check: ofSomething},
	{Name: "crash-at-step", F: Crash, when: anyStep, Hits: HitsWorkers, Step: true, Later: true},
	{Name: Crash, F: Crash, Hits: HitsWorkers},

	{Name: Heal, F: Heal, Hits: HitsAll, Undoes: true, check: ofLinks},
}

var killModes = []string{ModeHost, ModeProcess, ModeConnection}

func mode(m string) func(*Fault) bool { return func(f *Fault) bool { return f.Mode == m } }
func step(s string) func(*Fault) bool { return func(f *Fault) bool { return f.Step == s } }
func anyStep(f *Fault) bool           { return f.Step != "" }

// Operations are those whose reply a loss can wait for.
var Operations = []string{Acquire, Extend, Release, Write}

func ofOperation(f *Fault) error {
	if !slices.Contains(Operations, f.Step) {
		return fmt.Errorf("loss: there is no operation %q whose reply could get lost; there are %q", f.Step, Operations)
	}
	return nil
}

func bySomething(f *Fault) error {
	if f.Offset == 0 && f.Drift == 0 {
		return errors.New("skew by nothing: want offset or drift")
	}
	return nil
}

func ofSomething(f *Fault) error {
	if f.Step == "" {
		return errors.New(`a delay needs a step, such as "commit"`)
	}
	return nil
}

func ofLinks(f *Fault) error {
	switch {
	case len(f.Targets) > 0:
		return errors.New("heal undoes everything, or with from and to the links between them: it has no targets")
	case len(f.From) == 0 && len(f.To) > 0:
		return errors.New("heal: to without from")
	}
	return nil
}

// Faults are the F of all kinds.
func Faults() (all []string) {
	for _, k := range Kinds {
		if !slices.Contains(all, k.F) {
			all = append(all, k.F)
		}
	}
	return all
}

// wants reports whether the fault says whom it hits.
func (k *Kind) wants(f *Fault) bool {
	switch k.Hits {
	case HitsAll:
		return true
	case HitsLinks:
		return len(f.Targets)+len(f.From) > 0
	}
	return len(f.Targets) > 0
}

// hits says why the kind cannot hit a target.
func (k *Kind) hits(name string) error {
	worker := IsWorker(name)
	switch {
	case k.Hits == HitsWorkers && !worker:
		return fmt.Errorf("%s: %s is no worker", k.Name, name)
	case (k.Hits == HitsServers || k.Hits == HitsConnections) && worker:
		return fmt.Errorf("%s: %s is no server", k.Name, name)
	}
	return nil
}

// Kind is the row of the fault that a mark tells of; false if it tells of none.
func (e *Event) Kind() (Kind, bool) {
	f := e.Fault
	if f == nil || f.F != e.F {
		f = &Fault{F: e.F}
	}
	return f.Kind()
}
