package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/moby/moby/client"
)

// pause freezes: servers by the freezer, worker processes by SIGSTOP.
func (c *cell) pause(ctx context.Context, t targets) (string, error) {
	err := c.act(func() error {
		return errors.Join(
			each(t.nodes, func(n *node) error { return n.pause(ctx) }),
			each(t.hosts, func(h *host) error { return h.signal(syscall.SIGSTOP) }))
	})
	return join(ofNodes(t.nodes, func(n *node) string { return n.silence(ctx) }),
		ofHosts(t.hosts, func(h *host) string { return h.stopped(ctx) })), err
}

// resume lets go on what was frozen.
func (c *cell) resume(ctx context.Context, t targets) (string, error) {
	err := c.act(func() error {
		return errors.Join(
			each(t.nodes, func(n *node) error { return n.unpause(ctx) }),
			each(t.hosts, func(h *host) error { return h.signal(syscall.SIGCONT) }))
	})
	return join(ofNodes(t.nodes, func(n *node) string { return n.life(ctx) }), ofHosts(t.hosts, (*host).running)), err
}

func (n *node) pause(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.harm.host || n.harm.process || n.harm.paused {
		return fmt.Errorf("%s is not running", n.name)
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
	err := until(ctx, pingLimit, func(context.Context) error {
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
