package sql

import (
	"errors"
	"slices"
)

// inserts is INSERT in all its forms, and REPLACE.
func (s *Session) inserts(p *pending) (Result, error) {
	sc := &scope{s: s, args: p.args}
	if err := sc.bind(p.stmt); err != nil {
		return Result{}, err
	}
	s.tx.use(sc.table, exclusive)
	w := &p.work
	if w.columns == nil {
		if err := sc.prepare(p); err != nil {
			return Result{}, err
		}
	}
	for ; w.next < len(p.stmt.rows); w.next++ {
		if w.image == nil {
			if err := sc.image(p); err != nil {
				return Result{}, err
			}
		}
		if err := sc.insertOne(p, w.image); err != nil {
			return Result{}, err
		}
		w.change, w.rows, w.image = nil, nil, nil
	}
	if w.result.LastID != 0 {
		s.lastID = w.result.LastID
	}
	return w.result, nil
}

// prepare finds the columns of the values and counts the values.
func (sc *scope) prepare(p *pending) error {
	t, st := sc.table, p.stmt
	columns := make([]int, 0, len(t.columns))
	for _, name := range st.columns {
		i, ok := t.column(name)
		if !ok {
			return unknownColumn(name, "INSERT INTO")
		}
		columns = append(columns, i)
	}
	if st.columns == nil {
		for i := range t.columns {
			columns = append(columns, i)
		}
	}
	for n, exprs := range st.rows {
		if len(exprs) != len(columns) {
			return errorf(1136, "Column count doesn't match value count at row %d", n+1)
		}
	}
	p.work.columns = columns
	return nil
}

// image computes the row that comes next, with defaults and generated
// numbers.
func (sc *scope) image(p *pending) error {
	t, w := sc.table, &p.work
	row := w.next + 1
	image := make([]any, len(t.columns))
	given := make([]bool, len(t.columns))
	sc.row = image
	for i, e := range p.stmt.rows[w.next] {
		v, err := sc.eval(e)
		if err != nil {
			return err
		}
		c := w.columns[i]
		given[c] = true
		if t.columns[c].auto && (v == nil || v == int64(0)) {
			given[c] = false
			continue
		}
		if image[c], err = t.columns[c].store(t, v, row); err != nil {
			return err
		}
	}
	for i, c := range t.columns {
		switch {
		case given[i]:
		case c.auto:
			image[i] = sc.number(w, int64(len(p.stmt.rows)))
			w.numbered = true
		case c.hasDef:
			var err error
			if image[i], err = c.store(t, c.def, row); err != nil {
				return err
			}
		case c.notNull:
			return errorf(1364, "Field '%s' doesn't have a default value", c.name)
		}
	}
	w.image = image
	return sc.checked(image)
}

// number generates a number. A statement takes as many from the table at once
// as it has rows, and gives none back, whatever becomes of the rows.
func (sc *scope) number(w *progress, rows int64) int64 {
	if w.numbers == w.until {
		w.numbers = sc.table.nextID
		w.until = w.numbers + rows
		sc.table.nextID = w.until
	}
	w.numbers++
	return w.numbers - 1
}

// count notes the number of a row that was inserted.
func (sc *scope) count(w *progress, image []any) {
	auto := sc.table.auto()
	if auto < 0 {
		return
	}
	n, _ := image[auto].(int64)
	if w.numbered && w.result.LastID == 0 {
		w.result.LastID = n
	}
	sc.table.nextID = max(sc.table.nextID, n+1)
	w.numbered = false
}

// checked applies the CHECK constraints: NULL passes.
func (sc *scope) checked(image []any) error {
	row := sc.row
	defer func() { sc.row = row }()
	sc.row = image
	for _, c := range sc.table.checks {
		v, err := sc.eval(c.e)
		if err != nil {
			return err
		}
		if yes, known := truthOf(v); known && !yes {
			return errorf(4025, "CONSTRAINT `%s` failed for `%s`.`%s`", c.name, Schema, sc.table.name)
		}
	}
	return nil
}

// insertOne inserts one row, or does what the statement says about the row
// that is in its way.
func (sc *scope) insertOne(p *pending, image []any) error {
	tx, w, st := sc.s.tx, &p.work, p.stmt
	for {
		if w.rows != nil { // the row in the way is known and being changed
			return sc.collide(p, image)
		}
		if w.change == nil {
			w.change = &rowChange{values: image, start: len(tx.undo), taking: st.update || st.replace}
		}
		err := tx.apply(sc.table, w.change)
		var dup *duplicate
		switch {
		case err == nil:
			w.result.Affected++
			sc.count(w, image)
			return nil
		case !errors.As(err, &dup):
			return err
		}
		tx.rollbackTo(w.change.start)
		w.change = nil
		switch {
		case st.update || st.replace:
			w.rows = []found{{record: dup.row}}
			w.index = dup.index
		case st.ignore:
			if w.numbered { // the next row may have the number
				w.numbers, w.numbered = w.numbers-1, false
			}
			return nil
		default:
			return dup.err
		}
	}
}

// collide updates the row in the way (ON DUPLICATE KEY UPDATE) or replaces
// it. It is found by the key that collided, and locked on the way.
func (sc *scope) collide(p *pending, image []any) error {
	w := &p.work
	if w.change == nil {
		key, _ := w.index.prefix(image)
		c, err := sc.open(plan{index: w.index, how: point, key: key}, exclusive)
		if err != nil {
			return err
		}
		f, err := sc.next(c, nil)
		if err != nil {
			return err
		}
		if f.record == nil {
			panic("sql: the row in the way is gone although it is locked")
		}
		w.rows = []found{f}
	}
	if p.stmt.replace {
		return sc.replaceRow(p, image)
	}
	sc.fresh = image
	changed, err := sc.updateOne(p, w.rows[0])
	if changed {
		w.result.Affected += 2
	}
	return err
}

// replaceRow changes the row in the way into the new one if that has the same
// primary key and no further key can collide, else deletes it and tries again.
func (sc *scope) replaceRow(p *pending, image []any) error {
	w, tx := &p.work, sc.s.tx
	last := sc.lastUnique() == w.index && prefixOf(sc.table, w.rows[0].values) == prefixOf(sc.table, image)
	if w.change == nil {
		if last && slices.Equal(w.rows[0].values, image) {
			w.result.Affected++
			return nil
		}
		w.change = &rowChange{row: w.rows[0].record, old: w.rows[0].values, start: len(tx.undo), taking: true}
		if last {
			w.change.values = image
		}
	}
	if err := tx.apply(sc.table, w.change); err != nil {
		return err
	}
	w.result.Affected++
	w.change, w.rows = nil, nil
	if last {
		w.result.Affected++
		return nil
	}
	return sc.insertOne(p, image)
}

func (sc *scope) lastUnique() *index {
	last := sc.table.primary()
	for _, x := range sc.table.indexes {
		if x.unique {
			last = x
		}
	}
	return last
}
