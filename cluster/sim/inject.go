package sim

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
)

func (c *simulation) Inject(ctx context.Context, f histories.Fault) (cluster.Effect, error) {
	return cluster.Effect{}, cluster.ErrUnavailable
}
func (c *simulation) Heal(ctx context.Context) error                         { return nil }
func (c *simulation) Healthy(ctx context.Context, limit time.Duration) error { return nil }

type target interface {
	machine() *host
	process() *process
	labels() []string
}
type server interface {
	target
	alive() bool
	kill(mode string)
	boot(empty bool)
}

func (n *node) machine() *host    { return n.host }
func (n *node) process() *process { return n.proc }
func (n *node) labels() []string  { return []string{n.name} }
