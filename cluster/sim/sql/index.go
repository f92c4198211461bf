package sql

import "sort"

// record is an entry of an index: in the primary index the row itself with
// its versions, in a secondary index a pointer to the row.
type record struct {
	index *index
	key   string
	locks []*lock // granted and waiting, oldest first

	newest *version // primary index: the newest version; nil: the supremum
	row    *record  // secondary index: the row
	dead   bool     // secondary index: marked as deleted
	by     *transaction
}

// version is what a row was from one change to the next.
type version struct {
	by      *transaction
	values  []any
	deleted bool
	older   *version
}

// deleted reports whether the record is only marked as deleted: it stays in
// the index until no snapshot needs it.
func (r *record) deleted() bool {
	if r.row != nil {
		return r.dead
	}
	return r.newest.deleted
}

func (r *record) supremum() bool { return r == r.index.sup }

// author is the transaction that changed the record last.
func (r *record) author() *transaction {
	if r.newest != nil {
		return r.newest.by
	}
	return r.by
}

// index is an ordered set of records. The supremum is a record after all
// others that exists only to be locked.
type index struct {
	table   *table
	name    string
	columns []int
	unique  bool
	primary bool

	sup    *record
	all    map[string]*record
	chunks [][]*record // in order, none empty
}

// chunkSize bounds how many records an insertion moves.
const chunkSize = 256

func newIndex(t *table, name string, columns []int, unique bool) *index {
	x := &index{table: t, name: name, columns: columns, unique: unique, all: map[string]*record{}}
	x.sup = &record{index: x}
	return x
}

// seek answers the place of the first record whose key is at least key.
func (x *index) seek(key string) (chunk, at int) {
	chunk = sort.Search(len(x.chunks), func(i int) bool {
		c := x.chunks[i]
		return c[len(c)-1].key >= key
	})
	if chunk == len(x.chunks) {
		return chunk, 0
	}
	c := x.chunks[chunk]
	return chunk, sort.Search(len(c), func(i int) bool { return c[i].key >= key })
}

// from answers the first record whose key is at least key, or the supremum.
func (x *index) from(key string) *record {
	c, i := x.seek(key)
	if c == len(x.chunks) {
		return x.sup
	}
	return x.chunks[c][i]
}

// after answers the record that follows r, or the supremum.
func (x *index) after(r *record) *record { return x.from(r.key + "\x00") }

// each calls f for the records from key on, then for the supremum, until it
// answers false. f must not change the index.
func (x *index) each(key string, f func(*record) bool) {
	for c, i := x.seek(key); c < len(x.chunks); c, i = c+1, 0 {
		for _, r := range x.chunks[c][i:] {
			if !f(r) {
				return
			}
		}
	}
	f(x.sup)
}

// insert adds r, whose key is new.
func (x *index) insert(r *record) {
	x.all[r.key] = r
	if len(x.chunks) == 0 {
		x.chunks = [][]*record{{r}}
		return
	}
	c, i := x.seek(r.key)
	if c == len(x.chunks) {
		c, i = c-1, len(x.chunks[c-1])
	}
	chunk := append(x.chunks[c], nil)
	copy(chunk[i+1:], chunk[i:])
	chunk[i] = r
	x.chunks[c] = chunk
	if len(chunk) > chunkSize {
		half := append([]*record(nil), chunk[chunkSize/2:]...)
		clear(chunk[chunkSize/2:])
		x.chunks[c] = chunk[:chunkSize/2]
		x.chunks = append(x.chunks, nil)
		copy(x.chunks[c+2:], x.chunks[c+1:])
		x.chunks[c+1] = half
	}
}

func (x *index) remove(r *record) {
	delete(x.all, r.key)
	c, i := x.seek(r.key)
	chunk := x.chunks[c]
	copy(chunk[i:], chunk[i+1:])
	chunk[len(chunk)-1] = nil
	x.chunks[c] = chunk[:len(chunk)-1]
	if len(x.chunks[c]) == 0 {
		x.chunks = append(x.chunks[:c], x.chunks[c+1:]...)
	}
}

// prefix is the key of the values of the index's own columns. null reports
// whether one of them is NULL: then it is unlike any other.
func (x *index) prefix(values []any) (key string, null bool) {
	var space [64]byte
	b := space[:0]
	for _, c := range x.columns {
		if values[c] == nil {
			null = true
		}
		b = appendKey(b, values[c], x.table.columns[c].binary)
	}
	return string(b), null
}

// entry is the whole key of a row in the index: secondary indexes add the
// row's primary key.
func (x *index) entry(row *record, values []any) string {
	if x.primary {
		return row.key
	}
	key, _ := x.prefix(values)
	return key + row.key
}
