package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/explore"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/nemesis"
)

// ordinary is a schedule of explore as one for run: the same faults, each at the
// event of its worker beside which it was done. false: a fault has no counterpart
// there (a request that is late by itself, a replica that lacks exactly so many
// writes), or there is no event to aim at. An ordinary run has packets that take
// their time as they like, so what breaks the scene need not break each run.
func ordinary(p *explore.Played) (nemesis.Schedule, bool) {
	s := nemesis.Schedule{Format: nemesis.Format, Nemesis: explore.Name}
	e := nemesis.Episode{Name: explore.Name}
	for _, d := range p.Done {
		steps, ok := ordinarySteps(p, d)
		if !ok {
			return s, false
		}
		e.Steps = append(e.Steps, steps...)
	}
	if len(e.Steps) > 0 {
		s.Episodes = append(s.Episodes, e)
	}
	return s, true
}

// ordinarySteps are the fault of a deviation, and what undoes it.
func ordinarySteps(p *explore.Played, d sim.Done) ([]nemesis.Step, bool) {
	worker := []string{histories.WorkerName(d.Worker)}
	begin, lasts := nemesis.Step{Fault: d.Fault}, d.Until-d.At
	then := func(f histories.Fault) []nemesis.Step {
		return []nemesis.Step{begin, {After: lasts, Fault: f}}
	}
	if d.Kind == sim.Lost && strings.HasPrefix(d.Text, "the reply") {
		return []nemesis.Step{begin}, slices.Contains(histories.Operations, d.Fault.Step)
	}
	if d.Step == "" || d.Step == histories.StepRenewal || d.Kind != sim.Freeze && d.Kind != sim.Preempt {
		if begin.On = trigger(p, d); begin.On == nil {
			return nil, false
		}
	}
	switch d.Kind {
	case sim.Freeze, sim.Preempt:
		begin.Fault = histories.Fault{F: histories.Pause, Targets: worker}
		if begin.On == nil {
			begin.Fault.Step = d.Step
		}
		return then(histories.Fault{F: histories.Resume, Targets: worker}), true
	case sim.Crash:
		begin.Fault = histories.Fault{F: histories.Crash, Targets: worker}
		return then(histories.Fault{F: histories.Start, Targets: worker}), true
	case sim.CutOff:
		return then(histories.Fault{F: histories.Heal, From: d.Fault.From, To: d.Fault.To}), true
	case sim.Forget:
		return then(histories.Fault{F: histories.Start, Targets: d.Fault.Targets, Mode: histories.ModeEmpty}), true
	case sim.Clock, sim.Connection:
		return []nemesis.Step{begin}, true
	}
	return nil, false
}

// trigger waits for the event beside which a deviation was done: the worker's last
// one before it, or the answer to what the server had just done for it. nil: there
// is none.
func trigger(p *explore.Played, d sim.Done) *nemesis.Trigger {
	at := -1
	if d.Kind == sim.Forget || d.Kind == sim.Clock && !histories.IsWorker(d.Fault.Targets[0]) || d.Kind == sim.Connection {
		at = slices.IndexFunc(p.Events[d.Events:], func(e histories.Event) bool { return int(e.Process) == d.Worker })
		if at >= 0 {
			at += d.Events
		}
	} else {
		for i, e := range p.Events[:d.Events] {
			if int(e.Process) == d.Worker {
				at = i
			}
		}
	}
	if at < 0 {
		return nil
	}
	e, nth := p.Events[at], 0
	for _, o := range p.Events[:at+1] {
		if o.Process == e.Process && o.F == e.F && o.Type == e.Type {
			nth++
		}
	}
	worker := d.Worker
	return &nemesis.Trigger{F: []string{e.F}, Type: e.Type, Worker: &worker, Nth: nth}
}

// replayOrdinary is the command that plays the ordinary schedule in a run with the
// settings of the scene.
func (f *exploreFlags) replayOrdinary(s *explore.Scene, file string) string {
	spec := s.Spec
	cmd := f.app.called("lockcheck run") + fmt.Sprintf(" --design=%s --schedule=%s --concurrency=%d --per-host=%d --skus=1 --stock=%d --max-ops=%d --qty=1 --work=%s --think=2ms --time-limit=%v",
		spec.Design, quote(file), spec.Workers, spec.PerHost, spec.Stock, spec.MaxOps, spec.Work, (4*spec.Wait).Round(time.Second))
	for _, flag := range []struct {
		name  string
		value any
	}{{"retries", spec.Retries}, {"retry-delay", spec.RetryDelay}, {"wait", spec.Wait}} {
		if spec.Of.Heeds(flag.name) {
			cmd += fmt.Sprintf(" --%s=%v", flag.name, flag.value)
		}
	}
	return cmd
}
