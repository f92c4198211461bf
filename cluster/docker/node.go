//go:build unix

package docker

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/redis/go-redis/v9"
	"github.com/testcontainers/testcontainers-go"

	"github.com/lockcheck/lockcheck/cluster/process"
)

// nodeKind is what runs on a node.
type nodeKind int

const (
	redisKind nodeKind = iota
	sentinelKind
	sqlKind
	queueKind
)

// ports are where servers listen, in their containers.
var ports = [...]uint16{redisKind: 6379, sentinelKind: 26379, sqlKind: 3306, queueKind: 5672}

// node is one server in its container.
type node struct {
	name   string
	kind   nodeKind
	addr   netip.AddrPort // in the private network: what servers know it by
	dial   string         // where this host reaches it
	id     string         // of the container
	engine *engine
	secret string        // password of SQL and the queue
	redis  *redis.Client // the director's own, for Redis and Sentinel
	sql    *process.SQL  // for SQL
	shell  shell         // process 1 of the container

	mu    sync.Mutex
	harm  harm     // what was done to it
	rules []string // iptables rules that cut its links
}

// harm is what Heal has to undo at one node.
type harm struct {
	host    bool // the container was killed
	process bool // the server in it was killed
	paused  bool
	skew    bool
	offset  time.Duration
	drift   float64
	memory  bool
	filler  string // what the names of the keys that fill the memory begin with
}

// nodeSpec is what to start.
type nodeSpec struct {
	name string
	kind nodeKind
	conf string   // configuration file
	args []string // further arguments of the server
}

// startNode starts one container and waits until its server answers.
func (p *Provider) startNode(ctx context.Context, group string, spec nodeSpec, addr netip.Addr) (*node, error) {
	image, err := p.image(ctx, spec.kind)
	if err != nil {
		return nil, err
	}
	n := &node{name: spec.name, kind: spec.kind, addr: netip.AddrPortFrom(addr, ports[spec.kind]), engine: p.engine, secret: p.password}
	req := p.request(group, spec, image, addr)
	mapped, err := p.publish(&req, n)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c, err := p.engine.launch.RunContainer(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	n.id = c.GetContainerID()
	n.shell = shell{attach: p.engine.attachTo(n.id)}
	if n.dial, err = p.reach(ctx, n, mapped); err != nil {
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	switch n.kind {
	case redisKind, sentinelKind:
		n.redis = directorClient(n.dial)
	case sqlKind:
		n.sql = directorSQL(n)
	}
	return n, nil
}

// request is what testcontainers is to run.
func (p *Provider) request(group string, spec nodeSpec, image string, addr netip.Addr) testcontainers.ContainerRequest {
	return testcontainers.ContainerRequest{
		Name:     strings.Join([]string{"lockcheck", p.run, group, spec.name}, "-"),
		Image:    image,
		Cmd:      spec.args,
		Env:      map[string]string{"LOCKCHECK_CONF": spec.conf, "LOCKCHECK_PASSWORD": p.password},
		Labels:   map[string]string{ownLabel: "1", runLabel: p.run, ownerLabel: owner(), hostLabel: machine(), groupLabel: group},
		Networks: []string{p.net.name},
		ConfigModifier: func(c *container.Config) {
			c.Hostname = spec.name
			c.OpenStdin = true // process 1 is told what to do there
		},
		EndpointSettingsModifier: func(s map[string]*network.EndpointSettings) {
			if e := s[p.net.name]; e != nil {
				e.IPAMConfig = &network.EndpointIPAMConfig{IPv4Address: addr}
			}
		},
	}
}

// startLimit bounds the start of one container and its server: a database
// takes its time.
const startLimit = 90 * time.Second

// directorClient is a client that no fault touches: it asks on each call's
// own time.
func directorClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1,
		ContextTimeoutEnabled: true, DialTimeout: time.Second, ReadTimeout: 2 * time.Second, PoolSize: 8,
		MaintNotificationsConfig: process.NoMaintenance,
	})
}

// info is a section of INFO, as a map.
func (n *node) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := n.redis.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[k] = v
		}
	}
	return fields, nil
}

// version names the server and its version: "Redis 7.0.15", "Valkey 8.0.1".
func (n *node) version(ctx context.Context) (string, error) {
	switch n.kind {
	case sqlKind:
		return sqlVersion(ctx, n)
	case queueKind:
		return queueVersion(ctx, n)
	}
	f, err := n.info(ctx, "server")
	if err != nil {
		return "", err
	}
	if v := f["valkey_version"]; v != "" {
		return "Valkey " + v, nil
	}
	return "Redis " + f["redis_version"], nil
}

// role is what a Redis node says it is: "master", or "slave" and of whom.
func (n *node) role(ctx context.Context) (string, error) {
	reply, err := n.redis.Do(ctx, "ROLE").Slice()
	if err != nil {
		return "", err
	}
	role, _ := reply[0].(string)
	return role, nil
}
