package sql

// expr is an expression.
type expr struct {
	op    op
	l, r  *expr
	list  []*expr // IN, arguments of a function
	value any     // literal
	at    int     // placeholder: which; column: where in its table
	name  string  // column or function
}

type op uint8

const (
	opValue op = iota
	opParam
	opColumn
	opNew // VALUES(column): what the row would have been
	opAnd
	opOr
	opNot
	opEqual
	opSafeEqual
	opUnequal
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opIsNull
	opIn
	opPlus
	opMinus
	opTimes
	opNegate
	opCall
	opCountAll
)

var comparisons = map[string]op{
	"=": opEqual, "<=>": opSafeEqual, "<>": opUnequal, "!=": opUnequal,
	"<": opLess, "<=": opLessEqual, ">": opGreater, ">=": opGreaterEqual,
}

// expr reads an expression: OR binds weakest.
func (p *parser) expr() (*expr, error) {
	l, err := p.and()
	for err == nil && (p.accept("OR") || p.accept("||")) {
		var r *expr
		r, err = p.and()
		l = &expr{op: opOr, l: l, r: r}
	}
	return l, err
}

func (p *parser) and() (*expr, error) {
	l, err := p.not()
	for err == nil && (p.accept("AND") || p.accept("&&")) {
		var r *expr
		r, err = p.not()
		l = &expr{op: opAnd, l: l, r: r}
	}
	return l, err
}

func (p *parser) not() (*expr, error) {
	if p.accept("NOT") {
		e, err := p.not()
		return &expr{op: opNot, l: e}, err
	}
	return p.comparison()
}

func (p *parser) comparison() (*expr, error) {
	l, err := p.sum()
	for err == nil {
		t := p.peek()
		switch cmp, ok := comparisons[t.text]; {
		case ok && t.kind == signToken:
			p.at++
			var r *expr
			r, err = p.sum()
			l = &expr{op: cmp, l: l, r: r}
		case p.accept("IS", "NULL"):
			l = &expr{op: opIsNull, l: l}
		case p.accept("IS", "NOT", "NULL"):
			l = &expr{op: opNot, l: &expr{op: opIsNull, l: l}}
		case p.accept("NOT", "IN"):
			l, err = p.in(l)
			l = &expr{op: opNot, l: l}
		case p.accept("IN"):
			l, err = p.in(l)
		case p.accept("BETWEEN"):
			l, err = p.between(l)
		default:
			return l, nil
		}
	}
	return l, err
}

func (p *parser) in(l *expr) (*expr, error) {
	e := &expr{op: opIn, l: l}
	err := p.list(func() error {
		one, err := p.expr()
		e.list = append(e.list, one)
		return err
	})
	return e, err
}

func (p *parser) between(l *expr) (*expr, error) {
	low, err := p.sum()
	if err != nil {
		return nil, err
	}
	if err := p.expect("AND"); err != nil {
		return nil, err
	}
	high, err := p.sum()
	return &expr{op: opAnd, l: &expr{op: opGreaterEqual, l: l, r: low}, r: &expr{op: opLessEqual, l: l, r: high}}, err
}

func (p *parser) sum() (*expr, error) {
	l, err := p.product()
	for err == nil {
		o := opPlus
		if p.peek().text == "-" {
			o = opMinus
		}
		if t := p.peek(); t.kind != signToken || t.text != "+" && t.text != "-" {
			break
		}
		p.at++
		var r *expr
		r, err = p.product()
		l = &expr{op: o, l: l, r: r}
	}
	return l, err
}

func (p *parser) product() (*expr, error) {
	l, err := p.primary()
	for err == nil && p.accept("*") {
		var r *expr
		r, err = p.primary()
		l = &expr{op: opTimes, l: l, r: r}
	}
	return l, err
}

func (p *parser) primary() (*expr, error) {
	t := p.take()
	switch {
	case t.kind == literalToken:
		return &expr{op: opValue, value: t.value}, nil
	case t.kind == paramToken:
		p.st.params++
		return &expr{op: opParam, at: p.st.params - 1}, nil
	case t.kind == signToken && t.text == "-":
		e, err := p.primary()
		return &expr{op: opNegate, l: e}, err
	case t.kind == signToken && t.text == "(":
		if p.peek().text == "SELECT" {
			return nil, notModelled("subqueries")
		}
		e, err := p.expr()
		if err == nil {
			err = p.expect(")")
		}
		return e, err
	case t.kind == nameToken, t.kind == wordToken:
		return p.named(t)
	}
	p.at--
	return nil, p.bad()
}

// named reads what begins with a word: NULL, a column, a function.
func (p *parser) named(t token) (*expr, error) {
	switch {
	case t.kind == wordToken && t.text == "NULL":
		return &expr{op: opValue}, nil
	case t.kind == wordToken && t.text == "TRUE":
		return &expr{op: opValue, value: int64(1)}, nil
	case t.kind == wordToken && t.text == "FALSE":
		return &expr{op: opValue, value: int64(0)}, nil
	case t.kind == wordToken && p.peek().text == "(" && (!reserved[t.text] || t.text == "VALUES"):
		return p.call(t)
	case t.kind == wordToken && reserved[t.text]:
		p.at--
		return nil, p.bad()
	case p.accept("."):
		return nil, notModelled("names with a dot")
	}
	return &expr{op: opColumn, name: t.raw, at: -1}, nil
}

func (p *parser) call(t token) (*expr, error) {
	e := &expr{op: opCall, name: t.text}
	if t.text == "GET_LOCK" {
		p.st.gets++
	}
	if t.text == "COUNT" && p.accept("(", "*", ")") {
		return &expr{op: opCountAll}, nil
	}
	if p.accept("(", ")") {
		return e, p.known(e)
	}
	err := p.list(func() error {
		a, err := p.expr()
		e.list = append(e.list, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	if t.text == "VALUES" || t.text == "VALUE" {
		if len(e.list) != 1 || e.list[0].op != opColumn {
			return nil, p.bad()
		}
		return &expr{op: opNew, name: e.list[0].name}, nil
	}
	return e, p.known(e)
}

// known refuses functions that are not modelled.
func (p *parser) known(e *expr) error {
	f, ok := functions[e.name]
	switch {
	case !ok:
		return notModelled("the function %s", e.name)
	case len(e.list) < f.min || len(e.list) > f.max:
		return errorf(1582, "Incorrect parameter count in the call to native function '%s'", e.name)
	}
	return nil
}
