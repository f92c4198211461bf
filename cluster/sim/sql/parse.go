package sql

import (
	"sync"
	"time"
)

// statement is a parsed statement. Which fields it has depends on verb.
type statement struct {
	verb   string // "SELECT", "INSERT", "BEGIN", …
	params int
	table  string
	bound  *table // that its columns were looked up in

	columns []string // INSERT
	rows    [][]*expr
	sets    []set // UPDATE, ON DUPLICATE KEY UPDATE
	ignore  bool
	replace bool
	update  bool // ON DUPLICATE KEY UPDATE

	items   []*expr // SELECT
	star    bool
	where   *expr
	order   []order
	limit   *expr
	locking bool
	mode    mode
	wait    time.Duration // for row locks; negative: as the session waits

	create *createSpec
	ifs    bool   // IF [NOT] EXISTS
	name   string // SET: of what
	value  *expr  // SET: to what
	early  bool   // START TRANSACTION WITH CONSISTENT SNAPSHOT
	silent bool   // DO: no rows
	gets   int    // how often it calls GET_LOCK
}

type set struct {
	name string
	at   int
	e    *expr
}

type order struct {
	e    *expr
	desc bool
}

// parseLimit is how many statements a server remembers.
const parseLimit = 2000

// parsedBefore are statements by their queries that no server uses at present: a
// short run spends a sixth of its time on parsing. A statement looks its columns up
// again when it meets another server's table.
var parsedBefore sync.Pool

func borrowed() map[string]*statement {
	if known, ok := parsedBefore.Get().(map[string]*statement); ok {
		return known
	}
	return map[string]*statement{}
}

// Retire gives back what a server has borrowed. It must not be used afterwards.
func (db *DB) Retire() {
	parsedBefore.Put(db.parsed)
	db.parsed = nil
}

// parse answers the statement of a query, from memory if it can.
func (db *DB) parse(query string) (*statement, error) {
	if st := db.parsed[query]; st != nil {
		return st, nil
	}
	toks, err := tokens(query)
	if err != nil {
		return nil, err
	}
	p := &parser{query: query, toks: toks, st: &statement{wait: -1}}
	if err := p.statement(); err != nil {
		return nil, err
	}
	if len(db.parsed) >= parseLimit {
		clear(db.parsed)
	}
	db.parsed[query] = p.st
	return p.st, nil
}

type parser struct {
	query string
	toks  []token
	at    int
	st    *statement
}

// verbs are the statements, by their first word.
var verbs = map[string]func(*parser) error{
	"SELECT": (*parser).selects, "DO": (*parser).does,
	"INSERT": (*parser).insert, "REPLACE": (*parser).insert,
	"UPDATE": (*parser).updates, "DELETE": (*parser).deletes,
	"CREATE": (*parser).creates, "DROP": (*parser).drops, "TRUNCATE": (*parser).truncates,
	"BEGIN": (*parser).begins, "START": (*parser).begins,
	"COMMIT": (*parser).plain, "ROLLBACK": (*parser).plain,
	"SET": (*parser).setting,
}

func (p *parser) statement() error {
	t := p.peek()
	parse := verbs[t.text]
	if t.kind != wordToken || parse == nil {
		if t.kind == wordToken {
			return notModelled("%s", t.text)
		}
		return p.bad()
	}
	p.at++
	p.st.verb = t.text
	if err := parse(p); err != nil {
		return err
	}
	p.accept(";")
	if p.peek().kind != endToken {
		return p.bad()
	}
	return nil
}

func (p *parser) peek() token { return p.toks[p.at] }

func (p *parser) take() token {
	t := p.toks[p.at]
	if t.kind != endToken {
		p.at++
	}
	return t
}

// accept takes the words or signs if they come next, all or none.
func (p *parser) accept(words ...string) bool {
	for i, w := range words {
		if p.at+i >= len(p.toks) {
			return false
		}
		if t := p.toks[p.at+i]; t.text != w || t.kind != wordToken && t.kind != signToken {
			return false
		}
	}
	p.at += len(words)
	return true
}

func (p *parser) expect(words ...string) error {
	if !p.accept(words...) {
		return p.bad()
	}
	return nil
}

// bad is the syntax error at the next token.
func (p *parser) bad() error { return syntaxNear(p.query[p.peek().at:]) }

// reserved are the keywords that cannot be names here.
var reserved = map[string]bool{
	"SELECT": true, "FROM": true, "WHERE": true, "ORDER": true, "BY": true, "LIMIT": true, "FOR": true, "SET": true,
	"AND": true, "OR": true, "NOT": true, "NULL": true, "IN": true, "IS": true, "BETWEEN": true, "VALUES": true,
	"ON": true, "LOCK": true, "INTO": true, "GROUP": true, "JOIN": true, "UNION": true, "LIKE": true, "AS": true,
	"KEY": true, "PRIMARY": true, "UNIQUE": true, "INDEX": true, "CHECK": true, "DEFAULT": true, "UPDATE": true,
	"DESC": true, "ASC": true, "HAVING": true, "CREATE": true, "TABLE": true,
}

// ident reads a name.
func (p *parser) ident() (string, error) {
	t := p.peek()
	if t.kind == nameToken || t.kind == wordToken && !reserved[t.text] {
		p.at++
		return t.raw, nil
	}
	return "", p.bad()
}

// list reads things in parentheses with commas between them.
func (p *parser) list(one func() error) error {
	if err := p.expect("("); err != nil {
		return err
	}
	for {
		if err := one(); err != nil {
			return err
		}
		if !p.accept(",") {
			return p.expect(")")
		}
	}
}

func (p *parser) names() (names []string, err error) {
	err = p.list(func() error {
		name, err := p.ident()
		names = append(names, name)
		return err
	})
	return names, err
}
