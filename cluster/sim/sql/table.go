package sql

import "strings"

// table is one table: its columns and indexes, the primary one first. A table
// without a primary key has a hidden one, as in InnoDB.
type table struct {
	name    string
	columns []*column
	byName  map[string]int
	indexes []*index
	hidden  bool
	nextRow int64 // hidden primary key
	nextID  int64 // AUTO_INCREMENT
	checks  []check
}

// check is a CHECK constraint.
type check struct {
	name string
	e    *expr
}

func (t *table) column(name string) (int, bool) {
	i, ok := t.byName[strings.ToLower(name)]
	return i, ok
}

func (t *table) primary() *index { return t.indexes[0] }

// auto is the AUTO_INCREMENT column, -1 if there is none.
func (t *table) auto() int {
	for i, c := range t.columns {
		if c.auto {
			return i
		}
	}
	return -1
}

// keySpec is an index as CREATE TABLE names it.
type keySpec struct {
	name    string
	columns []string
	primary bool
	unique  bool
}

// build makes the table's indexes.
func (t *table) build(keys []keySpec) error {
	hidden := newIndex(t, "PRIMARY", nil, true)
	hidden.primary = true
	t.indexes, t.hidden = []*index{hidden}, true
	for _, k := range keys {
		x, err := t.indexOf(k)
		if err != nil {
			return err
		}
		switch {
		case !k.primary:
			t.indexes = append(t.indexes, x)
		case !t.hidden:
			return errorf(1068, "Multiple primary key defined")
		default:
			t.indexes[0], t.hidden = x, false
			for _, c := range x.columns {
				t.columns[c].notNull = true
			}
		}
	}
	// The server sorts unique keys before others.
	sorted := t.indexes[:1:1]
	for _, unique := range []bool{true, false} {
		for _, x := range t.indexes[1:] {
			if x.unique == unique {
				sorted = append(sorted, x)
			}
		}
	}
	t.indexes = sorted
	return t.checkAuto()
}

func (t *table) indexOf(k keySpec) (*index, error) {
	var columns []int
	for _, name := range k.columns {
		i, ok := t.column(name)
		if !ok {
			return nil, errorf(1072, "Key column '%s' doesn't exist in table", name)
		}
		columns = append(columns, i)
	}
	if k.primary {
		k.name = "PRIMARY"
	} else if k.name == "" {
		k.name = t.freeName(k.columns[0])
	}
	x := newIndex(t, k.name, columns, k.unique || k.primary)
	x.primary = k.primary
	return x, nil
}

// freeName is the name of an unnamed index: its first column's, and a number
// if that is taken.
func (t *table) freeName(column string) string {
	name := column
	for n := 2; ; n++ {
		taken := false
		for _, x := range t.indexes {
			taken = taken || strings.EqualFold(x.name, name)
		}
		if !taken {
			return name
		}
		name = column + "_" + textOf(int64(n))
	}
}

func (t *table) checkAuto() error {
	auto := t.auto()
	if auto < 0 {
		return nil
	}
	for _, x := range t.indexes {
		if len(x.columns) > 0 && x.columns[0] == auto {
			return nil
		}
	}
	return errorf(1075, "Incorrect table definition; there can be only one auto column and it must be defined as a key")
}

// empty throws all rows away.
func (t *table) empty() {
	for i, x := range t.indexes {
		fresh := newIndex(t, x.name, x.columns, x.unique)
		fresh.primary = x.primary
		t.indexes[i] = fresh
	}
	t.nextID, t.nextRow = 1, 0
}
