package checker

import (
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

func promotionStory(m *histories.Event) string {
	return sprintf("%s promoted at %s", targets(m), moment(m.Time))
}

// faultStory is what a fault did, and when: "redis-1 killed at 12.30 s".
func faultStory(f *fault) string {
	m := f.event
	at := moment(m.Time)
	switch m.F {
	case histories.Kill, histories.Crash:
		if kind(m).Hits == histories.HitsConnections {
			whose := ""
			if len(m.Fault.To) > 0 {
				whose = " of " + few(m.Fault.To)
			}
			return sprintf("the connections%s to %s were cut at %s", whose, targets(m), at)
		}
		return sprintf("%s killed at %s", targets(m), at)
	case histories.Pause:
		if m.Fault != nil && m.Fault.Step == histories.StepWork {
			return sprintf("the work of %s, but not its renewals, was paused at %s", targets(m), at)
		}
		if f.to == histories.Never {
			return sprintf("%s was paused at %s", targets(m), at)
		}
		return sprintf("%s was paused from %s to %s", targets(m), at, moment(f.to))
	case histories.Skew:
		if m.Fault != nil && m.Fault.Offset != 0 {
			return sprintf("the clock of %s jumped by %s at %s", targets(m), m.Fault.Offset, at)
		}
		return sprintf("the clock of %s ran wrong from %s on", targets(m), at)
	case histories.Failover:
		return sprintf("a failover was asked for at %s", at)
	case histories.Evict:
		return sprintf("%s threw keys away at %s", targets(m), at)
	case histories.Partition, histories.Loss:
		if kind(m).Step {
			return sprintf("a reply to the %s of %s got lost at %s", m.Fault.Step, targets(m), at)
		}
		what := "were cut off"
		if m.F == histories.Loss {
			what = "lost packets"
		}
		if m.Fault != nil && len(m.Fault.From) > 0 {
			return sprintf("the links of %s with %s %s from %s on", few(m.Fault.From), few(m.Fault.To), what, at)
		}
		return sprintf("%s %s from %s on", targets(m), what, at)
	}
	return sprintf("%s of %s at %s", m.F, targets(m), at)
}

// pauseStory is what a pause did to a worker. One that lay in wait at a step took
// effect when its worker fell silent.
func (r *run) pauseStory(f *fault, p histories.Process) string {
	m := f.event
	if m.Fault == nil || m.Fault.Step == "" || m.Fault.Step == histories.StepRenewal {
		return faultStory(f)
	}
	from := max(m.Time, r.lastWord(r.host(p), m.Time, f.to))
	if f.to == histories.Never {
		return sprintf("%s was paused at %s", targets(m), moment(from))
	}
	return sprintf("%s was paused from %s to %s", targets(m), moment(from), moment(f.to))
}

func targets(m *histories.Event) string {
	names := m.Targets
	if f := m.Fault; len(names) == 0 && f != nil {
		names = slices.Concat(f.Targets, f.From, f.To)
	}
	if len(names) == 0 {
		return "something"
	}
	return few(names)
}
