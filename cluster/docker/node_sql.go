//go:build unix

package docker

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/process"
)

// directorSQL is the director's own pool.
func directorSQL(n *node) *process.SQL {
	return process.NewSQL(n.dial, n.secret, 5*time.Second, 2, (&net.Dialer{}).DialContext)
}

func sqlVersion(ctx context.Context, n *node) (string, error) {
	rows, err := n.sql.Query(ctx, "SELECT VERSION()")
	if err != nil {
		return "", err
	}
	version, _, _ := strings.Cut(fmt.Sprint(rows[0][0]), "-")
	return "MariaDB " + version, nil
}

// emptySQL leaves the database without a table, and without a connection that
// holds locks on one.
func emptySQL(ctx context.Context, n *node) error {
	if _, err := killSQLConnections(ctx, n, "ID <> CONNECTION_ID()"); err != nil {
		return err
	}
	for _, q := range []string{"DROP DATABASE IF EXISTS " + process.Database, "CREATE DATABASE " + process.Database} {
		if _, err := n.sql.Exec(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	return nil
}

// killSQLConnections kills the workers' connections that the condition picks.
func killSQLConnections(ctx context.Context, n *node, where string) (killed int, err error) {
	rows, err := n.sql.Query(ctx, "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = ? AND ID <> CONNECTION_ID() AND "+where, process.ServerUser)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", n.name, err)
	}
	for _, row := range rows {
		if _, err := n.sql.Exec(ctx, fmt.Sprintf("KILL CONNECTION %v", row[0])); err == nil { // else it has gone by itself
			killed++
		}
	}
	return killed, nil
}
