//go:build unix

package process

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockcheck/lockcheck/workload/env"
)

// What SQL servers and brokers know us by; the password is the run's own.
const (
	ServerUser = "lockcheck"
	Database   = "lockcheck"
)

// SQL is env.SQL over database/sql.
type SQL struct {
	db    *sql.DB
	limit time.Duration // of one statement
}

var _ env.SQL = (*SQL)(nil)

// openSQL makes the pool. database/sql sends a statement again only when the
// driver says that nothing was sent; this driver says so only then.
func openSQL(w *World, o clientOptions) *SQL {
	return NewSQL(w.servers.SQL.Addr, w.servers.Password, o.limit, o.pool, func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := o.dial(ctx, network, addr)
		return conn, notSent(err)
	})
}

// NewSQL makes a pool of connections to a server, made by dial; limit bounds each
// statement. Nothing is dialled yet.
func NewSQL(addr, password string, limit time.Duration, pool int, dial dialFunc) *SQL {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.DBName = ServerUser, password, Database
	c.Net, c.Addr, c.DialFunc = "tcp", addr, dial
	c.Timeout = limit * 3 / 4
	c.ReadTimeout, c.WriteTimeout = limit, limit
	c.InterpolateParams = true // one round trip a statement
	c.Logger = silent{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		panic(fmt.Sprintf("process: %v", err)) // the configuration is ours
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(pool)
	db.SetMaxIdleConns(pool)
	return &SQL{db: db, limit: limit}
}

type silent struct{}

func (silent) Print(...any) {}

// Close ends the connections.
func (s *SQL) Close() error { return s.db.Close() }

// executor is what a pool and a transaction have in common.
type executor interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Query implements env.SQL.
func (s *SQL) Query(ctx context.Context, query string, args ...any) ([][]any, error) {
	return sqlQuery(ctx, s.db, s.limit, query, args)
}

// Exec implements env.SQL.
func (s *SQL) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return sqlExec(ctx, s.db, s.limit, query, args)
}

// Tx implements env.SQL.
func (s *SQL) Tx(ctx context.Context, f func(env.Tx) error) (err error) {
	tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // f failed or panicked
			_ = tx.Rollback()
		}
	}()
	if err := f(&sqlTx{tx: tx, limit: s.limit}); err != nil {
		return err
	}
	done = true
	if err := tx.Commit(); err != nil {
		// A commit that was sent may have come through, whatever is said.
		return fmt.Errorf("commit: %w: %w", env.ErrDoubt, classifySQL(ctx, err))
	}
	return nil
}

// begin opens a transaction. Nothing has been done if it fails.
func (s *SQL) begin(ctx context.Context) (*sql.Tx, error) {
	// The transaction must outlive the time that its first step may take: it
	// is bounded by the read and write time-outs of its connection.
	tx, err := s.db.BeginTx(ctx, nil) // REPEATABLE READ is the server's default
	if err != nil {
		return nil, notSent(classifySQL(ctx, err))
	}
	return tx, nil
}

// sqlTx is env.Tx.
type sqlTx struct {
	tx    *sql.Tx
	limit time.Duration
}

// Query implements env.Tx.
func (t *sqlTx) Query(ctx context.Context, query string, args ...any) ([][]any, error) {
	return sqlQuery(ctx, t.tx, t.limit, query, args)
}

// Exec implements env.Tx.
func (t *sqlTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return sqlExec(ctx, t.tx, t.limit, query, args)
}

func sqlQuery(ctx context.Context, e executor, limit time.Duration, query string, args []any) ([][]any, error) {
	call, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rows, err := e.QueryContext(call, query, args...)
	if err != nil {
		return nil, classifySQL(ctx, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, classifySQL(ctx, err)
	}
	var out [][]any
	for rows.Next() {
		row := make([]any, len(columns))
		cells := make([]any, len(columns))
		for i := range row {
			cells[i] = &row[i]
		}
		if err := rows.Scan(cells...); err != nil {
			return nil, classifySQL(ctx, err)
		}
		for i := range row {
			row[i] = plainSQL(row[i])
		}
		out = append(out, row)
	}
	return out, classifySQL(ctx, rows.Err())
}

// plainSQL maps a value to what env.SQL promises.
func plainSQL(v any) any {
	switch v := v.(type) {
	case nil, int64, string:
		return v
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

func sqlExec(ctx context.Context, e executor, limit time.Duration, query string, args []any) (int64, error) {
	call, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result, err := e.ExecContext(call, query, args...)
	if err != nil {
		return 0, classifySQL(ctx, err)
	}
	n, err := result.RowsAffected()
	return n, classifySQL(ctx, err)
}

// classifySQL is classify with the SQL server's error replies: a ServerError
// that begins with MySQL's number, "1213 Deadlock found …".
func classifySQL(ctx context.Context, err error) error {
	var reply *mysql.MySQLError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &reply):
		return env.ServerError(fmt.Sprintf("%d %s", reply.Number, reply.Message))
	case errors.Is(err, env.ErrRefused):
		return err
	case errors.Is(err, driver.ErrBadConn):
		return notSent(err) // only before anything was sent
	case errors.Is(err, mysql.ErrInvalidConn):
		return fmt.Errorf("%w: %v", env.ErrReset, err)
	}
	return classify(ctx, err)
}
