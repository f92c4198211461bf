//go:build unix

package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/moby/client"

	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/wait"
)

// Pause implements inject.Freezer: servers by the freezer, worker processes by
// SIGSTOP.
func (b backend) Pause(ctx context.Context, ts inject.Targets) (string, error) {
	t := b.find(ts)
	err := b.act(func() error {
		return errors.Join(
			wait.Each(t.nodes, func(n *node) error { return n.pause(ctx) }),
			wait.Each(t.hosts, func(h *host) error { return h.signal(syscall.SIGSTOP) }))
	})
	return proven(err, func() string {
		return join(ofNodes(t.nodes, func(n *node) string { return n.silence(ctx) }),
			ofHosts(t.hosts, func(h *host) string { return h.stopped(ctx) }))
	})
}

// Resume implements inject.Freezer.
func (b backend) Resume(ctx context.Context, ts inject.Targets) (string, error) {
	t := b.find(ts)
	went := slices.ContainsFunc(t.nodes, func(n *node) bool { return !n.frozen() }) ||
		slices.ContainsFunc(t.hosts, func(h *host) bool { return !h.frozen() })
	err := b.act(func() error {
		return errors.Join(
			wait.Each(t.nodes, func(n *node) error { return n.unpause(ctx) }),
			wait.Each(t.hosts, func(h *host) error {
				if err := h.signal(syscall.SIGCONT); err != nil {
					return err
				}
				_, err := b.change(ctx, h, func(want *process.Control) { want.Frozen, want.Still = nil, nil })
				return err
			}))
	})
	return proven(err, func() string {
		if went {
			return "" // some did not stand still
		}
		return join(ofNodes(t.nodes, func(n *node) string { return n.life(ctx) }), ofHosts(t.hosts, (*host).running))
	})
}

func (n *node) frozen() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.harm.paused
}

// frozen reports whether the process, or a part of one of its workers, is paused.
func (h *host) frozen() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.paused || len(h.want.Frozen)+len(h.want.Still) > 0
}

// PausePart implements inject.PartFreezer.
func (b backend) PausePart(ctx context.Context, workers []int, part string) (string, error) {
	return b.freezeParts(ctx, workers, part, true)
}

// ResumePart implements inject.PartFreezer.
func (b backend) ResumePart(ctx context.Context, workers []int, part string) (string, error) {
	return b.freezeParts(ctx, workers, part, false)
}

// freezeParts has the periodic tasks of workers stand still, or all their work but
// these, or lets them go on.
func (c *system) freezeParts(ctx context.Context, workers []int, part string, still bool) (string, error) {
	if c.p.Inert {
		return "", nil
	}
	what := map[string]string{histories.StepRenewal: "renewals", histories.StepWork: "work"}[part]
	var proofs []string
	for _, h := range c.hostsOf(workers) {
		n, err := c.change(ctx, h, func(want *process.Control) {
			list := &want.Frozen
			if part == histories.StepWork {
				list = &want.Still
			}
			*list = slices.DeleteFunc(slices.Clone(*list), func(w int) bool { return slices.Contains(workers, w) })
			for _, w := range h.workers {
				if still && slices.Contains(workers, w) {
					*list = append(*list, w)
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
	return join(proofs), nil
}

func (n *node) pause(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.harm.host || n.harm.process || n.harm.paused {
		return fmt.Errorf("%s: %w", n.name, errAlready)
	}
	n.harm.paused = true
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	_, err := n.engine.api.ContainerPause(ctx, n.id, client.ContainerPauseOptions{})
	return err
}

func (n *node) unpause(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.harm.paused {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	_, err := n.engine.api.ContainerUnpause(ctx, n.id, client.ContainerUnpauseOptions{})
	if err == nil {
		n.harm.paused = false
	}
	return err
}

// stopped looks whether the kernel says that a worker process is stopped.
func (h *host) stopped(ctx context.Context) string {
	err := wait.Until(ctx, pingLimit, func(context.Context) error {
		if s := h.state(); s != "T" {
			return fmt.Errorf("state %s", s)
		}
		return nil
	})
	if err != nil {
		return ""
	}
	return fmt.Sprintf("process of %s is stopped (state T)", h.name)
}

// state is the letter that the kernel gives a process's state; empty if there
// is no such process, or no /proc.
func (h *host) state() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.alive() {
		return ""
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.proc.Pid))
	if err != nil {
		return ""
	}
	_, rest, ok := strings.Cut(string(stat), ") ")
	if !ok {
		return ""
	}
	return rest[:1]
}
