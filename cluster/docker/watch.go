//go:build unix

package docker

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/wait"
)

// watchStep is how often each server is asked for its role.
const watchStep = 25 * time.Millisecond

// watch follows the role of one server and records its promotion or demotion
// as it happens. It asks the server itself: a sentinel announces a new master
// up to a second after that has begun to take writes. A server that comes back
// as what it was when it died has not been promoted.
func (c *system) watch(ctx context.Context, n *node) {
	last := ""
	for wait.Sleep(ctx, watchStep) == nil {
		role, err := n.askRole(ctx)
		if err != nil || role == last {
			continue
		}
		switch {
		case last == "":
		case role == "master":
			c.note(histories.Event{F: histories.Promoted, Targets: []string{n.name}, Note: n.name + " says that it is master"})
		case role == "slave":
			c.note(histories.Event{F: histories.Demoted, Targets: []string{n.name}, Note: n.name + " says that it is a replica"})
		}
		last = role
	}
}
