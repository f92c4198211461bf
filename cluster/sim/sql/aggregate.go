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

func (sc *scope) fold(e *expr, rows []found) (any, error) {
	if e.op == opCountAll {
		return int64(len(rows)), nil
	}
	var count, sum int64
	var best any
	for _, f := range rows {
		sc.row = f.values
		v, err := sc.eval(e.list[0])
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		count++
		n, isInt := integer(v)
		if !isInt && e.name == "SUM" {
			return nil, notModelled("SUM of text")
		}
		sum += n
		if best == nil {
			best = v
			continue
		}
		sign, ok := compare(v, best, sc.binary(e.list[0]))
		if !ok {
			return nil, notModelled("comparing %v with %v", v, best)
		}
		if e.name == "MAX" && sign > 0 || e.name == "MIN" && sign < 0 {
			best = v
		}
	}
	switch {
	case e.name == "COUNT":
		return count, nil
	case count == 0:
		return nil, nil
	case e.name == "SUM":
		return strconv.FormatInt(sum, 10), nil // a DECIMAL, which drivers deliver as text
	}
	return best, nil
}
