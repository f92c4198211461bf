package sql

// found is a row that a statement works on.
type found struct {
	record *record // in the primary index
	values []any
}

// visit looks at the rows that the transaction's snapshot shows.
func (sc *scope) visit(p plan, where *expr, f func(found) (more bool, err error)) (err error) {
	if p.how == nothing {
		return nil
	}
	p.index.each(p.start(), func(r *record) bool {
		if r.supremum() || !p.within(r.key) {
			return false
		}
		row := r
		if r.row != nil {
			row = r.row
		}
		values := sc.s.tx.sees(row)
		if values == nil || r.row != nil && p.index.entry(row, values) != r.key {
			return true
		}
		var more, yes bool
		sc.row = values
		if yes, err = sc.holds(where); yes {
			more, err = f(found{row, values})
			return more && err == nil
		}
		return err == nil
	})
	return err
}

// lockAll locks the rows of a plan and answers those that meet the condition,
// limit at most, if it is not negative. It sees the newest version of each. A
// row that was locked stays locked even if the condition is not met.
func (sc *scope) lockAll(p plan, where *expr, m mode, limit int64) (rows []found, err error) {
	if p.unsure != "" {
		return nil, notModelled("locks where the optimizer has a choice: %s", p.unsure)
	}
	if p.how == nothing || limit == 0 {
		return nil, nil
	}
	p.index.each(p.start(), func(r *record) bool {
		var more bool
		more, err = sc.lockOne(&p, r, m)
		if !more && r.supremum() || err != nil {
			return false
		}
		row := r
		if r.row != nil {
			row = r.row
		}
		if !r.supremum() && p.within(r.key) && !r.deleted() {
			values := row.newest.values
			sc.row = values
			var yes bool
			if yes, err = sc.holds(where); yes {
				rows = append(rows, found{row, values})
				more = more && int64(len(rows)) != limit
			}
		}
		return more && err == nil
	})
	return rows, err
}

// lockOne locks a record on the way as InnoDB does, and answers whether the
// scan goes on behind it.
func (sc *scope) lockOne(p *plan, r *record, m mode) (more bool, err error) {
	tx := sc.s.tx
	switch {
	case r.supremum():
		return false, tx.acquire(r, m, nextKey, false)
	case !p.within(r.key) && p.how == span1:
		return false, tx.acquire(r, m, nextKey, false) // read before it was found to be too far
	case !p.within(r.key):
		return false, tx.acquire(r, m, gapOnly, false)
	}
	sp := nextKey
	exact := p.how == point && !r.deleted() || p.how == span1 && p.low.set && !p.low.open && r.key == p.low.key
	if exact {
		sp = recordOnly
	}
	if err := tx.acquire(r, m, sp, false); err != nil {
		return false, err
	}
	if r.row != nil && !r.deleted() {
		if err := tx.acquire(r.row, m, recordOnly, false); err != nil {
			return false, err
		}
	}
	row := r
	if r.row != nil {
		row = r.row
	}
	if sc.s.strict && (row == r || !r.dead) && tx.stale(row) {
		return false, &Error{RecordChanged, "Record has changed since last read in table '" + sc.table.name + "'"}
	}
	return p.how != point || r.deleted(), nil
}
