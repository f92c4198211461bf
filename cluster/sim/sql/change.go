package sql

// rowChange is the insertion or change of one row in all indexes of its table,
// one after the other. Each may have to wait: then step is where to go on.
type rowChange struct {
	row    *record // nil: to be inserted
	old    []any   // nil: no row before
	values []any   // nil: to be deleted
	step   int     // index that comes next
	start  int     // undo records before it
	// taking says that a duplicate will be replaced or updated: then the
	// check locks it exclusively.
	taking bool
}

// duplicate is the error of a row whose key another row has.
type duplicate struct {
	err   *Error
	index *index
	row   *record // that has it
}

func (d *duplicate) Error() string { return d.err.Error() }

// apply brings the change into every index. After an error that is no
// *Blocked, the caller takes back what was done.
func (tx *transaction) apply(t *table, c *rowChange) error {
	for ; c.step < len(t.indexes); c.step++ {
		var err error
		x := t.indexes[c.step]
		switch {
		case x.primary && c.old == nil:
			err = tx.insertRow(t, x, c)
		case x.primary:
			tx.write(c.row, c.values)
		default:
			err = tx.changeEntry(x, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write gives a row, which tx has locked, a new version.
func (tx *transaction) write(r *record, values []any) {
	v := &version{by: tx, values: values, deleted: values == nil, older: r.newest}
	if values == nil {
		v.values = r.newest.values
	}
	r.newest = v
	tx.note(rowChanged, r)
}

func (tx *transaction) note(what change, r *record) {
	tx.undo = append(tx.undo, undo{what, r, r.by})
	if what <= rowChanged {
		tx.changes++
	}
}

// insertRow puts a row into the primary index, if no other is there.
func (tx *transaction) insertRow(t *table, x *index, c *rowChange) error {
	key := ""
	if t.hidden {
		t.nextRow++
		key = string(appendKey(nil, t.nextRow, true))
	} else {
		key, _ = x.prefix(c.values)
	}
	if r := x.all[key]; r != nil {
		if err := tx.acquire(r, c.checking(), recordOnly, false); err != nil {
			return err
		}
		if !r.deleted() {
			return x.duplicate(c.values, r)
		}
		if err := tx.acquire(r, exclusive, recordOnly, true); err != nil {
			return err
		}
		c.row = r
		tx.write(r, c.values)
		return nil
	}
	r := &record{index: x, key: key}
	if err := tx.place(r); err != nil {
		return err
	}
	r.newest = &version{by: tx, values: c.values}
	c.row = r
	tx.note(rowInserted, r)
	return nil
}

// place waits until the gap is free in which a new record belongs, and puts
// the record there.
func (tx *transaction) place(r *record) error {
	next := r.index.from(r.key)
	if err := tx.acquire(next, exclusive, insertIntention, true); err != nil {
		return err
	}
	r.index.insert(r)
	r.inheritGap(next)
	return nil
}

// checking is the mode in which a possible duplicate is locked.
func (c *rowChange) checking() mode {
	if c.taking {
		return exclusive
	}
	return shared
}

// changeEntry brings a secondary index up to date.
func (tx *transaction) changeEntry(x *index, c *rowChange) error {
	before, after := "", ""
	if c.old != nil {
		before = x.entry(c.row, c.old)
	}
	if c.values != nil {
		after = x.entry(c.row, c.values)
	}
	if before == after {
		return nil
	}
	if r := x.all[before]; c.old != nil && !r.dead {
		if err := tx.acquire(r, exclusive, recordOnly, true); err != nil {
			return err
		}
		tx.note(entryDead, r)
		r.dead, r.by = true, tx
	}
	if c.values == nil {
		return nil
	}
	return tx.addEntry(x, c, after)
}

func (tx *transaction) addEntry(x *index, c *rowChange, key string) error {
	if prefix, null := x.prefix(c.values); x.unique && !null {
		if err := tx.unique(x, c, prefix); err != nil {
			return err
		}
	}
	if r := x.all[key]; r != nil {
		if err := tx.acquire(r, exclusive, recordOnly, true); err != nil {
			return err
		}
		tx.note(entryRevived, r)
		r.dead, r.by = false, tx
		return nil
	}
	r := &record{index: x, key: key, row: c.row}
	if err := tx.place(r); err != nil {
		return err
	}
	tx.note(entryAdded, r)
	r.by = tx
	return nil
}

// unique looks for another row with the same unique key. If entries of that
// key exist at all, even dead ones, InnoDB locks them with the gaps before
// them, and what follows them.
func (tx *transaction) unique(x *index, c *rowChange, prefix string) (err error) {
	p := plan{how: ref, key: prefix}
	if first := x.from(prefix); first.supremum() || !p.within(first.key) {
		return nil
	}
	x.each(prefix, func(r *record) bool {
		if err = tx.acquire(r, c.checking(), nextKey, false); err != nil {
			return false
		}
		if r.supremum() || !p.within(r.key) {
			return false
		}
		if !r.dead {
			err = x.duplicate(c.values, r.row)
		}
		return err == nil
	})
	return err
}

func (x *index) duplicate(values []any, row *record) error {
	entry := ""
	for i, c := range x.columns {
		if i > 0 {
			entry += "-"
		}
		entry += textOf(values[c])
	}
	return &duplicate{duplicateEntry(entry, x.name), x, row}
}
