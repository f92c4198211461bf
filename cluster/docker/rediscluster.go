//go:build unix

package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lockcheck/lockcheck/internal/wait"
)

// Redis Cluster: three masters, redis-1 … redis-3, each with a replica,
// redis-4 … redis-6.
const (
	clusterMasters = 3
	clusterSlots   = 16384
)

// clusterAnew makes the cluster as it was at first.
func (g *group) clusterAnew(ctx context.Context) error {
	nodes := g.of(redisKind)
	err := wait.Each(nodes, func(n *node) error {
		// A replica turns into an empty master by the reset; a master must
		// be empty before it.
		if err := n.do(ctx, "CLUSTER", "RESET", "HARD"); err != nil && !strings.Contains(err.Error(), "contain keys") {
			return err
		}
		if err := n.do(ctx, "FLUSHALL"); err != nil {
			return err
		}
		return n.do(ctx, "CLUSTER", "RESET", "HARD")
	})
	if err != nil {
		return err
	}
	for i, n := range nodes {
		if err := n.do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1); err != nil {
			return err
		}
		if i < clusterMasters {
			first, last := i*clusterSlots/clusterMasters, (i+1)*clusterSlots/clusterMasters-1
			if err := n.do(ctx, "CLUSTER", "ADDSLOTSRANGE", first, last); err != nil {
				return err
			}
		}
	}
	for _, n := range nodes[1:] {
		if err := nodes[0].do(ctx, "CLUSTER", "MEET", n.addr.Addr().String(), n.addr.Port()); err != nil {
			return err
		}
	}
	return assignReplicas(ctx, nodes)
}

// assignReplicas gives each master its replica, once they know each other.
func assignReplicas(ctx context.Context, nodes []*node) error {
	for i, n := range nodes[clusterMasters:] {
		id, err := nodes[i].redis.Do(ctx, "CLUSTER", "MYID").Text()
		if err != nil {
			return err
		}
		err = wait.Until(ctx, prepareLimit, func(ctx context.Context) error { return n.do(ctx, "CLUSTER", "REPLICATE", id) })
		if err != nil {
			return err
		}
	}
	return nil
}

// clusterInOrder wants every node to see all slots served and everybody well,
// and every replica connected.
func (g *group) clusterInOrder(ctx context.Context) error {
	masters := 0
	for _, n := range g.of(redisKind) {
		info, err := n.redis.ClusterInfo(ctx).Result()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", n.name, err)
		case !strings.Contains(info, "cluster_state:ok"), !strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", len(g.nodes))):
			return fmt.Errorf("%s does not see the cluster as well", n.name)
		}
		seen, err := n.redis.ClusterNodes(ctx).Result()
		if err != nil || strings.Contains(seen, "fail") || strings.Contains(seen, "handshake") || strings.Contains(seen, "disconnected") {
			return errors.Join(fmt.Errorf("%s does not see every node as well", n.name), err)
		}
		f, err := n.info(ctx, "replication")
		if err != nil {
			return err
		}
		if f["role"] == "master" {
			masters++
		} else if f["master_link_status"] != "up" {
			return fmt.Errorf("%s is not connected with its master", n.name)
		}
	}
	if masters != clusterMasters {
		return fmt.Errorf("%d masters, want %d", masters, clusterMasters)
	}
	return nil
}

// clusterMasters are the owners of the slots, in their order, in the eyes of most
// of the members that answer.
func (c *system) clusterMasters(ctx context.Context) ([]*node, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	members := c.locks()
	seen := make([]string, len(members))
	_ = wait.Each(members, func(n *node) (err error) { // a member that does not answer has no vote
		seen[slices.Index(members, n)], err = n.redis.ClusterNodes(ctx).Result()
		return err
	})
	votes := map[int64]map[string]int{} // by the first slot, by address
	for _, text := range seen {
		for first, ip := range slotOwners(text) {
			if votes[first] == nil {
				votes[first] = map[string]int{}
			}
			votes[first][ip]++
		}
	}
	var masters []*node
	for _, first := range slices.Sorted(maps.Keys(votes)) {
		var best *node
		for _, n := range members {
			ip := n.addr.Addr().String()
			if v := votes[first][ip]; v > 0 && (best == nil || v > votes[first][best.addr.Addr().String()]) {
				best = n
			}
		}
		if best != nil && !slices.Contains(masters, best) {
			masters = append(masters, best)
		}
	}
	if len(masters) == 0 {
		return nil, errNoMaster
	}
	return masters, nil
}

// slotOwners reads CLUSTER NODES: the addresses of the masters by the first of
// their slots.
func slotOwners(text string) map[int64]string {
	owners := map[int64]string{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line) // id, ip:port@bus, flags, master, ping, pong, epoch, link, slots …
		if len(f) < 9 || !strings.Contains(f[2], "master") {
			continue
		}
		ip, _, _ := strings.Cut(f[1], ":")
		first, _, _ := strings.Cut(f[8], "-")
		if slot, err := strconv.ParseInt(first, 10, 64); err == nil {
			owners[slot] = ip
		}
	}
	return owners
}

// clusterFailover has a replica of old take over, with old's help.
func (c *system) clusterFailover(ctx context.Context, old *node) error {
	for _, n := range c.locks() {
		if f, err := n.info(ctx, "replication"); err == nil && f["master_host"] == old.addr.Addr().String() {
			return n.do(ctx, "CLUSTER", "FAILOVER")
		}
	}
	return fmt.Errorf("%s has no replica", old.name)
}

// clusterSuccessor is the master that old follows now.
func (c *system) clusterSuccessor(ctx context.Context, old *node) (*node, error) {
	f, err := old.info(ctx, "replication")
	if err != nil {
		return nil, err
	}
	for _, n := range c.locks() {
		if f["role"] == "slave" && f["master_host"] == n.addr.Addr().String() {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s is still master", old.name)
}
