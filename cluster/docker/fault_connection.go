//go:build unix

package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/inject"
)

// HangUp implements inject.Connections. Of SQL connections it takes those in the
// middle of a transaction; if none is, all.
func (b backend) HangUp(ctx context.Context, servers, of inject.Targets) (string, error) {
	t, clients := b.find(servers), b.find(of).hosts
	var proofs []string
	for _, n := range t.nodes {
		if n.kind != sqlKind && n.kind != redisKind {
			return "", fmt.Errorf("%w: %s has no connections to kill", cluster.ErrUnavailable, n.name)
		}
		if b.p.Inert || n.dead() {
			continue
		}
		kill := func() (int, error) { return killRedisConnections(ctx, n.redis, clients) }
		if n.kind == sqlKind {
			kill = func() (int, error) { return killBusySQL(ctx, n) }
		}
		killed, err := kill()
		if err != nil {
			return "", err
		}
		if killed > 0 {
			proofs = append(proofs, fmt.Sprintf("%s ended %d connections", n.name, killed))
		}
	}
	return join(proofs), nil
}

func killBusySQL(ctx context.Context, n *node) (int, error) {
	killed, err := killSQLConnections(ctx, n, "ID IN (SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX)")
	if err == nil && killed == 0 {
		killed, err = killSQLConnections(ctx, n, "TRUE")
	}
	return killed, err
}

// killRedisConnections has a server end the connections that have the name of
// a worker's host, and counts those of which it says that it did.
func killRedisConnections(ctx context.Context, r *redis.Client, of []*host) (killed int, err error) {
	list, err := r.ClientList(ctx).Result()
	if err != nil {
		return 0, err
	}
	for _, id := range connectionsOf(list, of) {
		n, err := r.ClientKillByFilter(ctx, "ID", id).Result()
		if err != nil {
			return killed, err
		}
		killed += int(n)
	}
	return killed, nil
}

// connectionsOf are the ids of the connections in a CLIENT LIST that workers
// have named, those of some hosts if any are given.
func connectionsOf(list string, of []*host) (ids []string) {
	for line := range strings.Lines(list) {
		id, name := "", ""
		for _, field := range strings.Fields(line) {
			switch key, value, _ := strings.Cut(field, "="); key {
			case "id":
				id = value
			case "name":
				name = value
			}
		}
		wanted := strings.HasPrefix(name, "worker-") && len(of) == 0 ||
			slices.ContainsFunc(of, func(h *host) bool { return h.name == name })
		if wanted {
			ids = append(ids, id)
		}
	}
	return ids
}
