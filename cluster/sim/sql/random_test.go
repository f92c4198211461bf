package sql

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	seeds     = flag.Int("seeds", 12, "how many random scripts to compare with a real server")
	firstSeed = flag.Uint64("seed", 1, "seed of the first of them")
)

// When a step lets several sessions go on, they race on a real server. So the
// model keeps every order in which they might: a world is a list of such
// choices, and the model plays the script anew for each.
type world []int

// explore plays the steps in every way that begins with the choices of w, and
// answers the worlds and what the last step did in each.
func explore(steps []step, w world) (worlds []world, outcomes []outcome) {
	m, taken, branches := newModel(), 0, 0
	m.pick = func(n int) int {
		if taken < len(w) {
			taken++
			return w[taken-1]
		}
		if branches == 0 {
			branches = n
		}
		return 0
	}
	var last outcome
	for _, st := range steps {
		last = m.play(st)
	}
	if branches == 0 {
		return []world{w}, []outcome{last}
	}
	for i := range branches {
		ws, os := explore(steps, append(slices.Clone(w), i))
		worlds, outcomes = append(worlds, ws...), append(outcomes, os...)
	}
	return worlds, outcomes
}

// profile is what a random script is made of.
type profile struct {
	name   string
	setup  []string
	kinds  []string // of statements; # is a small number, @ a short text
	purges bool     // deleted rows are thrown away at once: no snapshots
}

var profiles = []profile{
	{"rows", []string{
		"CREATE TABLE t (id INT PRIMARY KEY, n INT)",
		"INSERT INTO t VALUES (2, 0), (4, 0), (6, 0)",
	}, []string{
		"SELECT id, n FROM t WHERE id = #", "SELECT id, n FROM t", "SELECT id, n FROM t WHERE id = # FOR UPDATE",
		"SELECT id, n FROM t WHERE id = # LOCK IN SHARE MODE", "UPDATE t SET n = n + 1 WHERE id = #",
		"UPDATE t SET n = # WHERE id = # AND n = 0", "INSERT INTO t VALUES (#, #)", "INSERT INTO t VALUES (#, 1), (#, 2)",
		"UPDATE t SET n = n + 1 WHERE id >= # AND id < #", "SELECT id FROM t WHERE id > # LIMIT 1 FOR UPDATE",
		"INSERT INTO t VALUES (#, 1) ON DUPLICATE KEY UPDATE n = n + 10", "SELECT COUNT(*), SUM(n) FROM t FOR UPDATE",
		"INSERT IGNORE INTO t VALUES (#, 1), (#, 1)", "UPDATE t SET n = n + 1 WHERE n = #",
	}, false},
	{"deletions", []string{
		"CREATE TABLE t (id INT PRIMARY KEY, n INT)",
		"INSERT INTO t VALUES (2, 0), (4, 0), (6, 0)",
	}, []string{
		"DELETE FROM t WHERE id = #", "DELETE FROM t WHERE id = #", "DELETE FROM t WHERE id > #", "INSERT INTO t VALUES (#, #)",
		"SELECT id, n FROM t WHERE id = # FOR UPDATE", "SELECT id FROM t WHERE id <= # LOCK IN SHARE MODE",
		"UPDATE t SET n = n + 1 WHERE id = #", "REPLACE INTO t VALUES (#, #)",
		"INSERT INTO t VALUES (#, 1) ON DUPLICATE KEY UPDATE n = n + 10", "INSERT INTO t VALUES (#, 1), (#, 2)",
	}, true},
	{"unique keys", []string{
		"CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, u VARCHAR(8) UNIQUE, n INT)",
		"INSERT INTO t (u, n) VALUES ('b', 1), ('d', 2), (NULL, 3)",
	}, []string{
		"INSERT INTO t (u, n) VALUES ('@', #)", "INSERT INTO t (u, n) VALUES ('@', #)", "INSERT IGNORE INTO t (u, n) VALUES ('@', #), ('@', #)",
		"SELECT * FROM t WHERE u = '@' FOR UPDATE", "UPDATE t SET n = n + 1 WHERE u = '@'", "UPDATE t SET u = '@' WHERE u = '@'",
		"UPDATE t SET n = n + 1 WHERE id = #", "INSERT INTO t (u, n) VALUES ('@', #) ON DUPLICATE KEY UPDATE n = n + 1",
		"SELECT * FROM t WHERE u = '@' LOCK IN SHARE MODE", "INSERT INTO t (u, n) VALUES (NULL, #)", "UPDATE t SET u = '@' WHERE id = #",
		"REPLACE INTO t (u, n) VALUES ('@', #)", "DELETE FROM t WHERE u = '@'",
	}, true},
	{"stock and orders", []string{
		"CREATE TABLE stock (k VARCHAR(8) PRIMARY KEY, stock BIGINT, version BIGINT)",
		"CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, k VARCHAR(8), order_id VARCHAR(8), qty BIGINT, KEY (k))",
		"CREATE TABLE once (order_id VARCHAR(8) PRIMARY KEY, k VARCHAR(8), KEY (k))",
		"INSERT INTO stock VALUES ('a', 5, 0), ('b', 5, 0), ('c', 5, 0)",
	}, []string{
		"SELECT stock FROM stock WHERE k = '@' FOR UPDATE", "UPDATE stock SET stock = stock - # WHERE k = '@' AND stock >= #",
		"UPDATE stock SET stock = #, version = version + 1 WHERE k = '@' AND version = 0", "SELECT stock FROM stock WHERE k = '@'",
		"INSERT INTO orders (k, order_id, qty) VALUES ('@', '@', #)", "INSERT INTO once (order_id, k) VALUES ('@', '@')",
		"SELECT order_id, qty FROM orders WHERE k = '@'", "SELECT stock, version FROM stock",
	}, false},
}

// fill puts numbers and texts into a kind of statement.
func fill(r *rand.Rand, kind string) string {
	for strings.Contains(kind, "#") {
		kind = strings.Replace(kind, "#", fmt.Sprint(r.IntN(8)), 1)
	}
	for strings.Contains(kind, "@") {
		kind = strings.Replace(kind, "@", string(rune('a'+r.IntN(5))), 1)
	}
	return kind
}

// next draws a step for a connection that can do one.
func (p profile) next(r *rand.Rand, free []string, m *model) step {
	conn := free[r.IntN(len(free))]
	open := m.sessions[conn] != nil && m.sessions[conn].InTransaction()
	switch x := r.IntN(10); {
	case !open && x < 6:
		return step{conn, "BEGIN"}
	case open && x < 2:
		return step{conn, "COMMIT"}
	case open && x < 3:
		return step{conn, "ROLLBACK"}
	}
	for {
		if text := fill(r, p.kinds[r.IntN(len(p.kinds))]); !p.purges || !isQuery(text) || strings.Contains(text, " FOR ") || strings.Contains(text, " LOCK ") {
			return step{conn, text}
		}
	}
}

func TestRandomScriptsEndOnARealServerAsOnTheModel(t *testing.T) {
	m := aServer(t)
	for _, p := range profiles {
		t.Run(p.name, func(t *testing.T) {
			for i := range *seeds {
				seed := *firstSeed + uint64(i)
				if steps, err := compareTries(t, m, p, seed); err != nil {
					var b strings.Builder
					for _, st := range steps {
						fmt.Fprintf(&b, "%s> %s\n", st.conn, st.text)
					}
					t.Fatalf("seed %d: %v\n%s", seed, err, transcript(b.String()))
				}
			}
		})
	}
}

const (
	scriptLength = 25
	connections  = 3
)

// tries is how often a script may be played. Where the server lets several
// sessions go on they race, in more ways than the model can foresee (locks are
// released one by one, while those woken run already): then a second try ends
// otherwise. A mistake of the model shows each time.
const tries = 3

func compareTries(t *testing.T, m *mariadb, p profile, seed uint64) (steps []step, err error) {
	for try := range tries {
		server := newServer(t, m)
		steps, err = compareRandom(p, server, seed)
		server.close()
		if err == nil {
			break
		}
		t.Logf("seed %d, try %d: %v", seed, try+1, err)
	}
	return steps, err
}

// comparison is a random script on its way, on both.
type comparison struct {
	p      profile
	s      *server
	steps  []step
	worlds []world // in which the model has done what the server did
}

// play does a step on both.
func (c *comparison) play(st step) error {
	c.steps = append(c.steps, st)
	var next []world
	var outcomes []outcome
	for _, w := range c.worlds {
		ws, os := explore(c.steps, w)
		next, outcomes = append(next, ws...), append(outcomes, os...)
	}
	which, err := c.s.follow(st, outcomes)
	if err != nil {
		return err
	}
	c.worlds = nil
	for _, i := range which {
		c.worlds = append(c.worlds, next[i])
	}
	return c.s.settle(c.p, c.steps, c.worlds[0])
}

func compareRandom(p profile, s *server, seed uint64) (steps []step, err error) {
	r := rand.New(rand.NewPCG(seed, 17))
	c := &comparison{p: p, s: s, worlds: []world{nil}}
	for _, q := range p.setup {
		if err := c.play(step{"s", q}); err != nil {
			return c.steps, err
		}
	}
	for range scriptLength {
		m, free := state(c.steps, c.worlds[0])
		if err := c.play(p.next(r, free, m)); err != nil {
			return c.steps, err
		}
	}
	return c.steps, c.conclude()
}

// conclude ends all transactions and compares what is left in the tables.
func (c *comparison) conclude() error {
	for {
		m, free := state(c.steps, c.worlds[0])
		at := slices.IndexFunc(free, func(conn string) bool { return m.sessions[conn] != nil && m.sessions[conn].InTransaction() })
		if at < 0 {
			break
		}
		if err := c.play(step{free[at], "ROLLBACK"}); err != nil {
			return err
		}
	}
	for _, q := range c.p.setup {
		if words := strings.Fields(q); words[0] == "CREATE" {
			if err := c.play(step{"s", "SELECT * FROM " + words[2]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// state is the model after the steps, and the connections that do not wait.
func state(steps []step, w world) (*model, []string) {
	m, taken := newModel(), 0
	m.pick = func(int) int { taken++; return w[taken-1] }
	for _, st := range steps {
		m.play(st)
	}
	var free []string
	for i := range connections {
		conn := string(rune('a' + i))
		if s := m.sessions[conn]; s == nil || !s.Waiting() {
			free = append(free, conn)
		}
	}
	return m, free
}

// purges counts what a real server has to purge because of a commit: deleted
// rows, and updates that left dead entries in secondary indexes.
func purges(undos []undo) (deleted, updated int) {
	for i, u := range undos {
		switch {
		case u.what != rowChanged:
		case u.record.newest.deleted && !slices.ContainsFunc(undos[i+1:], func(o undo) bool { return o.record == u.record }):
			deleted++
		case slices.ContainsFunc(undos[i+1:], func(o undo) bool { return o.what == entryDead && o.record.row == u.record }):
			updated++
		}
	}
	return deleted, updated
}

// settle waits until the server has thrown away what no snapshot needs, as
// the model does at once.
func (s *server) settle(p profile, steps []step, w world) error {
	if !p.purges || len(steps) < len(p.setup) {
		return nil
	}
	if len(steps) == len(p.setup) {
		if _, err := s.m.control.ExecContext(s.ctx, "SET GLOBAL innodb_max_purge_lag_wait=0"); err != nil {
			return err
		}
		s.purged = s.m.purged(s.ctx)
		return nil
	}
	m, taken, want := newModel(), 0, s.purged
	m.pick = func(int) int { taken++; return w[taken-1] }
	m.db.committed = func(u []undo) {
		d, n := purges(u)
		want[0], want[1] = want[0]+d, want[1]+n
	}
	for _, st := range steps {
		m.play(st)
	}
	for deadline := time.Now().Add(8 * time.Second); ; {
		got := s.m.purged(s.ctx)
		if got[0] >= want[0] && got[1] >= want[1] {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server has purged %v, want %v", got, want)
		}
		time.Sleep(time.Millisecond) // the server purges in real time
	}
}
