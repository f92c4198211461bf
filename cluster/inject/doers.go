package inject

import (
	"context"
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
)

// The capabilities of clusters. Each method does its harm, then looks whether it
// shows; proof says what was seen and is empty if nothing was. ErrUnavailable:
// this target cannot be hurt in that way.

// Killer kills servers and worker processes, and starts them again. Who is dead
// or alive already stays so.
type Killer interface {
	// Kill's mode is host or process; of workers it is always the process.
	Kill(ctx context.Context, t Targets, mode string) (proof string, err error)
	Start(ctx context.Context, t Targets, empty bool) (proof string, err error)
}

// Freezer freezes servers and worker processes. What a resumed process should
// have done meanwhile happens then. Resume lets all parts of workers go on, too.
type Freezer interface {
	Pause(ctx context.Context, t Targets) (proof string, err error)
	Resume(ctx context.Context, t Targets) (proof string, err error)
}

// PartFreezer freezes a part of single workers: StepRenewal, what they do
// periodically; StepWork, all else.
type PartFreezer interface {
	PausePart(ctx context.Context, workers []int, part string) (proof string, err error)
	ResumePart(ctx context.Context, workers []int, part string) (proof string, err error)
}

// Links cuts links, loses packets, and mends.
type Links interface {
	Cut(ctx context.Context, links []Link) (proof string, err error)
	Lose(ctx context.Context, links []Link, share float64) (proof string, err error)
	Mend(ctx context.Context, links []Link) (proof string, err error)
}

// Connections ends those of clients with servers; of are the clients' processes,
// nil: all.
type Connections interface {
	HangUp(ctx context.Context, servers, of Targets) (proof string, err error)
}

// Clocks moves wall clocks. Jumps add up; a drift replaces the one before.
type Clocks interface {
	Skew(ctx context.Context, t Targets, jump time.Duration, drift float64) (proof string, err error)
}

// Memory has servers throw a share of their keys away.
type Memory interface {
	Evict(ctx context.Context, servers Targets, share float64) (proof string, err error)
}

// Masters switches over from a master to a replica of its.
type Masters interface {
	SwitchOver(ctx context.Context, master Target) (proof string, err error)
}

// Ambush is a fault that lies in wait for workers at a step.
type Ambush struct {
	Workers []int         // each by itself
	F       string        // crash, pause and loss happen to the first that comes, a delay to all until it is healed
	Step    string        // loss: the operation
	Delay   time.Duration // delay
	Wait    time.Duration // for the first worker to come
}

// Caught is whom an ambush has struck; the zero Caught: nobody came.
type Caught struct {
	Process Target // its name, with all its workers: a pause stops them all
	At      time.Duration
	Proof   string
}

// Ambusher lays ambushes. It returns when the first worker has come or the wait
// is over. The marks of what happens later (Crashed, LostReply) are its own.
type Ambusher interface {
	Ambush(ctx context.Context, a Ambush) (Caught, error)
}

// Healer ends cuts, losses, skews, delays and pauses of parts. What was killed or
// frozen stays so.
type Healer interface {
	HealAll(ctx context.Context) (proof string, err error)
}

// doer does one kind of fault.
type doer func(ctx context.Context, v View, a *aimed) (proof string, err error)

// by is a doer by a capability.
func by[C any](do func(ctx context.Context, c C, a *aimed) (string, error)) doer {
	return func(ctx context.Context, v View, a *aimed) (string, error) {
		c, ok := v.(C)
		if !ok {
			return "", fmt.Errorf("%w: this cluster has no %s", cluster.ErrUnavailable, a.F)
		}
		return do(ctx, c, a)
	}
}

// doers has a row for each of histories.Kinds, by its name.
var doers = map[string]doer{
	histories.Kill:  by(func(ctx context.Context, c Killer, a *aimed) (string, error) { return c.Kill(ctx, a.targets, a.Mode) }),
	histories.Crash: by(func(ctx context.Context, c Killer, a *aimed) (string, error) { return c.Kill(ctx, a.targets, "") }),
	histories.Start: by(func(ctx context.Context, c Killer, a *aimed) (string, error) {
		return c.Start(ctx, a.targets, a.Mode == histories.ModeEmpty)
	}),
	"cut-connections": by(func(ctx context.Context, c Connections, a *aimed) (string, error) {
		return c.HangUp(ctx, a.targets, a.to)
	}),
	histories.Pause:   by(func(ctx context.Context, c Freezer, a *aimed) (string, error) { return c.Pause(ctx, a.targets) }),
	"pause-renewals":  by(pausePart),
	"pause-work":      by(pausePart),
	"resume-renewals": by(resumePart),
	"resume-work":     by(resumePart),
	histories.Resume:  by(func(ctx context.Context, c Freezer, a *aimed) (string, error) { return c.Resume(ctx, a.targets) }),
	histories.Partition: by(func(ctx context.Context, c Links, a *aimed) (string, error) {
		links, err := a.checkLinks()
		if err != nil {
			return "", err
		}
		return c.Cut(ctx, links)
	}),
	histories.Loss: by(func(ctx context.Context, c Links, a *aimed) (string, error) {
		links, err := a.checkLinks()
		if err != nil {
			return "", err
		}
		return c.Lose(ctx, links, a.LosesPackets())
	}),
	histories.Heal: heal,
	histories.Skew: by(func(ctx context.Context, c Clocks, a *aimed) (string, error) {
		return c.Skew(ctx, a.targets, a.Offset, a.Drift)
	}),
	histories.Evict: by(func(ctx context.Context, c Memory, a *aimed) (string, error) {
		return c.Evict(ctx, a.targets, a.Evicts())
	}),
	histories.Failover: by(func(ctx context.Context, c Masters, a *aimed) (string, error) { return c.SwitchOver(ctx, a.targets[0]) }),
	"pause-at-step":    by(ambush),
	"lost-reply":       by(ambush),
	"crash-at-step":    by(ambush),
	histories.Delay:    by(ambush),
}

func pausePart(ctx context.Context, c PartFreezer, a *aimed) (string, error) {
	return c.PausePart(ctx, a.targets.workers(), a.Step)
}

func resumePart(ctx context.Context, c PartFreezer, a *aimed) (string, error) {
	return c.ResumePart(ctx, a.targets.workers(), a.Step)
}

// heal mends the links between From and To, or undoes all that can be undone.
func heal(ctx context.Context, v View, a *aimed) (string, error) {
	if a.from != nil {
		return by(func(ctx context.Context, c Links, a *aimed) (string, error) { return c.Mend(ctx, a.links()) })(ctx, v, a)
	}
	return by(func(ctx context.Context, c Healer, _ *aimed) (string, error) { return c.HealAll(ctx) })(ctx, v, a)
}

func ambush(ctx context.Context, c Ambusher, a *aimed) (string, error) {
	laid := Ambush{Workers: a.targets.workers(), F: a.F, Step: a.Step, Wait: a.Waits()}
	if a.F == histories.Delay {
		laid.Delay = a.For
	}
	caught, err := c.Ambush(ctx, laid)
	if a.F == histories.Pause {
		a.caught = caught // the mark is made when it took effect
	}
	return caught.Proof, err
}
