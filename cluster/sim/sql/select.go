package sql

import (
	"cmp"
	"slices"
)

// progress is how far a statement has come that was blocked on its way.
type progress struct {
	timedOut bool    // GET_LOCK: the limit is over
	named    bool    // GET_LOCK: the lock is there
	cursor   *cursor // of a locking scan
	rows     []found // SELECT: what it found; INSERT: the row in the way
	next     int     // row that comes next
	result   Result
	change   *rowChange // of the row that is being changed
	index    *index     // INSERT: in which a row was in the way
	columns  []int      // INSERT: of the values
	image    []any      // INSERT: the row that is being inserted
	numbered bool       // INSERT: it has a generated number
	numbers  int64      // INSERT: the number that comes next …
	until    int64      // … and the first one that was not reserved
}

func (s *Session) selects(p *pending) (Result, error) {
	sc := &scope{s: s, args: p.args}
	if p.stmt.table == "" {
		row, err := sc.items(p.stmt.items)
		if err != nil || p.stmt.silent {
			return Result{}, err
		}
		return Result{Rows: [][]any{row}}, nil
	}
	if err := sc.bind(p.stmt); err != nil {
		return Result{}, err
	}
	rows, err := sc.rows(p.stmt, &p.work)
	if err != nil {
		return Result{}, err
	}
	return sc.answer(p.stmt, rows)
}

// rows finds the rows of a SELECT in the order asked for, and no more than
// asked for.
func (sc *scope) rows(st *statement, w *progress) ([]found, error) {
	limit, err := sc.limit(st.limit)
	if err != nil {
		return nil, err
	}
	p, err := sc.plan(st.where)
	if err != nil {
		return nil, err
	}
	natural := sc.natural(st, p)
	early := limit
	if !natural || sc.aggregates(st) {
		early = -1
	}
	var rows []found
	if st.locking {
		if reason := sc.hidden(st, p, natural); reason != "" && p.unsure == "" {
			p.unsure = reason
		}
		err = sc.lockRows(p, st, w, early)
		rows = w.rows
	} else if sc.s.tx.snapshot(); early != 0 {
		err = sc.visit(p, st.where, func(f found) (bool, error) {
			rows = append(rows, f)
			return int64(len(rows)) != early, nil
		})
	}
	if err != nil {
		return nil, err
	}
	if !natural {
		if err := sc.sort(rows, st.order); err != nil {
			return nil, err
		}
	}
	if limit >= 0 && int64(len(rows)) > limit && !sc.aggregates(st) {
		rows = rows[:limit]
	}
	return rows, nil
}

// lockRows collects the rows of a locking SELECT, most at most if that is not
// negative.
func (sc *scope) lockRows(p plan, st *statement, w *progress, most int64) (err error) {
	if w.cursor == nil {
		sc.s.tx.use(sc.table, st.mode)
		if w.cursor, err = sc.open(p, st.mode); err != nil {
			return err
		}
	}
	for int64(len(w.rows)) != most {
		f, err := sc.next(w.cursor, st.where)
		if err != nil || f.record == nil {
			return err
		}
		w.rows = append(w.rows, f)
	}
	return nil
}

// hidden says why the locks of a SELECT are not certain, beyond what its plan
// says.
func (sc *scope) hidden(st *statement, p plan, natural bool) string {
	if p.how == everything {
		for _, x := range sc.table.indexes[1:] {
			if sc.covers(x, st) {
				return "index " + x.name + " has all that is read"
			}
		}
	}
	for _, o := range st.order {
		if !natural && (o.e.op != opColumn || sc.table.leads(o.e.at)) && p.how != point {
			return "ORDER BY along an index"
		}
	}
	return ""
}

// covers reports whether an index alone would do to answer the statement.
func (sc *scope) covers(x *index, st *statement) bool {
	if st.star {
		return false
	}
	used := columnsIn(st.where, nil)
	for _, e := range st.items {
		used = columnsIn(e, used)
	}
	for _, o := range st.order {
		used = columnsIn(o.e, used)
	}
	for _, c := range used {
		if !slices.Contains(x.columns, c) && !slices.Contains(sc.table.primary().columns, c) {
			return false
		}
	}
	return true
}

// natural reports whether the plan finds the rows in the order asked for.
func (sc *scope) natural(st *statement, p plan) bool {
	if len(st.order) == 0 || p.how == point {
		return true
	}
	x := sc.table.primary()
	if p.index != x || len(st.order) > len(x.columns) {
		return false
	}
	for i, o := range st.order {
		if o.desc || o.e.op != opColumn || o.e.at != x.columns[i] {
			return false
		}
	}
	return true
}

func (sc *scope) limit(e *expr) (int64, error) {
	if e == nil {
		return -1, nil
	}
	v, err := sc.eval(e)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok || n < 0 {
		return 0, errorf(SyntaxError, "LIMIT %v", v)
	}
	return n, nil
}

func (sc *scope) sort(rows []found, by []order) error {
	keys := make(map[*record][]any, len(rows))
	for _, f := range rows {
		sc.row = f.values
		for _, o := range by {
			v, err := sc.eval(o.e)
			if err != nil {
				return err
			}
			keys[f.record] = append(keys[f.record], v)
		}
	}
	slices.SortStableFunc(rows, func(a, b found) int {
		for i, o := range by {
			x, y := keys[a.record][i], keys[b.record][i]
			binary := sc.binary(o.e)
			sign := cmp.Compare(string(appendKey(nil, x, binary)), string(appendKey(nil, y, binary)))
			if o.desc {
				sign = -sign
			}
			if sign != 0 {
				return sign
			}
		}
		return 0
	})
	return nil
}

func (sc *scope) answer(st *statement, rows []found) (Result, error) {
	if sc.aggregates(st) {
		row, err := sc.aggregate(st.items, rows)
		return Result{Rows: [][]any{row}}, err
	}
	var result Result
	for _, f := range rows {
		if st.star {
			result.Rows = append(result.Rows, slices.Clone(f.values[:len(sc.table.columns)]))
			continue
		}
		sc.row = f.values
		row, err := sc.items(st.items)
		if err != nil {
			return Result{}, err
		}
		result.Rows = append(result.Rows, row)
	}
	return result, nil
}

func (sc *scope) items(items []*expr) ([]any, error) {
	row := make([]any, len(items))
	for i, e := range items {
		v, err := sc.eval(e)
		if err != nil {
			return nil, err
		}
		row[i] = v
	}
	return row, nil
}
