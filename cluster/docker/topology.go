//go:build unix

package docker

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Defaults of cluster.Options.
const (
	defaultCallTimeout = time.Second
	defaultDownAfter   = 800 * time.Millisecond
	persistNone        = "none"
)

// quorum is how many sentinels must find the master down.
const quorum = 2

// group is servers that belong together and are put in order together. It
// runs for as long as its Provider.
type group struct {
	name  string
	kind  env.Kind // of a lock service; else empty
	nodes []*node
	// hurt says that a fault was injected since the group was last put in
	// order: roles may have moved, Sentinel may be in the middle of something.
	hurt bool
}

// groupSpec is how to start a group. Lines of a node's configuration are made
// when the addresses of all are known.
type groupSpec struct {
	name  string
	kind  env.Kind
	nodes []nodeSpec
	conf  func(name string, addrs map[string]netip.Addr) string
}

// groupsOf says which groups a topology is made of.
func groupsOf(t env.Topology) []groupSpec {
	var specs []groupSpec
	if t.Lock != env.NoLock {
		specs = append(specs, lockGroup(t.Lock))
	}
	if t.Stock {
		specs = append(specs, groupSpec{name: "stock", nodes: numbered("stock", 1, redisKind), conf: redisConf})
	}
	if t.SQL {
		specs = append(specs, groupSpec{name: "sql", nodes: numbered("sql", 1, sqlKind)})
	}
	if t.Queue {
		specs = append(specs, groupSpec{name: "queue", nodes: numbered("queue", 1, queueKind)})
	}
	return specs
}

func lockGroup(k env.Kind) groupSpec {
	shape, ok := k.Shape()
	if !ok {
		panic("docker: no such topology: " + string(k))
	}
	spec := groupSpec{name: string(k), kind: k, conf: redisConf}
	spec.nodes = append(numbered("redis", shape.Redis, redisKind), numbered("sentinel", shape.Sentinels, sentinelKind)...)
	switch k {
	case env.RedisCluster:
		spec.conf = clusterConf
	case env.Sentinel:
		spec.conf = replicatedConf
	}
	return spec
}

func numbered(prefix string, n int, k nodeKind) []nodeSpec {
	specs := make([]nodeSpec, n)
	for i := range specs {
		specs[i] = nodeSpec{name: fmt.Sprintf("%s-%d", prefix, i+1), kind: k}
		if k == sentinelKind {
			specs[i].args = []string{"--sentinel"}
		}
	}
	return specs
}

// redisConf is a Redis as the articles run it: no persistence until a run
// asks for it. A replica that is to be synchronized need not wait for others.
// The file of a synchronization is deleted: else a replica without
// persistence would come back from a restart with what it once copied.
func redisConf(string, map[string]netip.Addr) string {
	return strings.Join([]string{
		"port 6379", "bind 0.0.0.0", "protected-mode no", "dir /lockcheck/data",
		`save ""`, "appendonly no",
		"repl-diskless-sync-delay 0", "rdb-del-sync-files yes",
	}, "\n")
}

// clusterConf keeps the node's identity out of the data, so that a node that
// comes back empty is still a member.
func clusterConf(name string, addrs map[string]netip.Addr) string {
	return redisConf(name, addrs) + "\ncluster-enabled yes\ncluster-config-file /lockcheck/nodes.conf\n" +
		fmt.Sprintf("cluster-node-timeout %d", clusterNodeTimeout.Milliseconds())
}

// clusterNodeTimeout is Redis Cluster's down-after.
const clusterNodeTimeout = 1500 * time.Millisecond

func replicatedConf(name string, addrs map[string]netip.Addr) string {
	switch {
	case strings.HasPrefix(name, "sentinel"):
		// What to watch is said later, in order: prepare.go.
		return "port 26379\nbind 0.0.0.0\nprotected-mode no\ndir /lockcheck/data"
	case name != "redis-1":
		return redisConf(name, addrs) + fmt.Sprintf("\nreplicaof %s 6379", addrs["redis-1"])
	}
	return redisConf(name, addrs)
}

// start starts a group: its first node alone, to learn how nodes are reached,
// then the others at once. What has been started is in the group even if it
// failed.
func (p *Provider) start(ctx context.Context, spec groupSpec) (*group, error) {
	g := &group{name: spec.name, kind: spec.kind, nodes: make([]*node, len(spec.nodes)), hurt: true}
	addrs := map[string]netip.Addr{}
	for _, n := range spec.nodes {
		addrs[n.name] = p.net.take()
	}
	one := func(i int) (err error) {
		n := spec.nodes[i]
		if spec.conf != nil {
			n.conf = spec.conf(n.name, addrs)
		}
		g.nodes[i], err = p.startNode(ctx, spec.name, n, addrs[n.name])
		return err
	}
	if err := one(0); err != nil {
		return g, err
	}
	rest := make([]int, len(spec.nodes)-1)
	for i := range rest {
		rest[i] = i + 1
	}
	return g, wait.Each(rest, one)
}

// image answers the image of the nodes of a kind, building it at first.
func (p *Provider) image(ctx context.Context, k nodeKind) (string, error) {
	kind := [...]imageKind{redisKind: redisImage, sentinelKind: redisImage, sqlKind: sqlImage, queueKind: queueImage}[k]
	p.imagesMu.Lock()
	defer p.imagesMu.Unlock()
	if tag := p.images[kind]; tag != "" {
		return tag, nil
	}
	tag, err := p.engine.image(ctx, kind, p.Image, p.Tell)
	if err == nil {
		p.images[kind] = tag
	}
	return tag, err
}

// discard removes what is left of a group that did not come up.
func (p *Provider) discard(ctx context.Context, g *group) error {
	g.close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	_, err := p.engine.remove(ctx, client.Filters{}.Add("label", runLabel+"="+p.run, groupLabel+"="+g.name), none)
	return err
}

// close closes the director's connections.
func (g *group) close() {
	for _, n := range g.nodes {
		if n == nil {
			continue
		}
		n.shell.close()
		if n.redis != nil {
			_ = n.redis.Close()
		}
		if n.sql != nil {
			_ = n.sql.Close()
		}
	}
}

// of answers the group's nodes of a kind.
func (g *group) of(k nodeKind) []*node {
	var out []*node
	for _, n := range g.nodes {
		if n.kind == k {
			out = append(out, n)
		}
	}
	return out
}
