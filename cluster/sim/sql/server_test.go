package sql

import (
	"context"
	gosql "database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// A real MariaDB server for the tests of this package, started once. Without
// privileges it does with an empty directory: InnoDB makes what it needs.

// mariadb is a server in a directory of its own, reached by a socket.
type mariadb struct {
	dir     string
	cmd     *exec.Cmd
	exited  chan struct{}
	db      *gosql.DB
	control *gosql.Conn
}

var theServer struct {
	once sync.Once
	m    *mariadb
	err  error
}

// TestMain ends the server that tests have started.
func TestMain(m *testing.M) {
	code := m.Run()
	if s := theServer.m; s != nil {
		s.stop()
	}
	os.Exit(code)
}

// aServer answers the server, or skips the test.
func aServer(t *testing.T) *mariadb {
	t.Helper()
	if _, err := exec.LookPath("mariadbd"); err != nil {
		t.Skip("mariadbd is not installed (Debian: mariadb-server)")
	}
	theServer.once.Do(func() { theServer.m, theServer.err = startMariaDB() })
	if theServer.err != nil {
		t.Fatal(theServer.err)
	}
	return theServer.m
}

func startMariaDB() (*mariadb, error) {
	dir, err := os.MkdirTemp("", "lockcheck-sql")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := os.Mkdir(dir+"/data", 0o700); err != nil {
		return nil, err
	}
	m := &mariadb{dir: dir}
	if err := m.start(ctx); err != nil {
		m.stop()
		return nil, err
	}
	return m, nil
}

// withUser lets the server run as root where that is who runs the tests.
func withUser(args []string) []string {
	if os.Geteuid() == 0 {
		return append(args, "--user=root")
	}
	return args
}

func (m *mariadb) start(ctx context.Context) error {
	log, err := os.Create(filepath.Join(m.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := withUser([]string{"--no-defaults", "--datadir=" + m.dir + "/data", "--socket=" + m.dir + "/s", "--pid-file=" + m.dir + "/pid",
		"--skip-networking", "--skip-grant-tables", "--performance-schema=OFF", "--innodb-buffer-pool-size=32M",
		"--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=1", "--character-set-server=utf8mb4",
		"--innodb-monitor-enable=purge%"})
	m.cmd = exec.Command("mariadbd", args...)
	m.cmd.Stdout, m.cmd.Stderr = log, log
	if err := m.spawn(); err != nil {
		return err
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.InterpolateParams = "unix", m.dir+"/s", "root", true
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return err
	}
	m.db = gosql.OpenDB(connector)
	for {
		if m.control, err = m.db.Conn(ctx); err == nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-m.exited:
		default:
			time.Sleep(10 * time.Millisecond) // the server starts in real time
			continue
		}
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("mariadbd did not come up: %w\n%s", err, text)
	}
	_, err = m.control.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+Schema)
	return err
}

// spawn starts the program. It dies with the tests, however they end: the
// kernel takes the thread that started it for its parent, so that one stays.
func (m *mariadb) spawn() error {
	dieWithTests(m.cmd)
	m.exited = make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := m.cmd.Start()
		started <- err
		if err == nil {
			_ = m.cmd.Wait()
		}
		close(m.exited)
	}()
	return <-started
}

// end ends the server: SIGKILL, or SIGTERM for an orderly shutdown.
func (m *mariadb) end(how syscall.Signal) {
	_ = m.cmd.Process.Signal(how)
	<-m.exited
	_ = m.db.Close()
}

func (m *mariadb) stop() {
	if m.cmd != nil && m.cmd.Process != nil {
		m.end(syscall.SIGKILL)
	}
	_ = os.RemoveAll(m.dir)
}

// connect opens a connection of its own.
func (m *mariadb) connect(ctx context.Context) (*gosql.Conn, error) {
	c, err := m.db.Conn(ctx)
	if err == nil {
		_, err = c.ExecContext(ctx, "USE "+Schema)
	}
	return c, err
}

// ask is one number from the control connection.
func (m *mariadb) ask(ctx context.Context, query string) (n int, err error) {
	err = m.control.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

// purged counts the deleted rows and the updated ones that the server has
// cleaned up after.
func (m *mariadb) purged(ctx context.Context) (n [2]int) {
	for i, name := range []string{"purge_del_mark_records", "purge_upd_exist_or_extern_records"} {
		n[i], _ = m.ask(ctx, "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME='"+name+"'")
	}
	return n
}

// waiting is how many statements wait for row locks and user locks.
func (m *mariadb) waiting(ctx context.Context) (int, error) {
	rows, err := m.ask(ctx, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='INNODB_ROW_LOCK_CURRENT_WAITS'")
	if err != nil {
		return 0, err
	}
	names, err := m.ask(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE='User lock'")
	return rows + names, err
}

// run sends one statement and says how it ended.
func run(ctx context.Context, c *gosql.Conn, query string) string {
	if isQuery(query) {
		return runQuery(ctx, c, query)
	}
	result, err := c.ExecContext(ctx, query)
	if err != nil {
		return failure(err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return failure(err)
	}
	return changed(n)
}

func runQuery(ctx context.Context, c *gosql.Conn, query string) string {
	rows, err := c.QueryContext(ctx, query)
	if err != nil {
		return failure(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return failure(err)
	}
	var out [][]any
	for rows.Next() {
		row := make([]any, len(columns))
		cells := make([]any, len(columns))
		for i := range row {
			cells[i] = &row[i]
		}
		if err := rows.Scan(cells...); err != nil {
			return failure(err)
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = string(b)
			}
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		return failure(err)
	}
	return rowsText(out)
}

func failure(err error) string {
	var reply *mysql.MySQLError
	if errors.As(err, &reply) && reply.Number != 1317 { // 1317: killed
		return fmt.Sprintf("error %d %s", reply.Number, reply.Message)
	}
	return "connection lost"
}
