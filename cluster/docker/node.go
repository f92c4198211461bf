package docker

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/redis/go-redis/v9"
	"github.com/testcontainers/testcontainers-go"
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
	redis  *redis.Client // the director's own, for Redis and Sentinel
	sql    *sqlDB        // for SQL
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
	n := &node{name: spec.name, kind: spec.kind, addr: netip.AddrPortFrom(addr, ports[spec.kind]), engine: p.engine}
	req := testcontainers.ContainerRequest{
		Name:     strings.Join([]string{"lockcheck", p.run, group, spec.name}, "-"),
		Image:    image,
		Cmd:      spec.args,
		Env:      map[string]string{"LOCKCHECK_CONF": spec.conf, "LOCKCHECK_NAME": spec.name},
		Labels:   map[string]string{ownLabel: "1", runLabel: p.run, ownerLabel: owner(), groupLabel: group},
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
	mapped, err := p.publish(&req, n)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c, err := p.engine.launch.RunContainer(ctx, req)
	if c != nil {
		n.id = c.GetContainerID()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	n.shell = shell{engine: p.engine, container: n.id}
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

// startLimit bounds the start of one container and its server: a database
// takes its time.
const startLimit = 90 * time.Second

// publish asks for a port of this host, of our own choosing so that it stays
// the same when the container is killed and started again; on loopback only,
// for these servers have no password. It is left out where containers are
// known to answer at their own addresses.
func (p *Provider) publish(req *testcontainers.ContainerRequest, n *node) (mapped string, err error) {
	direct := p.isDirect()
	bindings := network.PortMap{}
	if !direct {
		if mapped, err = freePort(); err != nil {
			return "", err
		}
		inside := fmt.Sprintf("%d/tcp", n.addr.Port())
		port, err := network.ParsePort(inside)
		if err != nil {
			return "", err
		}
		req.ExposedPorts = []string{inside}
		binding := network.PortBinding{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: mapped}
		if p.engine.remoteHost() != "" {
			binding.HostIP = netip.IPv4Unspecified()
		}
		bindings[port] = []network.PortBinding{binding}
	}
	req.HostConfigModifier = func(h *container.HostConfig) {
		h.CapAdd = []string{"NET_ADMIN"} // for iptables
		h.PortBindings = bindings
	}
	return mapped, nil
}

func (p *Provider) isDirect() bool {
	p.reachMu.Lock()
	defer p.reachMu.Unlock()
	return p.direct
}

func (p *Provider) setDirect(yes bool) {
	p.reachMu.Lock()
	defer p.reachMu.Unlock()
	p.direct = yes
}

func freePort() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// reach waits until the server answers at one of the addresses that it may
// have, and settles for that: the container's own (a Linux engine on this
// host), or a mapped port (an engine in a virtual machine, or elsewhere).
func (p *Provider) reach(ctx context.Context, n *node, mapped string) (string, error) {
	candidates := []string{n.addr.String()}
	if mapped != "" {
		candidates = append(candidates, net.JoinHostPort(cmp.Or(p.engine.remoteHost(), "127.0.0.1"), mapped))
	}
	var last error
	for {
		for i, c := range candidates {
			if last = probe(ctx, n.kind, c, 500*time.Millisecond); last == nil {
				p.setDirect(i == 0)
				return c, nil
			}
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return "", fmt.Errorf("no server answers at %s: %w", strings.Join(candidates, " or "), last)
		}
	}
}

// ping asks the server whether it is there, on a connection of its own. Its
// error says how it is not: refused, or silent.
func (n *node) ping(ctx context.Context, limit time.Duration) error {
	return probe(ctx, n.kind, n.dial, limit)
}

// answers asks on the director's own connections, too: those from before a
// kill fail once each, and for a second after many failures the library does
// not even try.
func (n *node) answers(ctx context.Context) error {
	if err := n.ping(ctx, time.Second); err != nil {
		return err
	}
	if n.redis == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return n.redis.Ping(ctx).Err()
}

// probe makes a connection and sees whether the right server is behind it.
func probe(ctx context.Context, kind nodeKind, addr string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	switch kind {
	case sqlKind: // speaks first
		_, err := bufio.NewReader(conn).ReadByte()
		return err
	case queueKind:
		if _, err := conn.Write([]byte("AMQP\x00\x00\x09\x01")); err != nil {
			return err
		}
		_, err := bufio.NewReader(conn).ReadByte()
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(reply, "+PONG") {
		err = errors.New(strings.TrimSpace(reply)) // LOADING, for one
	}
	return err
}

// directorClient is a client that no fault touches: it asks on each call's
// own time.
func directorClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1,
		ContextTimeoutEnabled: true, DialTimeout: time.Second, ReadTimeout: 2 * time.Second, PoolSize: 8,
		MaintNotificationsConfig: noMaintenance,
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
