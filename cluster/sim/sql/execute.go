package sql

import (
	"strings"
	"time"
)

// execute runs a statement from where it stopped.
func (s *Session) execute(p *pending) (Result, error) {
	switch p.stmt.verb {
	case "BEGIN":
		s.commit()
		s.open(true)
		if p.stmt.early {
			s.tx.snapshot()
		}
		return Result{}, nil
	case "COMMIT":
		s.commit()
		return Result{}, nil
	case "ROLLBACK":
		if s.tx != nil {
			s.tx.rollback()
		}
		return Result{}, nil
	case "SET":
		return Result{}, s.set(p)
	case "CREATE", "DROP", "TRUNCATE":
		s.commit()
		return Result{}, s.db.define(p.stmt)
	}
	if s.tx == nil && p.stmt.table != "" {
		s.open(s.manual)
	}
	switch p.stmt.verb {
	case "INSERT":
		return s.inserts(p)
	case "UPDATE":
		return s.updates(p)
	case "DELETE":
		return s.deletes(p)
	}
	return s.selects(p)
}

func (s *Session) open(begun bool) { s.tx = &transaction{session: s, begun: begun} }

func (s *Session) commit() {
	if s.tx != nil {
		s.tx.commit()
	}
}

// set changes a variable of the session.
func (s *Session) set(p *pending) error {
	if p.stmt.value == nil {
		return nil
	}
	sc := &scope{s: s, args: p.args}
	v, err := sc.eval(p.stmt.value)
	if err != nil {
		return err
	}
	n, isInt := integer(v)
	switch {
	case p.stmt.name == "autocommit" && isInt:
		if n != 0 {
			s.commit()
		}
		s.manual = n == 0
	case p.stmt.name == "innodb_lock_wait_timeout" && isInt && n >= 0:
		s.lockWait = time.Duration(n) * time.Second
	case p.stmt.name == "innodb_snapshot_isolation" && isInt:
		s.strict = n != 0
	case (p.stmt.name == "tx_isolation" || p.stmt.name == "transaction_isolation") && v == "REPEATABLE-READ":
	default:
		return notModelled("SET %s = %v", p.stmt.name, v)
	}
	return nil
}

// define creates, drops and empties tables.
func (db *DB) define(st *statement) error {
	name := strings.ToLower(st.table)
	t := db.tables[name]
	switch {
	case st.verb == "CREATE" && t != nil && st.ifs:
		return nil
	case st.verb == "CREATE" && t != nil:
		return errorf(1050, "Table '%s' already exists", st.table)
	case st.verb == "CREATE":
		t, err := newTable(st)
		if err == nil {
			db.tables[name] = t
		}
		return err
	case t == nil && st.verb == "DROP" && st.ifs:
		return nil
	case t == nil && st.verb == "DROP":
		return errorf(1051, "Unknown table '%s.%s'", Schema, st.table)
	case t == nil:
		return noTable(st.table)
	case db.used(t):
		return notModelled("waiting for other transactions before %s TABLE", st.verb)
	case st.verb == "DROP":
		delete(db.tables, name)
	default:
		t.empty()
	}
	return nil
}

// used reports whether an open transaction has touched the table.
func (db *DB) used(t *table) bool {
	for _, s := range db.sessions {
		if s.tx != nil {
			for _, u := range s.tx.tables {
				if u.table == t {
					return true
				}
			}
			if s.tx.viewed {
				return true
			}
		}
	}
	return false
}

func newTable(st *statement) (*table, error) {
	c := st.create
	t := &table{name: st.table, byName: map[string]int{}, nextID: max(1, c.nextID), checks: c.checks}
	for i, col := range c.columns {
		own := *col
		if !c.collated[col] {
			own.binary = c.binary
		}
		if _, twice := t.column(col.name); twice {
			return nil, errorf(1060, "Duplicate column name '%s'", col.name)
		}
		t.columns = append(t.columns, &own)
		t.byName[strings.ToLower(col.name)] = i
	}
	sc := &scope{table: t}
	for _, check := range t.checks {
		if err := sc.resolve(check.e, "CHECK"); err != nil {
			return nil, err
		}
	}
	return t, t.build(c.keys)
}

// bind finds the statement's table, and its columns in there.
func (sc *scope) bind(st *statement) (err error) {
	if sc.table, err = sc.s.db.table(st.table); err != nil || st.bound == sc.table {
		return err
	}
	if err := sc.bindSets(st); err != nil {
		return err
	}
	for _, e := range st.items {
		if err := sc.resolve(e, "SELECT"); err != nil {
			return err
		}
	}
	for _, row := range st.rows {
		for _, e := range row {
			if err := sc.resolve(e, "VALUES"); err != nil {
				return err
			}
		}
	}
	if err := sc.resolve(st.where, "WHERE"); err != nil {
		return err
	}
	for _, o := range st.order {
		if err := sc.resolve(o.e, "ORDER BY"); err != nil {
			return err
		}
	}
	st.bound = sc.table
	return nil
}

// bindSets finds the columns that are assigned to. The words are the
// server's, and odd after ON DUPLICATE KEY UPDATE.
func (sc *scope) bindSets(st *statement) error {
	to, from := "SET", "SET"
	if st.update {
		to, from = "UPDATE", "SELECT"
	}
	for i := range st.sets {
		set := &st.sets[i]
		at, ok := sc.table.column(set.name)
		if !ok {
			return unknownColumn(set.name, to)
		}
		set.at = at
		if err := sc.resolve(set.e, from); err != nil {
			return err
		}
	}
	return nil
}

// resolve looks the columns of an expression up.
func (sc *scope) resolve(e *expr, where string) error {
	if e == nil {
		return nil
	}
	if e.op == opColumn || e.op == opNew {
		at, ok := sc.table.column(e.name)
		if !ok {
			return unknownColumn(e.name, where)
		}
		e.at = at
	}
	for _, sub := range append([]*expr{e.l, e.r}, e.list...) {
		if err := sc.resolve(sub, where); err != nil {
			return err
		}
	}
	return nil
}
