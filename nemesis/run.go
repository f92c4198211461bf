package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// World is what a nemesis needs of a cluster and a run.
type World interface {
	Now() time.Duration
	Sleep(ctx context.Context, d time.Duration) error
	// Await waits until ready, which is looked at after each event; false
	// after limit.
	Await(ctx context.Context, limit time.Duration, ready func() bool) bool
	Inject(ctx context.Context, f histories.Fault) (Effect, error)
	Record(histories.Event)
}

// Effect is what became of a fault.
type Effect struct {
	Targets []string      // the servers and workers that it hit, roles resolved
	Proof   string        // the evidence that it took effect
	At      time.Duration // when it took effect, if that was later than it was asked for: at a step; else 0
}

// Run plays a schedule until the moment until, then returns and leaves further
// healing to the caller. A master that was killed to force a promotion is not
// started again before the promotion happens; that would be the restart fault.
// Faults that could not be injected are recorded with their error, and
// returned joined.
func Run(ctx context.Context, w World, s Schedule, watch *Watch, until time.Duration) error {
	p := player{World: w, watch: watch, until: until}
	var errs []error
	for _, e := range s.Episodes {
		if !p.sleepUntil(ctx, e.At) {
			break
		}
		errs = append(errs, p.episode(ctx, e))
	}
	return errors.Join(errs...)
}

type player struct {
	World
	watch *Watch
	until time.Duration
}

// sleepUntil reports false if the moment is not before the end.
func (p player) sleepUntil(ctx context.Context, at time.Duration) bool {
	if at >= p.until {
		return false
	}
	if d := at - p.Now(); d > 0 {
		return p.Sleep(ctx, d) == nil
	}
	return ctx.Err() == nil
}

func (p player) episode(ctx context.Context, e Episode) error {
	var errs []error
	var last *histories.Event // the last event of a worker that a trigger caught
	givenUp, killed := false, false
	succeeded := slices.ContainsFunc(e.Steps, func(s Step) bool { return s.On != nil && s.Fault.F == histories.Start })
	p.watch.begin(p.Now())
	for _, step := range e.Steps {
		if succeeded && killed && step.Heals() {
			p.until = max(p.until, p.Now()+step.within()+step.After+time.Second) // of this episode
		}
		if !givenUp && step.On != nil {
			hit := p.await(ctx, *step.On)
			if givenUp = hit == nil; !givenUp && hit.Process >= 0 {
				last = hit
			}
		}
		if givenUp && (!step.Heals() || last == nil && step.aimed()) {
			continue // there is nobody to start again
		}
		if !givenUp && !p.sleepUntil(ctx, p.Now()+step.After) {
			break
		}
		if !step.Heals() {
			p.watch.strike(p.Now())
			killed = killed || step.Fault.F == histories.Kill
		}
		errs = append(errs, p.inject(ctx, e.Name, step.Fault, last))
	}
	return errors.Join(errs...)
}

func (p player) await(ctx context.Context, t Trigger) *histories.Event {
	p.watch.arm(t)
	limit := min(t.within(), p.until-p.Now())
	p.Await(ctx, limit, func() bool { return p.watch.hit() != nil })
	return p.watch.hit()
}

// inject does one fault and records it. The recorded time is taken before the
// fault is sent: a worker that is killed certainly believed nothing later. A
// fault that waited for a worker at a step is recorded with the moment at which
// the worker came there.
func (p player) inject(ctx context.Context, episode string, f histories.Fault, aim *histories.Event) error {
	f.Targets = resolve(f.Targets, aim)
	f.From, f.To = resolve(f.From, aim), resolve(f.To, aim)
	event := histories.Event{Time: int64(p.Now()), Process: histories.Nemesis, Type: histories.Info, F: f.F, Fault: &f, Note: episode}
	effect, err := p.Inject(ctx, f)
	event.Targets, event.Proof = effect.Targets, effect.Proof
	if effect.At > 0 {
		event.Time = int64(effect.At)
	}
	if err != nil {
		event.Error = err.Error()
		err = fmt.Errorf("%s %s: %w", f.F, strings.Join(append(f.Targets, f.From...), " "), err)
	}
	p.Record(event)
	return err
}

// resolve puts what the trigger caught in place of the names that stand for
// it: "holder" is its worker, "key-master" the server that has its key.
func resolve(names []string, aim *histories.Event) []string {
	if aim == nil {
		return names
	}
	out := make([]string, len(names))
	for i, name := range names {
		switch name {
		case histories.RoleHolder:
			name = histories.WorkerName(int(aim.Process))
		case histories.RoleKeyMaster:
			name = histories.KeyRole(aim.Key)
		}
		out[i] = name
	}
	return out
}

// aimed reports whether the step's fault is for what a trigger caught.
func (s Step) aimed() bool {
	return slices.ContainsFunc(s.Fault.Names(), func(name string) bool { return histories.RoleOf(name).Of == histories.OfCaught })
}
