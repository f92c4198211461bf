package sql

import (
	"context"
	"syscall"
	"testing"
	"time"
)

// What the simulated cluster takes for granted about clients that leave and
// servers that die, looked at on a real server.

// units reads the stock by the control connection.
func (m *mariadb) units(ctx context.Context) int {
	n, _ := m.ask(ctx, "SELECT n FROM "+Schema+".stock")
	return n
}

// eventually waits for the stock to be n.
func (m *mariadb) eventually(t *testing.T, ctx context.Context, n int) {
	t.Helper()
	for deadline := time.Now().Add(8 * time.Second); m.units(ctx) != n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d units, want %d", m.units(ctx), n)
		}
		time.Sleep(time.Millisecond) // the server moves in real time
	}
}

func play(t *testing.T, s *server, conn string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if line := run(s.ctx, s.conn(conn), text); line[0] == 'e' {
			t.Fatalf("%s> %s: %s", conn, text, line)
		}
	}
}

func TestStatementWhoseClientHasLeftGoesOnWaiting(t *testing.T) {
	tests := []struct {
		name  string
		begin []string
		left  int // of 5 units, when all is over
	}{
		{"outside of a transaction it acts all the same", nil, 3},
		{"in a transaction it is rolled back", []string{"BEGIN"}, 4},
	}
	m := aServer(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, m)
			play(t, s, "a", "CREATE TABLE stock (k INT PRIMARY KEY, n INT)", "INSERT INTO stock VALUES (1, 5)", "BEGIN", "UPDATE stock SET n = n - 1")
			play(t, s, "b", tt.begin...)
			c, cancel := context.WithCancel(s.ctx)
			ended := make(chan string, 1)
			conn := s.conn("b")
			go func() { ended <- run(c, conn, "UPDATE stock SET n = n - 1") }()
			waitUntil(t, func() bool { n, _ := m.waiting(s.ctx); return n == 1 })
			cancel()
			<-ended
			if n, _ := m.waiting(s.ctx); n != 1 {
				t.Errorf("%d statements wait after the client has left", n)
			}
			play(t, s, "a", "COMMIT")
			m.eventually(t, s.ctx, tt.left)
			waitUntil(t, func() bool {
				n, _ := m.ask(s.ctx, "SELECT COUNT(*) FROM information_schema.INNODB_TRX")
				return n == 0
			})
			if got := m.units(s.ctx); got != tt.left {
				t.Errorf("%d units, want %d", got, tt.left)
			}
		})
	}
}

func waitUntil(t *testing.T, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(8 * time.Second); !ready(); {
		if time.Now().After(deadline) {
			t.Fatal("waited too long")
		}
		time.Sleep(time.Millisecond) // the server moves in real time
	}
}

// crashScript leaves one thing committed, one not.
var crashScript = []step{
	{"a", "CREATE TABLE stock (k INT PRIMARY KEY, n INT)"},
	{"a", "CREATE TABLE numbered (id INT AUTO_INCREMENT PRIMARY KEY, n INT)"},
	{"a", "INSERT INTO stock VALUES (1, 5)"},
	{"a", "BEGIN"},
	{"a", "UPDATE stock SET n = n - 1"},
	{"a", "COMMIT"},
	{"a", "BEGIN"},
	{"a", "UPDATE stock SET n = n - 1"},
	{"a", "INSERT INTO numbered (n) VALUES (1), (2)"},
	{"b", "INSERT INTO numbered (n) VALUES (3)"},
}

// afterCrash must answer the same on both.
var afterCrash = []step{
	{"c", "SELECT n FROM stock WHERE k = 1 FOR UPDATE"},
	{"c", "INSERT INTO numbered (n) VALUES (4)"},
	{"c", "SELECT * FROM numbered"},
}

func TestKilledServerKeepsWhatWasCommitted(t *testing.T) {
	m := aServer(t)
	restart(t, m, syscall.SIGTERM) // what it made at its first start is on disk only then
	model, s := newModel(), newServer(t, m)
	for _, st := range crashScript {
		if _, err := s.follow(st, []outcome{model.play(st)}); err != nil {
			t.Fatalf("%s> %s: %v", st.conn, st.text, err)
		}
	}
	clear(s.conns)
	restart(t, m, syscall.SIGKILL)
	model.db.Crash()
	clear(model.sessions)
	for _, st := range afterCrash {
		if _, err := s.follow(st, []outcome{model.play(st)}); err != nil {
			t.Errorf("%s> %s: %v", st.conn, st.text, err)
		}
	}
}

func restart(t *testing.T, m *mariadb, how syscall.Signal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m.end(how)
	if err := m.start(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestCrashOfTheModel(t *testing.T) {
	m := newModel()
	for _, st := range crashScript {
		m.play(st)
	}
	dead := m.sessions["a"]
	m.db.Crash()
	if _, err := dead.Do("SELECT 1"); err != errKilled {
		t.Errorf("a connection that died with the server answers %v", err)
	}
	clear(m.sessions)
	want := []string{"4", "ok, 1 changed", "3,3 | 4,4"}
	for i, st := range afterCrash {
		if got := m.play(st).lines["c"]; got != want[i] {
			t.Errorf("%s: %s, want %s", st.text, got, want[i])
		}
	}
}
