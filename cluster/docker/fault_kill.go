//go:build unix

package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"

	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/wait"
)

// Killing and starting: of servers and of worker processes.

// pingLimit is how long a server that is well may take to answer a ping.
const pingLimit = 200 * time.Millisecond

// Kill implements inject.Killer. It is SIGKILL: to the whole container, so that its
// peers meet silence, or to the server in it, so that they get a reset; to worker
// processes.
func (b backend) Kill(ctx context.Context, ts inject.Targets, mode string) (string, error) {
	t := b.find(ts)
	err := b.act(func() error {
		return errors.Join(
			wait.Each(t.nodes, func(n *node) error { return n.kill(ctx, mode == histories.ModeProcess) }),
			wait.Each(t.hosts, func(h *host) error {
				if !h.kill() {
					return fmt.Errorf("%s: %w", h.name, errAlready)
				}
				return nil
			}))
	})
	return proven(err, func() string {
		return join(ofNodes(t.nodes, func(n *node) string { return n.silence(ctx) }), ofHosts(t.hosts, (*host).death))
	})
}

// join puts the proofs of several targets into one sentence; if one is
// missing, so is the whole: a fault that bit half of its targets is none.
func join(proofs ...[]string) string {
	var all []string
	for _, list := range proofs {
		for _, p := range list {
			if p == "" {
				return ""
			}
			all = append(all, p)
		}
	}
	return strings.Join(all, "; ")
}

func ofNodes(nodes []*node, look func(*node) string) []string {
	proofs := make([]string, len(nodes))
	indices := make([]int, len(nodes))
	for i := range indices {
		indices[i] = i
	}
	_ = wait.Each(indices, func(i int) error { proofs[i] = look(nodes[i]); return nil })
	return proofs
}

func ofHosts(hosts []*host, look func(*host) string) []string {
	var proofs []string
	for _, h := range hosts {
		proofs = append(proofs, look(h))
	}
	return proofs
}

// silence looks whether a server is unreachable, and says how.
func (n *node) silence(ctx context.Context) string {
	err := n.ping(ctx, pingLimit)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return n.name + " does not answer PING (connection refused)"
	case process.IsTimeout(err):
		return fmt.Sprintf("%s does not answer PING (nothing for %s)", n.name, pingLimit)
	}
	return fmt.Sprintf("%s does not answer PING (%v)", n.name, err)
}

// death looks whether a worker process is there.
func (h *host) death() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.alive() {
		return ""
	}
	return fmt.Sprintf("process %d of %s has ended", h.proc.Pid, h.name)
}

func (n *node) kill(ctx context.Context, process bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.harm.host || n.harm.process {
		return fmt.Errorf("%s: %w", n.name, errAlready)
	}
	if process {
		n.harm.process = true
		_, err := n.sh(ctx, "kill -9 -1")
		return err
	}
	n.harm.host, n.harm.paused = true, false
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	_, err := n.engine.api.ContainerKill(ctx, n.id, client.ContainerKillOptions{Signal: "SIGKILL"})
	return err
}

// Start implements inject.Killer. Workers begin a new life under their number.
func (b backend) Start(ctx context.Context, ts inject.Targets, empty bool) (string, error) {
	t := b.find(ts)
	ran := slices.ContainsFunc(t.nodes, func(n *node) bool { return !n.dead() }) ||
		slices.ContainsFunc(t.hosts, func(h *host) bool { return h.death() == "" })
	err := b.act(func() error {
		return errors.Join(
			wait.Each(t.nodes, func(n *node) error { return n.start(ctx, empty) }),
			wait.Each(t.hosts, func(h *host) error { return b.revive(ctx, h) }))
	})
	if ran {
		return "", err // some have not been started
	}
	return join(ofNodes(t.nodes, func(n *node) string { return n.life(ctx) }), ofHosts(t.hosts, (*host).running)), err
}

// revive starts a process again. Pauses of parts of its workers ended with the old
// one.
func (c *system) revive(ctx context.Context, h *host) error {
	if h.death() == "" {
		return nil
	}
	h.life++
	h.mu.Lock()
	h.want.Frozen, h.want.Still = nil, nil
	h.mu.Unlock()
	return c.startHost(ctx, h)
}

// running looks whether a worker process runs, by the kernel's word.
func (h *host) running() string {
	state := h.state()
	if state == "" || state == "T" {
		return ""
	}
	return fmt.Sprintf("process of %s runs (state %s)", h.name, state)
}

// lifeLimit bounds looking whether a server is back. The director's idle
// connections are from before; each fails once.
const lifeLimit = 3 * time.Second

// life looks whether a server answers, and with what.
func (n *node) life(ctx context.Context) string {
	proof := ""
	_ = wait.Until(ctx, lifeLimit, func(ctx context.Context) error { // what is found is the proof
		if err := n.ping(ctx, time.Second); err != nil {
			return err
		}
		if n.kind != redisKind {
			proof = n.name + " answers"
			return nil
		}
		role, err := n.askRole(ctx)
		if err != nil {
			return err
		}
		keys, err := n.redis.DBSize(ctx).Result()
		if err == nil {
			proof = fmt.Sprintf("%s answers: %s with %d keys", n.name, role, keys)
		}
		return err
	})
	return proof
}

// start runs a killed server again, with what persistence kept, or with
// nothing. It waits until the server answers. One that runs is left as it is:
// an episode that gave up starts what it had no chance to kill.
func (n *node) start(ctx context.Context, empty bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	switch {
	case n.harm.host:
		err = n.startContainer(ctx, empty)
	case n.harm.process:
		script := `serve "$@"`
		if empty {
			script = "touch /lockcheck/empty; " + script
		}
		_, err = n.sh(ctx, script)
	}
	if err != nil {
		return err
	}
	n.harm.host, n.harm.process = false, false
	return wait.Until(ctx, startLimit, n.answers)
}

// startContainer starts a killed container. Its network namespace is new, so
// that its cuts have to be made again.
func (n *node) startContainer(ctx context.Context, empty bool) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if empty {
		var buf bytes.Buffer
		w := tar.NewWriter(&buf)
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: "empty", Mode: 0o644}), w.Close()); err != nil {
			return err
		}
		_, err := n.engine.api.CopyToContainer(ctx, n.id, client.CopyToContainerOptions{DestinationPath: "/lockcheck", Content: &buf})
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	if _, err := n.engine.api.ContainerStart(ctx, n.id, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	if len(n.rules) == 0 {
		return nil
	}
	_, err := n.sh(ctx, cutScript(n.rules))
	return err
}
