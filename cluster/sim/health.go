package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/workload/env"
)

// wrong says what is not in order: nil if every server answers and
// replication stands.
func (c *system) wrong(ctx context.Context) error {
	var errs []error
	for _, s := range c.site.servers {
		if err := c.ping(ctx, s.machine()); err != nil {
			errs = append(errs, fmt.Errorf("%s does not answer PING: %w", s.label(), err))
		}
	}
	if errs == nil && c.o.Topology.Lock == env.Sentinel {
		errs = append(errs, c.wrongSentinels(ctx))
	}
	if errs == nil && c.o.Topology.Lock == env.RedisCluster {
		errs = append(errs, c.wrongCluster(ctx))
	}
	return errors.Join(errs...)
}

// wrongCluster: all members must agree about the masters and serve, and all
// others must follow them.
func (c *system) wrongCluster(ctx context.Context) error {
	masters := c.clusterMasters()
	for _, n := range c.site.redis {
		m := n.member
		if m.isDown || slices.ContainsFunc(m.peers, func(p *peer) bool { return p.suspect || p.failed }) {
			return fmt.Errorf("%s finds the cluster, or a server, down", n.name)
		}
		for i, o := range m.owners {
			if o.node != masters[i] {
				return fmt.Errorf("%s takes %s for master of shard %d, others %s", n.name, o.node.name, i+1, masters[i].name)
			}
		}
		want := ""
		if !slices.Contains(masters, n) {
			if n.master == nil {
				return fmt.Errorf("%s is a master without slots", n.name)
			}
			want = n.master.name
		}
		if err := c.wrongRole(ctx, n, want, 1); err != nil {
			return err
		}
	}
	return nil
}

// wrongSentinels: all Sentinels must name one master, and all other servers
// must follow it.
func (c *system) wrongSentinels(ctx context.Context) error {
	var master string
	for i, x := range c.site.sentinels {
		reply, err := c.ask(ctx, x.box, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "lockcheck")
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		name := reply.([]any)[0].(string)
		if i > 0 && name != master {
			return fmt.Errorf("%s takes %s for master, others %s", x.name, name, master)
		}
		if master = name; x.failover.state != idle || slices.ContainsFunc(x.views, func(v *view) bool { return v.down }) {
			return fmt.Errorf("%s finds a server down, or is in a failover", x.name)
		}
	}
	for _, n := range c.site.redis {
		want := ""
		if n.name != master {
			want = master
		}
		if err := c.wrongRole(ctx, n, want, len(c.site.redis)-1); err != nil {
			return err
		}
	}
	return nil
}

// wrongRole: a server must follow master, or if that is empty be one itself
// with so many replicas.
func (c *system) wrongRole(ctx context.Context, n *node, master string, replicas int) error {
	reply, err := c.ask(ctx, n.box, "ROLE")
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	role := reply.([]any)
	switch {
	case master == "" && role[0] != "master":
		return fmt.Errorf("%s is a replica", n.name)
	case master == "" && len(role[2].([]any)) != replicas:
		return fmt.Errorf("%s has %d replicas, not %d", n.name, len(role[2].([]any)), replicas)
	case master != "" && role[0] == "master":
		return fmt.Errorf("%s is a master besides %s", n.name, master)
	case master != "" && (role[1] != master || role[3] != "connected"):
		return fmt.Errorf("%s does not follow %s: %v", n.name, master, role)
	}
	return nil
}
