//go:build unix

package docker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

// healthy looks once whether every server answers and replication is in order.
func (g *group) healthy(ctx context.Context) error {
	err := wait.Each(g.nodes, func(n *node) error {
		if err := n.ping(ctx, time.Second); err != nil {
			return fmt.Errorf("%s does not answer: %w", n.name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch g.kind {
	case env.Sentinel:
		if err := replicationInOrder(ctx, g.of(redisKind)); err != nil {
			return err
		}
		return wait.Each(g.of(sentinelKind), func(n *node) error { return n.agrees(ctx, g) })
	case env.RedisCluster:
		return g.clusterInOrder(ctx)
	}
	return nil
}

// replicationInOrder wants one master that all others follow and have caught
// up with.
func replicationInOrder(ctx context.Context, servers []*node) error {
	var master *node
	var offset string
	for _, n := range servers {
		f, err := n.info(ctx, "replication")
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		if f["role"] != "master" {
			continue
		}
		if master != nil {
			return fmt.Errorf("%s and %s are both master", master.name, n.name)
		}
		master, offset = n, f["master_repl_offset"]
	}
	if master == nil {
		return errors.New("nobody is master")
	}
	for _, n := range servers {
		if n == master {
			continue
		}
		f, err := n.info(ctx, "replication")
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", n.name, err)
		case f["master_host"] != master.addr.Addr().String():
			return fmt.Errorf("%s follows %s, not %s", n.name, f["master_host"], master.name)
		case f["master_link_status"] != "up":
			return fmt.Errorf("%s is not connected with %s", n.name, master.name)
		case number(f["slave_repl_offset"]) < number(offset):
			return fmt.Errorf("%s is behind %s", n.name, master.name)
		}
	}
	return nil
}

// agrees wants a sentinel to see the same master as the servers say, and all
// replicas and other sentinels, none of them down.
func (n *node) agrees(ctx context.Context, g *group) error {
	m, err := n.redis.Do(ctx, "SENTINEL", "MASTER", process.MasterName).Slice()
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	f := pairs(m)
	servers, sentinels := len(g.of(redisKind)), len(g.of(sentinelKind))
	var master *node
	for _, s := range g.of(redisKind) {
		if s.addr.Addr().String() == f["ip"] {
			master = s
		}
	}
	if master == nil {
		return fmt.Errorf("%s watches %s, which is no node", n.name, f["ip"])
	}
	switch role, err := master.role(ctx); {
	case err != nil:
		return err
	case role != "master":
		return fmt.Errorf("%s takes %s for the master, which is none", n.name, master.name)
	case f["flags"] != "master":
		return fmt.Errorf("%s sees the master as %s", n.name, f["flags"])
	case number(f["num-slaves"]) != int64(servers-1):
		return fmt.Errorf("%s knows %s replicas of %d", n.name, f["num-slaves"], servers-1)
	case number(f["num-other-sentinels"]) != int64(sentinels-1):
		return fmt.Errorf("%s knows %s other sentinels of %d", n.name, f["num-other-sentinels"], sentinels-1)
	}
	return n.seesNobodyDown(ctx)
}

func (n *node) seesNobodyDown(ctx context.Context) error {
	for _, who := range []string{"REPLICAS", "SENTINELS"} {
		list, err := n.redis.Do(ctx, "SENTINEL", who, process.MasterName).Slice()
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		for _, item := range list {
			fields, _ := item.([]any)
			if f := pairs(fields); strings.Contains(f["flags"], "down") || strings.Contains(f["flags"], "disconnected") {
				return fmt.Errorf("%s sees %s as %s", n.name, f["name"], f["flags"])
			}
		}
	}
	return nil
}

// pairs reads a reply of alternating names and values.
func pairs(reply []any) map[string]string {
	m := make(map[string]string, len(reply)/2)
	for i := 0; i+1 < len(reply); i += 2 {
		m[fmt.Sprint(reply[i])] = fmt.Sprint(reply[i+1])
	}
	return m
}

// number reads a number that a server printed; 0 if it is none.
func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
