package nemesis

import (
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// Format is the version of the schedule format.
const Format = "lockcheck-schedule/1"

// Schedule is what a nemesis will do in a run, as data.
type Schedule struct {
	Format   string    `json:"format"`
	Nemesis  string    `json:"nemesis"`
	Episodes []Episode `json:"episodes"`
}

// Episode is a few steps that belong together: cut, kill, wait, heal.
type Episode struct {
	Name  string        `json:"name"`
	At    time.Duration `json:"at"` // ns since the start of the run; not before
	Steps []Step        `json:"steps"`
}

// Step waits, then injects one fault. An episode whose trigger does not come
// in time gives up: it skips to its healing steps.
type Step struct {
	On    *Trigger        `json:"on,omitempty"`    // wait for this to happen
	After time.Duration   `json:"after,omitempty"` // then this long (ns), or since the previous step
	Fault histories.Fault `json:"fault"`
}

// Heals reports whether the step undoes something.
func (s Step) Heals() bool {
	k, _ := s.Fault.Kind()
	return k.Undoes
}

// within is how long to wait for the step's trigger, if it has one.
func (s Step) within() time.Duration {
	if s.On == nil {
		return 0
	}
	return s.On.within()
}

// Trigger is an event to wait for.
type Trigger struct {
	F    []string       `json:"f"`              // one of these functions
	Type histories.Type `json:"type,omitempty"` // default ok
	// Free wants a key that nobody held or asked for when the episode's faults
	// were injected: any other may be locked in a stale replica, for as long as
	// Lease (ns; 0: forever) after the last one.
	Free  bool          `json:"free,omitempty"`
	Lease time.Duration `json:"lease,omitempty"`
	// MinWork wants the sell around the event to work at least that long (ns).
	MinWork time.Duration `json:"min-work,omitempty"`
	Worker  *int          `json:"worker,omitempty"` // only this worker's events
	Nth     int           `json:"nth,omitempty"`    // the n-th match; default the first
	Within  time.Duration `json:"within,omitempty"` // ns to wait at most; default 8 s
}
