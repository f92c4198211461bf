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
		row := r.of()
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

// cursor is a locking scan: it sees the newest version of each row. A row that
// was locked stays locked even if the condition is not met.
type cursor struct {
	plan  plan
	mode  mode
	key   string // of the record to look at next …
	last  string // … and of the one before it
	begun bool
	done  bool
}

func (sc *scope) open(p plan, m mode) (*cursor, error) {
	if p.unsure != "" {
		return nil, notModelled("locks where the optimizer has a choice: %s", p.unsure)
	}
	return &cursor{plan: p, mode: m, done: p.how == nothing}, nil
}

// here is the record to look at next. One that the cursor waited for may have
// gone in the meantime.
func (c *cursor) here() *record {
	x := c.plan.index
	switch {
	case !c.begun:
		return x.from(c.plan.start())
	case c.key == "":
		return x.from(c.last + "\x00")
	}
	if r := x.all[c.key]; r != nil {
		return r
	}
	if c.last == "" {
		return x.from(c.plan.start())
	}
	return x.from(c.last + "\x00")
}

// next locks on until it finds a row that meets the condition; its record is
// nil if there is none. After *Blocked it goes on where it was.
func (sc *scope) next(c *cursor, where *expr) (found, error) {
	for !c.done {
		r := c.here()
		c.begun, c.key = true, r.key
		more, err := sc.lockOne(&c.plan, r, c.mode)
		if err != nil {
			return found{}, err
		}
		c.done, c.last, c.key = !more, r.key, ""
		if r.supremum() || !c.plan.within(r.key) || r.deleted() {
			continue
		}
		row := r.of()
		sc.row = row.newest.values
		if yes, err := sc.holds(where); err != nil || yes {
			return found{row, row.newest.values}, err
		}
	}
	return found{}, nil
}

// of is the row that the record belongs to.
func (r *record) of() *record {
	if r.row != nil {
		return r.row
	}
	return r
}

// lockOne locks a record on the way as InnoDB does, and answers whether the
// scan goes on behind it.
func (sc *scope) lockOne(p *plan, r *record, m mode) (more bool, err error) {
	tx := sc.s.tx
	switch {
	case r.supremum():
		return false, tx.acquire(r, m, nextKey, false)
	case !p.within(r.key) && p.how == between:
		// Read before it is found to be too far; deleted ones are passed over
		// without looking how far they are.
		return r.deleted(), tx.acquire(r, m, nextKey, false)
	case !p.within(r.key):
		return false, tx.acquire(r, m, gapOnly, false)
	}
	sp := nextKey
	exact := p.how == point && p.index.primary || p.how == between && p.low.set && !p.low.open && r.key == p.low.key
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
	if sc.s.strict && (r.row == nil || !r.dead) && tx.stale(r.of()) {
		return false, &Error{RecordChanged, "Record has changed since last read in table '" + sc.table.name + "'; try restarting transaction"}
	}
	return p.how != point || r.deleted(), nil
}
