package sim

import (
	"context"
	"fmt"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/workload/env"
)

// sqlClient is env.SQL: a pool of connections to the SQL server.
type sqlClient struct{ pool *endpoint }

var _ env.SQL = (*sqlClient)(nil)

// sqlTx is a transaction on a connection of its own.
type sqlTx struct{ line *line }

var _ env.Tx = (*sqlTx)(nil)

func (q *sqlClient) run(ctx context.Context, query string, args []any) (reply *sqlReply, err error) {
	err = q.pool.with(ctx, func(l *line) error {
		reply, err = l.statement(ctx, query, args)
		return err
	})
	return reply, err
}

// Query runs one statement on a free connection.
func (q *sqlClient) Query(ctx context.Context, query string, args ...any) ([][]any, error) {
	return rows(q.run(ctx, query, args))
}

// Exec runs one statement on a free connection.
func (q *sqlClient) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return affected(q.run(ctx, query, args))
}

// Tx runs f between BEGIN and COMMIT, or ROLLBACK.
func (q *sqlClient) Tx(ctx context.Context, f func(env.Tx) error) error {
	return q.pool.with(ctx, func(l *line) error {
		if _, err := l.statement(ctx, "BEGIN", nil); err != nil {
			l.drop()
			return fmt.Errorf("begin: %w: %w", env.ErrRefused, err) // nothing was done
		}
		if err := f(&sqlTx{l}); err != nil {
			if _, bad := l.statement(ctx, "ROLLBACK", nil); bad != nil {
				l.drop()
			}
			return err
		}
		if _, err := l.statement(ctx, cluster.Commit, nil); err != nil {
			l.drop()
			return fmt.Errorf("commit: %w: %w", env.ErrDoubt, err)
		}
		return nil
	})
}

// Query runs one statement in the transaction.
func (t *sqlTx) Query(ctx context.Context, query string, args ...any) ([][]any, error) {
	return rows(t.line.statement(ctx, query, args))
}

// Exec runs one statement in the transaction.
func (t *sqlTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return affected(t.line.statement(ctx, query, args))
}

// statement sends one statement on a connection.
func (l *line) statement(ctx context.Context, query string, args []any) (*sqlReply, error) {
	request := []string{"QUERY", query}
	for _, arg := range args {
		word, err := encode(arg)
		if err != nil {
			return nil, err
		}
		request = append(request, word)
	}
	reply, err := l.do(ctx, request)
	if err != nil {
		return nil, err
	}
	return reply.(*sqlReply), nil
}

func rows(reply *sqlReply, err error) ([][]any, error) {
	if err != nil {
		return nil, err
	}
	return reply.rows, nil
}

func affected(reply *sqlReply, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return reply.affected, nil
}
