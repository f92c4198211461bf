//go:build unix

package docker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/histories"
)

// backend is the system as package inject sees it: what can be asked and what can be
// done to it. Its methods are in the files fault_*.go and roles.go. What a fault
// did is looked at where it must show, never concluded from having done it;
// without such a sign there is no proof.
type backend struct{ *system }

var _ interface {
	inject.View
	inject.Killer
	inject.Freezer
	inject.PartFreezer
	inject.Links
	inject.Connections
	inject.Clocks
	inject.Memory
	inject.Masters
	inject.Ambusher
	inject.Healer
} = backend{}

// injectLimit bounds one fault, the look at whether it took effect included.
const injectLimit = 2 * time.Minute

// Inject implements cluster.Cluster.
func (c *system) Inject(ctx context.Context, f histories.Fault) (cluster.Effect, error) {
	c.faultMu.Lock()
	defer c.faultMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, injectLimit)
	defer cancel()
	return c.injector.Inject(ctx, f)
}

// act does something harmful, unless the Provider was told to be harmless.
func (c *system) act(f func() error) error {
	if c.p.Inert {
		return nil
	}
	return f()
}

// errAlready says that a target was as the fault would make it: it is no error,
// but there is no proof either.
var errAlready = errors.New("it was so before")

// proven is the proof of what was done, unless err says that nothing was.
func proven(err error, look func() string) (string, error) {
	if errors.Is(err, errAlready) {
		return "", nil
	}
	return look(), err
}

// targets are servers and worker processes to be hurt.
type targets struct {
	nodes []*node
	hosts []*host
}

// find finds targets by their names. Groups whose nodes are hurt have to be put in
// order before the next run.
func (c *system) find(ts inject.Targets) (found targets) {
	for _, t := range ts {
		if t.Workers != nil {
			found.hosts = append(found.hosts, c.hostOf(t.Workers[0]))
			continue
		}
		n := c.node(t.Name)
		found.nodes = append(found.nodes, n)
		for _, g := range c.groups {
			g.hurt = g.hurt || slices.Contains(g.nodes, n)
		}
	}
	return found
}

// hostsOf are the processes of some workers, each once.
func (c *system) hostsOf(workers []int) (hosts []*host) {
	for _, w := range workers {
		if h := c.hostOf(w); !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}
