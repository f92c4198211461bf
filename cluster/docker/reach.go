//go:build unix

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
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"

	"github.com/lockcheck/lockcheck/internal/wait"
)

// publish asks for a port of this host, of our own choosing so that it stays
// the same when the container is killed and started again; on the engine's
// loopback only, for Redis has no password. An
// engine on another machine can be used where its private network is routed to
// here. It is left out where containers are
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
		if err := wait.Sleep(ctx, 20*time.Millisecond); err != nil {
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
