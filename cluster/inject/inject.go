// Package inject is what injecting a fault means, the same on every cluster:
// whom its names and roles stand for, what it does where it does not say, what
// its mark names, and that what is recorded as proof was seen and not concluded.
//
// A cluster brings what it can do: a View, in which roles are looked up, and
// capabilities (Killer, Freezer, Links, …), each of which does one kind of harm
// and looks for its own evidence. What a cluster lacks is refused with
// cluster.ErrUnavailable.
//
// Start with Injector.Inject, then the table doers: it has a row for each kind of
// fault in histories.Kinds.
package inject

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
)

// Injector injects the faults of one run, one at a time.
type Injector struct {
	Backend View       // with the capabilities that the cluster has
	Chance  *rand.Rand // which of several masters is hit

	oldMaster string // the one that a fault last found as master
}

// aimed is a fault whose names are resolved.
type aimed struct {
	histories.Fault
	targets  Targets
	from, to Targets
	caught   Caught // by an ambush
}

// Inject does a fault and looks whether it took effect.
func (i *Injector) Inject(ctx context.Context, f histories.Fault) (cluster.Effect, error) {
	if err := f.Check(); err != nil {
		return cluster.Effect{}, fmt.Errorf("%w: %w", cluster.ErrUnavailable, err)
	}
	kind, _ := f.Kind()
	a, err := i.aim(ctx, f, kind)
	if err != nil {
		return cluster.Effect{}, err
	}
	proof, err := doers[kind.Name](ctx, i.Backend, a)
	return cluster.Effect{Targets: a.names(kind), Proof: proof, At: a.caught.At}, err
}

// aim resolves the names of a fault. Of links, those with targets only are the
// targets' with everybody, as are those with From only.
func (i *Injector) aim(ctx context.Context, f histories.Fault, kind histories.Kind) (*aimed, error) {
	a := &aimed{Fault: f}
	var err error
	if a.targets, err = i.resolve(ctx, f.Targets); err != nil {
		return nil, err
	}
	if a.from, err = i.resolve(ctx, f.From); err != nil {
		return nil, err
	}
	if a.to, err = i.resolve(ctx, f.To); err != nil {
		return nil, err
	}
	if kind.Hits == histories.HitsLinks && a.from == nil {
		a.from = a.targets
	}
	if a.from != nil && a.to == nil {
		a.to = i.everybodyBut(a.from)
	}
	if kind.OneMaster && len(a.targets) > 1 && slices.Equal(f.Targets, []string{histories.RoleMaster}) {
		a.targets = a.targets[i.Chance.IntN(len(a.targets)):][:1]
		i.oldMaster = a.targets[0].Name
	}
	return a, nil
}

// names are whom the mark of the fault names: all that it hit. Of a fault that
// waited for a worker it is the one that came, with all in its process if that
// was hit; what has a mark of its own later names nobody yet.
func (a *aimed) names(kind histories.Kind) (names []string) {
	switch {
	case kind.Later:
		return nil
	case kind.Step && kind.Name != histories.Delay:
		return a.caught.Process.Names()
	case kind.Hits == histories.HitsWorkers && kind.Name != histories.Crash:
		return a.targets.meant()
	case kind.Hits == histories.HitsConnections:
		return a.targets.Names() // whose clients they are is hurt only in that
	}
	for _, list := range []Targets{a.targets, a.from, a.to} {
		for _, name := range list.Names() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// links are the directions of links that the fault concerns.
func (a *aimed) links() (links []Link) {
	for _, from := range a.from {
		for _, to := range a.to {
			if from.Name == to.Name {
				continue
			}
			links = append(links, Link{from, to})
			if !a.OneWay {
				links = append(links, Link{to, from})
			}
		}
	}
	return links
}

// Link is one direction of the link between two targets.
type Link struct{ From, To Target }

// checkLinks refuses what would be cut off from nothing: workers do not talk to
// each other.
func (a *aimed) checkLinks() ([]Link, error) {
	links := a.links()
	if !slices.ContainsFunc(links, func(l Link) bool { return l.From.Workers == nil || l.To.Workers == nil }) {
		return nil, fmt.Errorf("%w: there is no link between %v and %v", cluster.ErrUnavailable, a.from.Names(), a.to.Names())
	}
	return links, nil
}

// Crashed is the mark of a worker that a crash caught at a step: the kill of its
// process, at the moment when it happened.
func Crashed(at time.Duration, process Target, step string) histories.Event {
	return histories.Event{
		Time: int64(at), Process: histories.Nemesis, Type: histories.Info, F: histories.Kill,
		Targets: process.Names(), Note: "crash at " + step,
	}
}

// LostReply is the mark of a reply that never got to a worker.
func LostReply(at time.Duration, worker int, f, proof string) histories.Event {
	targets := []string{histories.WorkerName(worker)}
	return histories.Event{
		Time: int64(at), Process: histories.Nemesis, Type: histories.Info, F: histories.Loss, Targets: targets,
		Fault: &histories.Fault{F: histories.Loss, Targets: targets, Step: f}, Proof: proof,
	}
}
