package sql

import "math"

// createSpec is what CREATE TABLE says.
type createSpec struct {
	columns []*column
	keys    []keySpec
	checks  []check
	binary  bool
	// collated are the columns with a collation of their own.
	collated map[*column]bool
	nextID   int64
	unnamed  int64 // checks without a name
}

func (p *parser) creates() (err error) {
	if err := p.expect("TABLE"); err != nil {
		return err
	}
	p.st.ifs = p.accept("IF", "NOT", "EXISTS")
	if p.st.table, err = p.ident(); err != nil {
		return err
	}
	c := &createSpec{collated: map[*column]bool{}, nextID: 1}
	p.st.create = c
	if err := p.list(func() error { return p.definition(c) }); err != nil {
		return err
	}
	return p.options(c)
}

func (p *parser) drops() (err error) {
	if err := p.expect("TABLE"); err != nil {
		return err
	}
	p.st.ifs = p.accept("IF", "EXISTS")
	p.st.table, err = p.ident()
	return err
}

func (p *parser) truncates() (err error) {
	p.accept("TABLE")
	p.st.table, err = p.ident()
	return err
}

// definition reads a column, an index or a check.
func (p *parser) definition(c *createSpec) error {
	name := ""
	if p.accept("CONSTRAINT") && p.peek().text != "CHECK" {
		var err error
		if name, err = p.ident(); err != nil {
			return err
		}
	}
	k := keySpec{name: name}
	switch {
	case p.accept("CHECK"):
		return p.check(c, name)
	case p.accept("PRIMARY", "KEY"):
		k.primary = true
	case p.accept("UNIQUE"):
		k.unique = true
		if !p.accept("KEY") {
			p.accept("INDEX")
		}
	case p.accept("KEY"), p.accept("INDEX"):
	default:
		return p.column(c)
	}
	if p.peek().text != "(" {
		var err error
		if k.name, err = p.ident(); err != nil {
			return err
		}
	}
	var err error
	k.columns, err = p.names()
	c.keys = append(c.keys, k)
	return err
}

func (p *parser) check(c *createSpec, name string) error {
	if name == "" {
		c.unnamed++
		name = "CONSTRAINT_" + textOf(c.unnamed)
	}
	return p.list(func() error {
		e, err := p.expr()
		c.checks = append(c.checks, check{name, e})
		return err
	})
}

// integers are the ranges of the integer types.
var integers = map[string]int64{
	"TINYINT": math.MaxInt8, "BOOLEAN": math.MaxInt8, "BOOL": math.MaxInt8, "SMALLINT": math.MaxInt16,
	"INT": math.MaxInt32, "INTEGER": math.MaxInt32, "BIGINT": math.MaxInt64,
}

var texts = map[string]int{"VARCHAR": 0, "CHAR": 1, "TEXT": 65535}

func (p *parser) column(c *createSpec) error {
	name, err := p.ident()
	if err != nil {
		return err
	}
	col := &column{name: name}
	c.columns = append(c.columns, col)
	kind := p.take()
	size := int64(0)
	if p.accept("(") {
		size, _ = p.take().value.(int64)
		if err := p.expect(")"); err != nil {
			return err
		}
	}
	most, isInt := integers[kind.text]
	fixed, isText := texts[kind.text]
	switch {
	case isInt:
		col.min, col.max = -most-1, most
	case isText && kind.text != "CHAR":
		col.text, col.size = true, max(fixed, int(size))
	default:
		return notModelled("columns of type %s", kind.raw)
	}
	return p.attributes(c, col)
}

func (p *parser) attributes(c *createSpec, col *column) error {
	for {
		switch {
		case p.accept("UNSIGNED"):
			col.unsigned, col.min = true, 0
			if col.max < math.MaxInt64 {
				col.max = col.max*2 + 1
			}
		case p.accept("NOT", "NULL"):
			col.notNull = true
		case p.accept("NULL"):
		case p.accept("AUTO_INCREMENT"):
			col.auto, col.notNull = true, true
		case p.accept("PRIMARY", "KEY"):
			c.keys = append(c.keys, keySpec{primary: true, columns: []string{col.name}})
		case p.accept("UNIQUE"):
			p.accept("KEY")
			c.keys = append(c.keys, keySpec{unique: true, columns: []string{col.name}})
		case p.accept("DEFAULT"):
			if err := p.defaultOf(col); err != nil {
				return err
			}
		case p.accept("COLLATE"):
			col.binary = isBinary(p.take().raw)
			c.collated[col] = true
		case p.accept("CHARACTER", "SET"), p.accept("CHARSET"):
			p.take()
		case p.accept("CHECK"):
			if err := p.check(c, p.st.table+"."+col.name); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (p *parser) defaultOf(col *column) error {
	e, err := p.primary()
	if err != nil {
		return err
	}
	if e.op != opValue {
		return notModelled("DEFAULT of column %s other than a literal", col.name)
	}
	col.def, col.hasDef = e.value, true
	return nil
}

// options reads what follows the columns: ENGINE, CHARSET, COLLATE.
func (p *parser) options(c *createSpec) error {
	for {
		p.accept(",")
		p.accept("DEFAULT")
		switch {
		case p.accept("ENGINE"):
			p.accept("=")
			if engine := p.take(); engine.text != "INNODB" {
				return notModelled("ENGINE=%s", engine.raw)
			}
		case p.accept("CHARACTER", "SET"), p.accept("CHARSET"):
			p.accept("=")
			p.take()
		case p.accept("COLLATE"):
			p.accept("=")
			c.binary = isBinary(p.take().raw)
		case p.accept("AUTO_INCREMENT"):
			p.accept("=")
			c.nextID, _ = p.take().value.(int64)
		default:
			return nil
		}
	}
}

func isBinary(collation string) bool {
	n := len(collation)
	return n >= 4 && (collation[n-4:] == "_bin" || collation[n-4:] == "_BIN")
}
