package docker

import (
	"context"
	"fmt"

	"github.com/lockcheck/lockcheck/cluster"
)

// killConnection kills the SQL connections of workers that are in the middle
// of a transaction; if none is, those of all.
func (c *cell) killConnection(ctx context.Context, t targets) (string, error) {
	var proofs []string
	for _, n := range t.nodes {
		if n.kind != sqlKind {
			return "", fmt.Errorf("%w: %s has no SQL connections", cluster.ErrUnavailable, n.name)
		}
		if c.p.Harmless {
			return "", nil
		}
		killed, err := killSQLConnections(ctx, n, "ID IN (SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX)")
		if err == nil && killed == 0 {
			killed, err = killSQLConnections(ctx, n, "TRUE")
		}
		if err != nil {
			return "", err
		}
		proof := ""
		if killed > 0 {
			proof = fmt.Sprintf("%s ended %d connections", n.name, killed)
		}
		proofs = append(proofs, proof)
	}
	return join(proofs), nil
}
