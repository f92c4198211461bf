package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/workload/env"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// guide finds the master, or a replica, by asking Sentinels, as a client
// library does for each new connection. It keeps to the Sentinel that
// answered last, and only that one tells it of a switch.
type guide struct {
	net       *vtime.Network
	nodes     map[string]*node
	sentinels []*endpoint
}

// followed makes an endpoint that follows the master.
func (c *system) followed(p *vtime.Process) *endpoint {
	e := c.endpoint(p, nil)
	g := c.guide(p)
	e.locate = func(ctx context.Context) (*vtime.Machine, error) { return g.master(ctx, e.left) }
	return e
}

// replicaOf makes an endpoint for the i-th replica.
func (c *system) replica(p *vtime.Process, i int) *endpoint {
	e := c.endpoint(p, nil)
	g := c.guide(p)
	e.locate = func(ctx context.Context) (*vtime.Machine, error) { return g.replica(ctx, i) }
	return e
}

func (c *system) guide(p *vtime.Process) *guide {
	g := &guide{net: c.net, nodes: c.site.byName}
	for _, x := range c.site.sentinels {
		g.sentinels = append(g.sentinels, newEndpoint(c.net, p, c.o.CallTimeout/3, x.box))
	}
	c.net.Rand.Shuffle(len(g.sentinels), func(i, j int) {
		g.sentinels[i], g.sentinels[j] = g.sentinels[j], g.sentinels[i]
	})
	return g
}

// master asks which server is master; switched is called when the Sentinel says that
// it changed.
func (g *guide) master(ctx context.Context, switched func(master string)) (*vtime.Machine, error) {
	reply, err := g.ask(ctx, switched, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "lockcheck")
	if err != nil {
		return nil, err
	}
	return g.nodes[reply[0].(string)].box, nil
}

func (g *guide) replica(ctx context.Context, i int) (*vtime.Machine, error) {
	reply, err := g.ask(ctx, nil, "SENTINEL", "REPLICAS", "lockcheck")
	if err != nil {
		return nil, err
	}
	if len(reply) == 0 {
		return nil, fmt.Errorf("no replica is well: %w", env.ErrRefused)
	}
	return g.nodes[reply[i%len(reply)].(string)].box, nil
}

// ask asks one Sentinel after the other until one answers.
func (g *guide) ask(ctx context.Context, switched func(string), args ...string) ([]any, error) {
	for i, e := range g.sentinels {
		var reply any
		err := e.with(ctx, func(l *line) (err error) {
			if switched != nil {
				l.c.OnPush = switched
			}
			reply, err = l.do(ctx, args)
			return err
		})
		if list, ok := reply.([]any); ok && err == nil {
			g.sentinels[0], g.sentinels[i] = e, g.sentinels[0]
			return list, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("no Sentinel answers: %w", env.ErrRefused)
}

// left closes the connections to every server but the new master.
func (e *endpoint) left(master string) {
	for _, l := range slices.Clone(e.open) {
		if l.box.Name != master && !l.broken {
			waiting := l.c.Pending
			l.drop()
			for _, x := range waiting {
				x.End(env.ErrReset)
			}
		}
	}
}
