//go:build unix

package docker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/wait"
)

// Faults that wait for a worker to reach a step.

// Ambush implements inject.Ambusher. Since a crash comes later than the fault that
// asked for it, it is recorded as a kill at the moment when it happened, and a
// lost reply as its loss.
func (b backend) Ambush(ctx context.Context, a inject.Ambush) (inject.Caught, error) {
	if b.p.Inert {
		return inject.Caught{}, nil
	}
	hits := make(chan process.Note, 16*len(a.Workers))
	laid := map[int64]int{}
	for _, w := range a.Workers {
		id := b.seq.Add(1)
		laid[id] = w
		b.waits.Store(id, hits)
		defer b.waits.Delete(id)
	}
	if err := b.lay(ctx, a, laid); err != nil {
		return inject.Caught{}, err
	}
	timer := time.NewTimer(a.Wait)
	defer timer.Stop()
	var first process.Note
	select {
	case first = <-hits:
	case <-timer.C:
	case <-ctx.Done():
	}
	if a.F != histories.Delay {
		if err := b.unlay(ctx, a, laid); err != nil {
			return inject.Caught{}, err
		}
	}
	if first.Hit == 0 {
		return inject.Caught{}, ctx.Err()
	}
	struck := b.hostOf(laid[first.Hit])
	return inject.Caught{
		Process: inject.Process(struck.workers), At: first.At,
		Proof: aftermath(ctx, a, struck, histories.WorkerName(laid[first.Hit]), first),
	}, nil
}

// lay tells the hosts about the ambushes.
func (c *system) lay(ctx context.Context, a inject.Ambush, laid map[int64]int) error {
	return wait.Each(c.hostsOf(a.Workers), func(h *host) error {
		_, err := c.change(ctx, h, func(want *process.Control) {
			list := slices.Clone(want.Ambushes)
			for id, w := range laid {
				if slices.Contains(h.workers, w) {
					list = append(list, process.Ambush{ID: id, Worker: w, Step: a.Step, F: a.F, For: a.Delay})
				}
			}
			want.Ambushes = list
		})
		return err
	})
}

// unlay takes back what nobody has run into.
func (c *system) unlay(ctx context.Context, a inject.Ambush, laid map[int64]int) error {
	return wait.Each(c.hostsOf(a.Workers), func(h *host) error {
		_, err := c.change(ctx, h, func(want *process.Control) {
			want.Ambushes = slices.DeleteFunc(slices.Clone(want.Ambushes), func(a process.Ambush) bool { _, ours := laid[a.ID]; return ours })
		})
		return err
	})
}

// ambushed is told that a worker has run into an ambush.
func (c *system) ambushed(h *host, n process.Note) {
	hits, waiting := c.waits.Load(n.Hit)
	h.mu.Lock()
	var a process.Ambush
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
		c.emit(inject.Crashed(n.At, inject.Process(h.workers), a.Step))
	case histories.Loss:
		c.emit(inject.LostReply(n.At, a.Worker, a.Step, n.Text))
	}
	if waiting {
		select {
		case hits.(chan process.Note) <- n:
		default: // a delay that is hit again and again
		}
	}
}

// aftermath looks whether the worker that ran into it is as it should be.
func aftermath(ctx context.Context, a inject.Ambush, h *host, name string, n process.Note) string {
	at := fmt.Sprintf("%s at %q, %.3f s", name, a.Step, n.At.Seconds())
	switch a.F {
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
	return fmt.Sprintf("%s: delayed by %s", at, a.Delay)
}

func prefixed(proof, at string) string {
	if proof == "" {
		return ""
	}
	return at + ": " + proof
}
