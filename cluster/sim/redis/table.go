package redis

import (
	"maps"
	"slices"
)

// table maps names to contents and keeps the order of insertion, as the
// server does with small hashes. Hashes and sets are made of it.
type table struct {
	names    []string
	contents []string       // of hashes; nil in sets
	at       map[string]int // index of each name; nil while the table is small
}

// small tables are searched through, which is faster than a map.
const small = 8

func (t *table) copy() table {
	return table{slices.Clone(t.names), slices.Clone(t.contents), maps.Clone(t.at)}
}

func (t *table) len() int { return len(t.names) }

// find answers the index of name, or -1.
func (t *table) find(name string) int {
	if t.at == nil {
		return slices.Index(t.names, name)
	}
	if i, found := t.at[name]; found {
		return i
	}
	return -1
}

// add appends a name that is not in the table.
func (t *table) add(name string) {
	t.names = append(t.names, name)
	if t.at != nil {
		t.at[name] = len(t.names) - 1
	} else if len(t.names) > small {
		t.at = make(map[string]int, 2*len(t.names))
		t.reindex(0)
	}
}

// remove takes a name out and reports whether it was in.
func (t *table) remove(name string) bool {
	i := t.find(name)
	if i < 0 {
		return false
	}
	t.names = slices.Delete(t.names, i, i+1)
	if t.contents != nil {
		t.contents = slices.Delete(t.contents, i, i+1)
	}
	if t.at != nil {
		delete(t.at, name)
		t.reindex(i)
	}
	return true
}

func (t *table) reindex(from int) {
	for i := from; i < len(t.names); i++ {
		t.at[t.names[i]] = i
	}
}
