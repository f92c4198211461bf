package sql

import "strconv"

// aggregates reports whether the statement answers one row about all rows.
func (sc *scope) aggregates(st *statement) bool {
	for _, e := range st.items {
		if isAggregate(e) {
			return true
		}
	}
	return false
}

func isAggregate(e *expr) bool {
	return e.op == opCountAll || e.op == opCall && functions[e.name].apply == nil
}

// aggregate computes COUNT, SUM, MAX and MIN.
func (sc *scope) aggregate(items []*expr, rows []found) ([]any, error) {
	out := make([]any, len(items))
	for i, e := range items {
		if !isAggregate(e) {
			if len(columnsIn(e, nil)) > 0 {
				return nil, notModelled("columns beside aggregates")
			}
			v, err := sc.eval(e)
			if err != nil {
				return nil, err
			}
			out[i] = v
			continue
		}
		v, err := sc.fold(e, rows)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// fold computes one aggregate. NULL does not count.
func (sc *scope) fold(e *expr, rows []found) (any, error) {
	if e.op == opCountAll {
		return int64(len(rows)), nil
	}
	t := tally{of: e, binary: sc.binary(e.list[0])}
	for _, f := range rows {
		sc.row = f.values
		v, err := sc.eval(e.list[0])
		if err == nil && v != nil {
			err = t.add(v)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case e.name == "COUNT":
		return t.count, nil
	case t.count == 0:
		return nil, nil
	case e.name == "SUM":
		return strconv.FormatInt(t.sum, 10), nil // a DECIMAL, which drivers deliver as text
	}
	return t.best, nil
}

// tally is an aggregate on its way.
type tally struct {
	of         *expr
	binary     bool
	count, sum int64
	best       any
}

func (t *tally) add(v any) error {
	t.count++
	n, isInt := integer(v)
	if !isInt && t.of.name == "SUM" {
		return notModelled("SUM of text")
	}
	t.sum += n
	if t.best == nil {
		t.best = v
		return nil
	}
	sign, ok := compare(v, t.best, t.binary)
	if !ok {
		return notModelled("comparing %v with %v", v, t.best)
	}
	if t.of.name == "MAX" && sign > 0 || t.of.name == "MIN" && sign < 0 {
		t.best = v
	}
	return nil
}
