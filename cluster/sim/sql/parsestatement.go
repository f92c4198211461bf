package sql

import (
	"strings"
	"time"
)

// How each statement is read, after its first word.

func (p *parser) selects() error {
	if err := p.items(); err != nil {
		return err
	}
	if !p.accept("FROM") {
		return nil
	}
	if err := p.from(); err != nil {
		return err
	}
	return p.lockClause()
}

func (p *parser) does() error {
	p.st.verb = "SELECT"
	p.st.silent = true
	return p.items()
}

func (p *parser) items() error {
	if p.accept("*") {
		p.st.star = true
		return nil
	}
	for {
		e, err := p.expr()
		if err != nil {
			return err
		}
		p.st.items = append(p.st.items, e)
		if p.accept("AS") {
			if _, err := p.ident(); err != nil {
				return err
			}
		}
		if !p.accept(",") {
			return nil
		}
	}
}

// from reads what FROM, UPDATE and DELETE have in common after the table.
func (p *parser) from() (err error) {
	if p.st.table, err = p.ident(); err != nil {
		return err
	}
	return p.conditions()
}

func (p *parser) conditions() (err error) {
	if p.accept("WHERE") {
		if p.st.where, err = p.expr(); err != nil {
			return err
		}
	}
	if p.accept("ORDER", "BY") {
		for {
			e, err := p.expr()
			if err != nil {
				return err
			}
			o := order{e: e, desc: p.accept("DESC")}
			if !o.desc {
				p.accept("ASC")
			}
			p.st.order = append(p.st.order, o)
			if !p.accept(",") {
				break
			}
		}
	}
	if p.accept("LIMIT") {
		p.st.limit, err = p.primary()
	}
	return err
}

func (p *parser) lockClause() error {
	switch {
	case p.accept("FOR", "UPDATE"):
		p.st.locking, p.st.mode = true, exclusive
	case p.accept("LOCK", "IN", "SHARE", "MODE"):
		p.st.locking, p.st.mode = true, shared
	default:
		return nil
	}
	switch {
	case p.accept("NOWAIT"):
		p.st.wait = 0
	case p.accept("WAIT"):
		n, ok := p.take().value.(int64)
		if !ok {
			return p.bad()
		}
		p.st.wait = time.Duration(n) * time.Second
	case p.accept("SKIP"):
		return notModelled("SKIP LOCKED")
	}
	return nil
}

func (p *parser) insert() (err error) {
	p.st.replace = p.st.verb == "REPLACE"
	p.st.verb = "INSERT"
	p.st.ignore = p.accept("IGNORE")
	p.accept("INTO")
	if p.st.table, err = p.ident(); err != nil {
		return err
	}
	if p.peek().text == "(" {
		if p.st.columns, err = p.names(); err != nil {
			return err
		}
	}
	if !p.accept("VALUES") && !p.accept("VALUE") {
		return notModelled("INSERT without VALUES")
	}
	for {
		var row []*expr
		err := p.list(func() error {
			e, err := p.expr()
			row = append(row, e)
			return err
		})
		if err != nil {
			return err
		}
		p.st.rows = append(p.st.rows, row)
		if !p.accept(",") {
			break
		}
	}
	if p.accept("ON", "DUPLICATE", "KEY", "UPDATE") {
		p.st.update = true
		return p.assignments()
	}
	return nil
}

func (p *parser) assignments() error {
	for {
		name, err := p.ident()
		if err != nil {
			return err
		}
		if err := p.expect("="); err != nil {
			return err
		}
		e, err := p.expr()
		if err != nil {
			return err
		}
		p.st.sets = append(p.st.sets, set{name: name, e: e})
		if !p.accept(",") {
			return nil
		}
	}
}

func (p *parser) updates() (err error) {
	if p.st.table, err = p.ident(); err != nil {
		return err
	}
	if err := p.expect("SET"); err != nil {
		return err
	}
	if err := p.assignments(); err != nil {
		return err
	}
	return p.conditions()
}

func (p *parser) deletes() error {
	if err := p.expect("FROM"); err != nil {
		return err
	}
	return p.from()
}

func (p *parser) plain() error {
	p.accept("WORK")
	return nil
}

func (p *parser) begins() error {
	if p.st.verb == "START" {
		if err := p.expect("TRANSACTION"); err != nil {
			return err
		}
		p.st.verb = "BEGIN"
		p.st.early = p.accept("WITH", "CONSISTENT", "SNAPSHOT")
		p.accept("READ", "WRITE")
	}
	return p.plain()
}

// setting reads SET name = value. What changes nothing here is accepted:
// SET NAMES, SET TRANSACTION ISOLATION LEVEL REPEATABLE READ.
func (p *parser) setting() error {
	session := p.accept("SESSION")
	if p.accept("NAMES") {
		for p.peek().kind != endToken {
			p.at++
		}
		return nil
	}
	if p.accept("TRANSACTION") {
		if p.accept("ISOLATION", "LEVEL", "REPEATABLE", "READ") {
			return nil
		}
		return notModelled("SET TRANSACTION other than ISOLATION LEVEL REPEATABLE READ")
	}
	for !session && p.accept("@") {
		p.accept("SESSION", ".")
	}
	t := p.take()
	p.st.name = strings.ToLower(t.raw)
	if err := p.expect("="); err != nil {
		return err
	}
	if p.accept("ON") {
		p.st.value = &expr{op: opValue, value: int64(1)}
		return nil
	}
	var err error
	p.st.value, err = p.expr()
	return err
}
