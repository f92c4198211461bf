package sql

import (
	"errors"
	"slices"
)

// updates is UPDATE: it locks its rows, then changes them one by one.
func (s *Session) updates(p *pending) (Result, error) {
	sc := &scope{s: s, args: p.args}
	if err := sc.find(p); err != nil {
		return Result{}, err
	}
	w := &p.work
	for ; w.next < len(w.rows); w.next++ {
		changed, err := sc.updateOne(p, w.rows[w.next])
		if err != nil {
			return Result{}, err
		}
		if changed {
			w.result.Affected++
		}
		w.change = nil
	}
	return w.result, nil
}

// deletes is DELETE.
func (s *Session) deletes(p *pending) (Result, error) {
	sc := &scope{s: s, args: p.args}
	if err := sc.find(p); err != nil {
		return Result{}, err
	}
	w := &p.work
	for ; w.next < len(w.rows); w.next++ {
		f := w.rows[w.next]
		if w.change == nil {
			w.change = &change1{row: f.record, old: f.values, start: len(s.tx.undo)}
		}
		if err := s.tx.apply(sc.table, w.change); err != nil {
			return Result{}, err
		}
		w.result.Affected++
		w.change = nil
	}
	return w.result, nil
}

// find locks the rows of an UPDATE or DELETE.
func (sc *scope) find(p *pending) error {
	if err := sc.bind(p.stmt); err != nil {
		return err
	}
	w, tx := &p.work, sc.s.tx
	if w.scanned {
		return nil
	}
	tx.use(sc.table, exclusive)
	access, err := sc.plan(p.stmt.where)
	if err != nil {
		return err
	}
	limit, err := sc.limit(p.stmt.limit)
	if err != nil {
		return err
	}
	if len(p.stmt.order) > 0 {
		if !sc.natural(p.stmt, access) {
			return notModelled("locks where the optimizer has a choice: ORDER BY other than the primary key")
		}
	}
	if w.rows, err = sc.lockAll(access, p.stmt.where, exclusive, limit); err != nil {
		return err
	}
	w.scanned = true
	return nil
}

// updateOne changes one row, which is locked. A row that would stay as it is
// gets no new version and does not count.
func (sc *scope) updateOne(p *pending, f found) (changed bool, err error) {
	w, tx, t := &p.work, sc.s.tx, sc.table
	if w.change == nil {
		values := slices.Clone(f.values)
		sc.row = values
		for _, set := range p.stmt.sets { // from left to right: later ones see earlier ones
			v, err := sc.eval(set.e)
			if err != nil {
				return false, err
			}
			if values[set.at], err = t.columns[set.at].store(t, v, w.next+1); err != nil {
				return false, err
			}
		}
		if sameRow(f.values, values) {
			return false, nil
		}
		if err := sc.checked(values); err != nil {
			return false, err
		}
		if a, _ := t.primary().prefix(f.values); a != prefixOf(t, values) {
			return false, notModelled("changing a primary key")
		}
		w.change = &change1{row: f.record, old: f.values, values: values, start: len(tx.undo)}
	}
	var dup *duplicate
	if err := tx.apply(t, w.change); errors.As(err, &dup) {
		return false, dup.err
	} else if err != nil {
		return false, err
	}
	return true, nil
}

func prefixOf(t *table, values []any) string {
	key, _ := t.primary().prefix(values)
	return key
}
