package sql

import (
	"context"
	gosql "database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// A script is a list of steps "connection> statement" over several
// connections. After each step a player says what became known: which
// statements ended, and how, and which wait. Besides SQL there are the steps
// (times out) and (killed).

type step struct{ conn, text string }

// outcome is what is known after a step: how statements ended, by connection,
// and whose statements wait. The acting connection has a line even if it waits.
type outcome struct {
	lines   map[string]string
	waiting []string
}

func isQuery(text string) bool { return strings.HasPrefix(strings.ToUpper(text), "SELECT") }

func changed(n int64) string { return fmt.Sprintf("ok, %d changed", n) }

// rowsText writes rows; a query without ORDER BY has none, so they are
// sorted.
func rowsText(rows [][]any) string {
	if len(rows) == 0 {
		return "no rows"
	}
	var out []string
	for _, row := range rows {
		var cells []string
		for _, v := range row {
			switch v := v.(type) {
			case nil:
				cells = append(cells, "NULL")
			case string:
				cells = append(cells, fmt.Sprintf("%q", v))
			default:
				cells = append(cells, fmt.Sprint(v))
			}
		}
		out = append(out, strings.Join(cells, ","))
	}
	slices.Sort(out)
	return strings.Join(out, " | ")
}

const (
	waits    = "waits"
	timesOut = "(times out)"
	killed   = "(killed)"
	busy     = "is at work" // a step that the connection cannot do
)

// model plays on the simulated server.
type model struct {
	db       *DB
	sessions map[string]*Session
	query    map[string]string // what runs on a connection
	woken    []*Session
	// pick chooses who of several woken sessions goes on first, and what else
	// is chance; nil: the first.
	pick func(n int) int
}

func newModel() *model {
	m := &model{sessions: map[string]*Session{}, query: map[string]string{}}
	m.db = New(func() time.Time { return time.Unix(1_700_000_000, 123456000) })
	m.db.Choose = func(n int) int {
		if m.pick == nil {
			return 0
		}
		return m.pick(n)
	}
	m.db.OnWake = func(s *Session) { m.woken = append(m.woken, s) }
	return m
}

func (m *model) session(conn string) *Session {
	if m.sessions[conn] == nil {
		m.sessions[conn] = m.db.Session()
	}
	return m.sessions[conn]
}

func (m *model) play(st step) outcome {
	lines := map[string]string{}
	s := m.session(st.conn)
	switch st.text {
	case timesOut:
		s.TimeOut()
		m.woken = append(m.woken, s)
	case killed:
		s.Kill()
		lines[st.conn] = "connection lost"
		delete(m.sessions, st.conn)
	default:
		if s.pending != nil {
			return outcome{map[string]string{st.conn: busy}, nil}
		}
		m.query[st.conn] = st.text
		result, err := s.Do(st.text)
		m.report(lines, st.conn, result, err)
	}
	for len(m.woken) > 0 {
		at := 0
		if len(m.woken) > 1 && m.pick != nil {
			at = m.pick(len(m.woken))
		}
		s := m.woken[at]
		m.woken = slices.Delete(m.woken, at, at+1)
		if s.Waiting() {
			continue
		}
		result, err := s.Continue()
		for conn, o := range m.sessions {
			if o == s {
				m.report(lines, conn, result, err)
			}
		}
	}
	return outcome{lines, m.waiting()}
}

func (m *model) waiting() (names []string) {
	for conn, s := range m.sessions {
		if s.Waiting() {
			names = append(names, conn)
		}
	}
	slices.Sort(names)
	return names
}

func (m *model) report(lines map[string]string, conn string, result Result, err error) {
	var blocked *Blocked
	switch {
	case errors.As(err, &blocked):
		if lines[conn] = waits; blocked.Limit == 0 {
			m.sessions[conn].TimeOut()
			m.woken = append(m.woken, m.sessions[conn])
		}
	case err != nil:
		lines[conn] = "error " + err.Error()
	case isQuery(m.query[conn]):
		lines[conn] = rowsText(result.Rows)
	default:
		lines[conn] = changed(result.Affected)
	}
}

// server plays on a real one.
type server struct {
	m       *mariadb
	ctx     context.Context
	cancel  context.CancelFunc
	conns   map[string]*gosql.Conn
	ids     map[string]int64
	running map[string]chan string
	purged  [2]int // what it had purged after the setup
}

// newServer empties the database for a script.
func newServer(t *testing.T, m *mariadb) *server {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	s := &server{m: m, ctx: ctx, cancel: cancel, conns: map[string]*gosql.Conn{}, ids: map[string]int64{}, running: map[string]chan string{}}
	for _, q := range []string{"DROP DATABASE IF EXISTS " + Schema, "CREATE DATABASE " + Schema} {
		if _, err := m.control.ExecContext(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(s.close)
	return s
}

func (s *server) close() {
	for name := range s.conns {
		s.kill(name)
	}
	s.cancel()
}

func (s *server) conn(name string) *gosql.Conn {
	if s.conns[name] == nil {
		c, err := s.m.connect(s.ctx)
		if err != nil {
			panic(err)
		}
		s.conns[name] = c
		var id int64
		if err := c.QueryRowContext(s.ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			panic(err)
		}
		s.ids[name] = id
	}
	return s.conns[name]
}

func (s *server) kill(name string) {
	_, _ = s.m.control.ExecContext(s.ctx, fmt.Sprintf("KILL %d", s.ids[name]))
	if reply := s.running[name]; reply != nil {
		<-reply
		delete(s.running, name)
	}
	_ = s.conns[name].Close()
	delete(s.conns, name)
	gone := fmt.Sprintf("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID=%d", s.ids[name])
	for s.ctx.Err() == nil {
		if n, err := s.m.ask(s.ctx, gone); err != nil || n == 0 {
			return
		}
	}
}

// begin starts a step; it may go on in the background.
func (s *server) begin(st step) {
	c := s.conn(st.conn)
	switch st.text {
	case timesOut:
	case killed:
		s.kill(st.conn)
	default:
		reply := make(chan string, 1)
		s.running[st.conn] = reply
		go func() { reply <- run(s.ctx, c, st.text) }()
	}
}

// end waits until nothing moves any more and the outcome is one of those
// expected: as many statements wait as have not ended.
func (s *server) end(got *outcome, expected func(outcome) bool) error {
	for deadline := time.Now().Add(8 * time.Second); ; {
		got.waiting = nil
		for name, reply := range s.running {
			select {
			case text := <-reply:
				got.lines[name] = text
				delete(s.running, name)
			default:
				got.waiting = append(got.waiting, name)
			}
		}
		slices.Sort(got.waiting)
		n, err := s.m.waiting(s.ctx)
		if err != nil {
			return err
		}
		if n == len(got.waiting) && expected(*got) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("server: %v, waiting %v (%d by its own count)", got.lines, got.waiting, n)
		}
		time.Sleep(200 * time.Microsecond) // the server moves in real time
	}
}

// follow plays a step on the real server until its outcome is among those of
// the model, and answers which.
func (s *server) follow(st step, candidates []outcome) (which []int, err error) {
	if candidates[0].lines[st.conn] == busy {
		return []int{0}, nil
	}
	s.begin(st)
	got := outcome{lines: map[string]string{}}
	if st.text == killed {
		got.lines[st.conn] = "connection lost"
	}
	err = s.end(&got, func(got outcome) bool {
		which = nil
		for i, c := range candidates {
			if slices.Equal(c.waiting, got.waiting) && maps.Equal(c.ended(), got.lines) {
				which = append(which, i)
			}
		}
		return which != nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w; model: %v", err, candidates)
	}
	return which, nil
}

func (o outcome) ended() map[string]string {
	ended := map[string]string{}
	for conn, line := range o.lines {
		if line != waits {
			ended[conn] = line
		}
	}
	return ended
}
