package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// Check finds what of a schedule a run with these parameters could not play, or
// not as it says: targets and steps that it does not have. Its errors name the
// place.
func (s Schedule) Check(p Params) error {
	for i, e := range s.Episodes {
		caught := false
		for j, step := range e.Steps {
			caught = caught || step.On != nil && !marked(step.On.F)
			if err := p.playable(step, caught); err != nil {
				return fmt.Errorf("schedule: %s, step %d: %w", e.place(i), j+1, err)
			}
		}
	}
	return nil
}

// marked reports whether a trigger waits for what the cluster does, which no
// worker does.
func marked(f []string) bool {
	return !slices.ContainsFunc(f, func(f string) bool {
		return f != histories.Promoted && f != histories.Demoted && f != histories.Healthy
	})
}

// playable says why a step cannot be played; caught: a trigger has caught a
// worker by then.
func (p Params) playable(s Step, caught bool) error {
	f := s.Fault
	if err := f.Check(); err != nil {
		return err
	}
	for _, name := range f.Names() {
		if err := p.known(name, caught); err != nil {
			return fmt.Errorf("%s: %w", f.F, err)
		}
	}
	if s.On != nil && s.On.Worker != nil && *s.On.Worker >= p.Workers {
		return fmt.Errorf("waits for worker %d: there are %d", *s.On.Worker, p.Workers)
	}
	if f.F == histories.Loss {
		return nil // an operation, which every design has
	}
	places := slices.Concat(p.Places, []string{histories.StepRenewal, histories.StepWork})
	if f.Step != "" && !slices.Contains(places, f.Step) {
		return fmt.Errorf("%s: there is no step %q here; there are %s", f.F, f.Step, strings.Join(places, ", "))
	}
	return nil
}

// known says why there is nobody of that name.
func (p Params) known(name string, caught bool) error {
	has := false
	switch histories.RoleOf(name).Of {
	case histories.OfCaught:
		if !caught {
			return fmt.Errorf("%q is whom a trigger caught, and no step up to here waits for what a worker does", name)
		}
		has = name == histories.RoleHolder || p.Servers > 0
	case histories.OfMasters, histories.OfOldMaster, histories.OfLocks:
		has = p.Servers > 0
	case histories.OfReplicas:
		has = p.Replicas
	case histories.OfSentinels:
		has = p.Sentinels
	case histories.OfWorkers:
		has = true
	default:
		n, worker := histories.WorkerNumber(name)
		has = worker && n < p.Workers || slices.Contains(p.Nodes, name) || slices.Contains(p.Nodes, name+"-1")
	}
	if !has {
		return fmt.Errorf("there is no %q here; there are workers 0 to %d and %s", name, p.Workers-1, strings.Join(p.Nodes, ", "))
	}
	return nil
}

// Turned is the schedule up to the moment at, and from then on the other one: as many
// episodes as have begun by then are replaced.
func (s Schedule) Turned(at time.Duration, other Schedule) Schedule {
	begun := 0
	for begun < len(s.Episodes) && s.Episodes[begun].At < at {
		begun++
	}
	later := slices.Clone(other.Episodes[min(begun, len(other.Episodes)):])
	for i := range later {
		later[i].At = max(later[i].At, at)
	}
	s.Episodes = slices.Concat(s.Episodes[:begun], later)
	return s
}

// Within is the schedule without what a run with fewer workers and a shorter
// time does not play.
func (s Schedule) Within(limit time.Duration, workers int) Schedule {
	p := Params{Workers: workers}
	var kept []Episode
	for _, e := range s.Episodes {
		if e.At >= limit {
			continue
		}
		e.Steps = slices.DeleteFunc(slices.Clone(e.Steps), func(step Step) bool {
			return slices.ContainsFunc(step.Fault.Names(), func(name string) bool {
				return strings.HasPrefix(name, "worker-") && p.known(name, true) != nil
			})
		})
		kept = append(kept, e)
	}
	s.Episodes = kept
	return s
}
