package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/lockcheck/lockcheck/histories"
)

// The operations travel inside the page as columns of variable-length
// numbers, gzipped and in base64: some 14 bytes an operation, where JSON
// needs 150. assets/data.js reads what this file writes:
//
//	4 bytes   length of the head (big endian)
//	head      JSON: the strings, and name, kind, count and bytes of each column
//	columns   one after another: LEB128 varints, zigzag where kind is "signed"
//	          or "delta"; the latter are differences to the number before
//
// Times are in microseconds since the start of the run, rounded down, which
// keeps their order.
type columnHead struct {
	Strings []string     `json:"strings"`
	Columns []columnInfo `json:"columns"`
}

type columnInfo struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	Bytes int    `json:"bytes"`
}

// column is one list of numbers on its way into the page.
type column struct {
	name, kind string
	bytes      []byte
	count      int
	last       int64
}

// The kinds of columns.
const (
	unsigned = "unsigned"
	zigzag   = "signed"
	delta    = "delta"
)

func (c *column) add(n int64) {
	c.count++
	switch c.kind {
	case unsigned:
		c.bytes = binary.AppendUvarint(c.bytes, uint64(n))
	case zigzag:
		c.bytes = binary.AppendVarint(c.bytes, n)
	case delta:
		c.bytes = binary.AppendVarint(c.bytes, n-c.last)
		c.last = n
	}
}

// columnSet collects columns and the strings that they refer to.
type columnSet struct {
	list    []*column
	byName  map[string]*column
	strings []string
	index   map[string]int64
}

// newColumnSet makes a set in which string 0 is the empty one.
func newColumnSet() *columnSet {
	return &columnSet{byName: map[string]*column{}, strings: []string{""}, index: map[string]int64{"": 0}}
}

// column finds a column or makes it.
func (s *columnSet) column(name, kind string) *column {
	c := s.byName[name]
	if c == nil {
		c = &column{name: name, kind: kind}
		s.byName[name] = c
		s.list = append(s.list, c)
	}
	return c
}

// string is the index of a string, each of which is carried once.
func (s *columnSet) string(text string) int64 {
	if i, ok := s.index[text]; ok {
		return i
	}
	i := int64(len(s.strings))
	s.index[text] = i
	s.strings = append(s.strings, text)
	return i
}

// encode packs the set for the page.
func (s *columnSet) encode() (string, error) {
	head := columnHead{Strings: s.strings}
	for _, c := range s.list {
		head.Columns = append(head.Columns, columnInfo{c.name, c.kind, c.count, len(c.bytes)})
	}
	first, err := json.Marshal(head)
	if err != nil {
		return "", fmt.Errorf("timeline: %w", err)
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // errs only on a level that is none
	z.Write(binary.BigEndian.AppendUint32(nil, uint32(len(first))))
	z.Write(first)
	for _, c := range s.list {
		z.Write(c.bytes)
	}
	if err := z.Close(); err != nil {
		return "", fmt.Errorf("timeline: %w", err)
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
}

// functions are the f of operations in the order of their codes in the page.
var functions = []string{
	histories.Acquire, histories.Extend, histories.Release, histories.Sell, histories.Read,
	histories.Write, histories.Restock, histories.Cancel, histories.Audit, histories.Break,
}

// fields are the parts of an operation that not every operation has. Bit i of
// the column "mask" says whether field i is there; its column has a number
// for each operation that has it.
var fields = []struct {
	name, kind string
	of         func(*columnSet, *histories.Op) (n int64, there bool)
}{
	{"qty", unsigned, func(_ *columnSet, op *histories.Op) (int64, bool) { return op.Qty, op.Qty > 1 }},
	{"work", unsigned, func(_ *columnSet, op *histories.Op) (int64, bool) { return micro(op.Work), op.Work > 0 }},
	{"order", delta, textField(func(op *histories.Op) string { return op.Order })},
	{"customer", delta, textField(func(op *histories.Op) string { return op.Customer })},
	{"token", delta, textField(func(op *histories.Op) string { return shorten(op.Token, 16) })},
	{"error", unsigned, textField(func(op *histories.Op) string { return op.Error })},
	{"fence", delta, numField(func(op *histories.Op) histories.Num { return op.Fence })},
	{"left", delta, numField(func(op *histories.Op) histories.Num { return op.Left })},
	{"seen", delta, numField(func(op *histories.Op) histories.Num { return op.Seen })},
	{"value", delta, numField(func(op *histories.Op) histories.Num { return op.Value })},
	// The deadline, from the completion: nearly always the TTL or close to it.
	{"until", zigzag, func(_ *columnSet, op *histories.Op) (int64, bool) {
		return micro(op.Until.N) - micro(op.Call), op.Until.Known
	}},
}

func textField(of func(*histories.Op) string) func(*columnSet, *histories.Op) (int64, bool) {
	return func(s *columnSet, op *histories.Op) (int64, bool) {
		if of(op) == "" {
			return 0, false
		}
		return s.string(of(op)), true
	}
}

func numField(of func(*histories.Op) histories.Num) func(*columnSet, *histories.Op) (int64, bool) {
	return func(_ *columnSet, op *histories.Op) (int64, bool) { return of(op).N, of(op).Known }
}

func micro(ns int64) int64 { return ns / 1000 }

// Flags of an operation in the column "code", above its function (4 bits)
// and its outcome (2 bits).
const (
	codeNever  = 1 << 6 // it never completed
	codeFinal  = 1 << 7 // one of the last attempts
	codeReplay = 1 << 8 // had been done before
)

// code packs what kind of operation it is.
func code(op *histories.Op) int64 {
	c := int64(len(functions)) // a function that the page does not know
	for i, f := range functions {
		if op.F == f {
			c = int64(i)
		}
	}
	switch op.Outcome {
	case histories.Fail:
		c |= 1 << 4
	case histories.Info:
		c |= 2 << 4
	}
	for _, f := range []struct {
		set bool
		bit int64
	}{{op.Return == histories.Never, codeNever}, {op.Final, codeFinal}, {op.Replay, codeReplay}} {
		if f.set {
			c |= f.bit
		}
	}
	return c
}

// addOps writes the chosen operations into columns.
func (s *columnSet) addOps(h *histories.History, chosen []int) {
	call, length := s.column("call", delta), s.column("length", unsigned)
	process, codes := s.column("process", zigzag), s.column("code", unsigned)
	key, id, parent := s.column("key", unsigned), s.column("id", delta), s.column("parent", zigzag)
	mask := s.column("mask", unsigned)
	for _, i := range chosen {
		op := &h.Ops[i]
		call.add(micro(op.Call))
		length.add(lengthOf(op))
		process.add(int64(op.Process))
		codes.add(code(op))
		key.add(s.string(op.Key))
		id.add(op.ID)
		parent.add(parentOf(op))
		mask.add(s.addFields(op))
	}
}

func lengthOf(op *histories.Op) int64 {
	if op.Return == histories.Never {
		return 0
	}
	return micro(op.Return) - micro(op.Call)
}

// parentOf is how far back the parent's id is; 0 if there is none.
func parentOf(op *histories.Op) int64 {
	if op.Parent == 0 {
		return 0
	}
	return op.ID - op.Parent
}

func (s *columnSet) addFields(op *histories.Op) int64 {
	mask := int64(0)
	for bit, f := range fields {
		if n, there := f.of(s, op); there {
			mask |= 1 << bit
			s.column(f.name, f.kind).add(n)
		} else {
			s.column(f.name, f.kind) // a column of its own even if it stays empty
		}
	}
	return mask
}

// addHolds writes holds into columns.
func (s *columnSet) addHolds(holds []hold) {
	for _, k := range holds {
		s.column("hold-from", delta).add(micro(k.From))
		s.column("hold-length", unsigned).add(micro(k.To) - micro(k.From))
		s.column("hold-worker", unsigned).add(int64(k.Acquire.Process))
		s.column("hold-key", unsigned).add(s.string(k.Acquire.Key))
		s.column("hold-acquire", delta).add(k.Acquire.ID)
		s.column("hold-end", unsigned).add(s.string(k.End))
		s.column("hold-lease", zigzag).add(leaseAfter(k, 0))
		s.column("hold-lease-last", zigzag).add(leaseAfter(k, 1))
	}
}

// leaseAfter is an edge of the lease counted from the start of the hold; -1
// if there is no lease.
func leaseAfter(k hold, edge int) int64 {
	if k.Lease[1] == 0 {
		return -1
	}
	return max(0, micro(k.Lease[edge])-micro(k.From))
}

// addBuckets writes counts into columns, worker after worker.
func (s *columnSet) addBuckets(b buckets) {
	for i := range b.Counts {
		for j := range b.Counts[i] {
			s.column("bucket-count", unsigned).add(b.Counts[i][j])
			s.column("bucket-held", unsigned).add(b.Held[i][j])
		}
	}
}
