package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
)

// Faults that wait for a worker to reach a step, and the standing still of
// its periodic tasks, or of its work.

// stepLimit bounds waiting for a worker to come to the step. A design that has
// no such step never does; the fault then has no proof.
const stepLimit = 8 * time.Second

// ambushWorkers lays in wait at a step of the workers, and returns when the
// first of them has come there. A crash or a pause happens once, a delay each
// time until it is healed. Since a crash comes later than the fault that asked
// for it, it is recorded as a kill at the moment when it happened.
func (c *cell) ambushWorkers(ctx context.Context, f histories.Fault, t *targets) (string, error) {
	if c.p.Harmless {
		return "", nil
	}
	hits := make(chan note, 16*len(t.workers))
	laid := map[int64]int{}
	for _, w := range t.workers {
		id := c.seq.Add(1)
		laid[id] = w
		c.waits.Store(id, hits)
		defer c.waits.Delete(id)
	}
	if err := c.lay(ctx, f, *t, laid); err != nil {
		return "", err
	}
	timer := time.NewTimer(stepLimit)
	defer timer.Stop()
	var first note
	select {
	case first = <-hits:
	case <-timer.C:
	case <-ctx.Done():
	}
	if f.F != histories.Delay {
		if err := c.unlay(ctx, *t, laid); err != nil {
			return "", err
		}
	}
	if f.F != histories.Delay {
		*t = targets{}
	}
	if first.Hit == 0 {
		return "", ctx.Err()
	}
	name := cluster.HostName(laid[first.Hit])
	struck := c.hostOf(laid[first.Hit])
	t.at = first.At
	if f.F == histories.Crash || f.F == histories.Pause {
		t.addHost(struck, struck.workers...)
	}
	return aftermath(ctx, f, struck, name, first), nil
}

// lay tells the hosts about the ambushes.
func (c *cell) lay(ctx context.Context, f histories.Fault, t targets, laid map[int64]int) error {
	return each(t.hosts, func(h *host) error {
		_, err := c.change(ctx, h, func(want *control) {
			list := slices.Clone(want.Ambushes)
			for id, w := range laid {
				if slices.Contains(h.workers, w) {
					list = append(list, ambush{ID: id, Worker: w, Step: f.Step, F: f.F, For: f.For})
				}
			}
			want.Ambushes = list
		})
		return err
	})
}

// unlay takes back what nobody has run into.
func (c *cell) unlay(ctx context.Context, t targets, laid map[int64]int) error {
	return each(t.hosts, func(h *host) error {
		_, err := c.change(ctx, h, func(want *control) {
			want.Ambushes = slices.DeleteFunc(slices.Clone(want.Ambushes), func(a ambush) bool { _, ours := laid[a.ID]; return ours })
		})
		return err
	})
}

// ambushed is told that a worker has run into an ambush.
func (c *cell) ambushed(h *host, n note) {
	hits, waiting := c.waits.Load(n.Hit)
	h.mu.Lock()
	var a ambush
	for _, x := range h.want.Ambushes {
		if x.ID == n.Hit {
			a = x
		}
	}
	switch a.F {
	case histories.Crash:
		h.killed = true // it kills itself
	case histories.Pause:
		h.paused = true
	}
	h.mu.Unlock()
	switch a.F {
	case histories.Crash:
		c.note(histories.Event{Time: int64(n.At), F: histories.Kill, Targets: h.names(), Note: "crash between two steps"})
	case histories.Loss:
		lost := histories.Fault{F: histories.Loss, Targets: h.names(), Step: a.Step}
		c.note(histories.Event{Time: int64(n.At), F: histories.Loss, Targets: lost.Targets, Fault: &lost, Proof: n.Text})
	}
	if waiting {
		select {
		case hits.(chan note) <- n:
		default: // a delay that is hit again and again
		}
	}
}

// aftermath looks whether the worker that ran into it is as it should be.
func aftermath(ctx context.Context, f histories.Fault, h *host, name string, n note) string {
	at := fmt.Sprintf("%s at %q, %.3f s", name, f.Step, n.At.Seconds())
	switch f.F {
	case histories.Crash:
		select {
		case <-h.end():
		case <-ctx.Done():
		}
		return prefixed(h.death(), at)
	case histories.Pause:
		return prefixed(h.stopped(ctx), at)
	case histories.Loss:
		return n.Text
	}
	return fmt.Sprintf("%s: delayed by %s", at, f.For)
}

func prefixed(proof, at string) string {
	if proof == "" {
		return ""
	}
	return at + ": " + proof
}

// freezeTasks has the periodic tasks of the workers stand still, or all their
// work but these, or lets them go on.
func (c *cell) freezeTasks(ctx context.Context, t targets, step string, still bool) (string, error) {
	if c.p.Harmless {
		return "", nil
	}
	what := map[string]string{histories.StepRenewal: "renewals", histories.StepWork: "work"}[step]
	var proofs []string
	for _, h := range t.hosts {
		n, err := c.change(ctx, h, func(want *control) {
			frozen := &want.Frozen
			if step == histories.StepWork {
				frozen = &want.Still
			}
			*frozen = slices.DeleteFunc(slices.Clone(*frozen), func(w int) bool { return slices.Contains(t.workers, w) })
			for _, w := range h.workers {
				if still && slices.Contains(t.workers, w) {
					*frozen = append(*frozen, w)
				}
			}
		})
		if err != nil {
			return "", err
		}
		proof := ""
		if n.Ack != 0 {
			proof = fmt.Sprintf("%s says of its %s: %s", h.name, what, map[bool]string{true: "stopped", false: "going on"}[still])
		}
		proofs = append(proofs, proof)
	}
	return strings.TrimSpace(join(proofs)), nil
}
