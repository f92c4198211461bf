package sql

import "strings"

// plan is how a statement finds its rows.
type plan struct {
	index *index
	how   access
	key   string // point, ref
	low   bound  // of a range of the primary key
	high  bound
	// unsure says why a locking statement must not use this plan: the
	// optimizer of a real server might choose otherwise, and lock otherwise.
	unsure string
}

type access uint8

const (
	everything access = iota
	nothing           // the condition can never be met: nothing is read or locked
	point             // one row by a unique key
	ref               // rows by an index, or its first columns
	between           // a range of the primary key
)

// bound is one end of a range.
type bound struct {
	key  string
	set  bool
	open bool // the key itself is not in it
}

// term is a condition of the form column op constant.
type term struct {
	column int
	op     op
	value  any
}

// plan chooses the way of access from the conditions that must all be met.
func (sc *scope) plan(where *expr) (plan, error) {
	x := sc.table.primary()
	all := plan{index: x}
	terms, loose, err := sc.terms(where, nil)
	if err != nil {
		return all, err
	}
	if sc.contradictory(terms) {
		return plan{index: x, how: nothing}, nil
	}
	for _, x := range sc.table.indexes {
		if key, n := x.match(terms); x.unique && n == len(x.columns) && n > 0 {
			return plan{index: x, how: point, key: key}, nil
		}
	}
	best, ways := all, 0
	for _, x := range sc.table.indexes {
		if p, ok := x.partly(terms); ok {
			if ways++; ways == 1 {
				best = p
			}
		}
	}
	if ways > 1 {
		best.unsure = "more than one index would do"
	}
	for _, c := range loose {
		if sc.table.leads(c) {
			best.unsure = "a condition on column " + sc.table.columns[c].name + " is not a plain comparison"
		}
	}
	return best, nil
}

// contradictory reports whether the terms can never be true together, as the
// server finds out before it reads anything.
func (sc *scope) contradictory(terms []term) bool {
	for i, t := range terms {
		if t.value == nil {
			return true
		}
		if t.op != opEqual {
			continue
		}
		for j, o := range terms {
			if i != j && o.column == t.column && o.value != nil && !t.allows(o, sc.table.columns[t.column].binary) {
				return true
			}
		}
	}
	return false
}

// allows reports whether o can be true where t, an equality, is.
func (t term) allows(o term, binary bool) bool {
	sign, _ := compare(t.value, o.value, binary)
	switch o.op {
	case opEqual:
		return sign == 0
	case opLess:
		return sign < 0
	case opLessEqual:
		return sign <= 0
	case opGreater:
		return sign > 0
	}
	return sign >= 0
}

// leads reports whether an index begins with the column.
func (t *table) leads(column int) bool {
	for _, x := range t.indexes {
		if len(x.columns) > 0 && x.columns[0] == column {
			return true
		}
	}
	return false
}

// terms splits a condition at its ANDs. loose are the columns in what is no
// term.
func (sc *scope) terms(e *expr, terms []term) (_ []term, loose []int, _ error) {
	if e == nil {
		return terms, nil, nil
	}
	if e.op == opAnd {
		terms, left, err := sc.terms(e.l, terms)
		if err != nil {
			return nil, nil, err
		}
		terms, right, err := sc.terms(e.r, terms)
		return terms, append(left, right...), err
	}
	t, ok, err := sc.term(e)
	if ok || err != nil {
		return append(terms, t), nil, err
	}
	return terms, columnsIn(e, nil), nil
}

// mirrored are the comparisons read from right to left.
var mirrored = map[op]op{opEqual: opEqual, opLess: opGreater, opLessEqual: opGreaterEqual, opGreater: opLess, opGreaterEqual: opLessEqual}

func (sc *scope) term(e *expr) (t term, ok bool, err error) {
	if _, plain := mirrored[e.op]; !plain {
		return t, false, nil
	}
	column, constant, o := e.l, e.r, e.op
	if column.op != opColumn {
		column, constant, o = e.r, e.l, mirrored[e.op]
	}
	if column.op != opColumn || len(columnsIn(constant, nil)) > 0 {
		return t, false, nil
	}
	v, err := sc.eval(constant)
	if err != nil {
		return t, false, err
	}
	c := sc.table.columns[column.at]
	if n, isInt := integer(v); v != nil && !c.text && isInt {
		v = n
	} else if _, isText := v.(string); v != nil && (!c.text || !isText) {
		return t, false, nil
	}
	return term{column.at, o, v}, true, nil
}

func columnsIn(e *expr, found []int) []int {
	if e == nil {
		return found
	}
	if e.op == opColumn {
		found = append(found, e.at)
	}
	found = columnsIn(e.r, columnsIn(e.l, found))
	for _, one := range e.list {
		found = columnsIn(one, found)
	}
	return found
}

// match answers the key of the index's first columns that are compared for
// equality, and how many they are.
func (x *index) match(terms []term) (key string, n int) {
	var space [64]byte
	b := space[:0]
	for _, c := range x.columns {
		t, ok := find(terms, c, opEqual)
		if !ok {
			break
		}
		b = appendKey(b, t.value, x.table.columns[c].binary)
		n++
	}
	return string(b), n
}

func find(terms []term, column int, o op) (term, bool) {
	for _, t := range terms {
		if t.column == column && t.op == o {
			return t, true
		}
	}
	return term{}, false
}

// partly answers a plan that uses the index for a part of the rows.
func (x *index) partly(terms []term) (plan, bool) {
	if len(x.columns) == 0 {
		return plan{}, false
	}
	p := plan{index: x, how: ref}
	n := 0
	if p.key, n = x.match(terms); n > 0 {
		if n < len(x.columns) && ranged(terms, x.columns[n]) {
			p.unsure = "a range behind equal columns"
		}
		return p, true
	}
	p.how = between
	for _, t := range terms {
		if t.column == x.columns[0] {
			p.narrow(t)
		}
	}
	if !p.low.set && !p.high.set {
		return plan{}, false
	}
	if p.low.set && p.high.set && p.low.key >= p.high.key {
		switch empty := p.low.key > p.high.key || p.low.open || p.high.open; {
		case empty:
			p.how = nothing
		case x.unique && len(x.columns) == 1:
			p.how, p.key = point, p.low.key
		default:
			p.how, p.key = ref, p.low.key
		}
		return p, true
	}
	if !x.primary {
		return plan{index: x.table.primary(), unsure: "a range of a secondary index"}, true
	}
	if len(x.columns) > 1 {
		p.unsure = "a range of the first of several columns"
	}
	return p, true
}

func ranged(terms []term, column int) bool {
	for _, t := range terms {
		if t.column == column {
			return true
		}
	}
	return false
}

// narrow makes the range smaller by one more condition.
func (p *plan) narrow(t term) {
	key := string(appendKey(nil, t.value, p.index.table.columns[t.column].binary))
	b := bound{key, true, t.op == opLess || t.op == opGreater}
	switch t.op {
	case opGreater, opGreaterEqual:
		if c := strings.Compare(key, p.low.key); !p.low.set || c > 0 || c == 0 && b.open {
			p.low = b
		}
	case opLess, opLessEqual:
		if c := strings.Compare(key, p.high.key); !p.high.set || c < 0 || c == 0 && b.open {
			p.high = b
		}
	}
}

// start is the least key that the plan may find.
func (p *plan) start() string {
	switch {
	case p.how == between && p.low.open:
		return p.low.key + "\xff" // after the key and all that begins with it
	case p.how == between:
		return p.low.key
	}
	return p.key
}

// within reports whether the plan's rows reach as far as key.
func (p *plan) within(key string) bool {
	switch p.how {
	case point, ref:
		return strings.HasPrefix(key, p.key)
	case between:
		return !p.high.set || key < p.high.key || !p.high.open && strings.HasPrefix(key, p.high.key)
	}
	return true
}
