package sql

import (
	"errors"
	"slices"
)

// updates is UPDATE: it locks and changes its rows one by one.
func (s *Session) updates(p *pending) (Result, error) {
	return s.each(p, func(sc *scope, f found) error {
		changed, err := sc.updateOne(p, f)
		if changed {
			p.work.result.Affected++
		}
		return err
	})
}

// deletes is DELETE.
func (s *Session) deletes(p *pending) (Result, error) {
	return s.each(p, func(sc *scope, f found) error {
		w := &p.work
		if w.change == nil {
			w.change = &rowChange{row: f.record, old: f.values, start: len(s.tx.undo)}
		}
		if err := s.tx.apply(sc.table, w.change); err != nil {
			return err
		}
		w.result.Affected++
		return nil
	})
}

// each locks the rows of an UPDATE or DELETE and has f change them.
func (s *Session) each(p *pending, f func(*scope, found) error) (Result, error) {
	sc := &scope{s: s, args: p.args}
	if err := sc.bind(p.stmt); err != nil {
		return Result{}, err
	}
	limit, err := sc.limit(p.stmt.limit)
	if err != nil {
		return Result{}, err
	}
	w := &p.work
	if w.cursor == nil {
		if err := sc.find(p); err != nil {
			return Result{}, err
		}
	}
	for {
		if len(w.rows) == 0 {
			if int64(w.next) == limit {
				return w.result, nil
			}
			row, err := sc.next(w.cursor, p.stmt.where)
			if err != nil || row.record == nil {
				return w.result, err
			}
			w.rows = append(w.rows, row)
		}
		if err := f(sc, w.rows[0]); err != nil {
			return Result{}, err
		}
		w.rows, w.change = nil, nil
		w.next++
	}
}

// find begins to look for the rows of an UPDATE or DELETE.
func (sc *scope) find(p *pending) error {
	sc.s.tx.use(sc.table, exclusive)
	access, err := sc.plan(p.stmt.where)
	if err != nil {
		return err
	}
	if len(p.stmt.order) > 0 && !sc.natural(p.stmt, access) {
		access.unsure = "ORDER BY other than the primary key"
	}
	p.work.cursor, err = sc.open(access, exclusive)
	return err
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
		if slices.Equal(f.values, values) {
			return false, nil
		}
		if err := sc.checked(values); err != nil {
			return false, err
		}
		if a, _ := t.primary().prefix(f.values); a != prefixOf(t, values) {
			return false, notModelled("changing a primary key")
		}
		w.change = &rowChange{row: f.record, old: f.values, values: values, start: len(tx.undo)}
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
