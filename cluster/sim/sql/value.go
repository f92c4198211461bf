package sql

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Values are nil, int64 and string; float64 only as the limit of GET_LOCK.

// column is one column of a table.
type column struct {
	name     string
	text     bool
	size     int   // of text, in characters
	min, max int64 // of numbers
	unsigned bool
	binary   bool // compared by bytes (a _bin collation)
	notNull  bool
	auto     bool
	def      any
	hasDef   bool
}

// store converts v to what the column holds, as the server does in its
// default, strict mode.
func (c *column) store(t *table, v any, row int) (any, error) {
	if v == nil {
		if c.notNull {
			return nil, errorf(1048, "Column '%s' cannot be null", c.name)
		}
		return nil, nil
	}
	if c.text {
		s := textOf(v)
		if n := len(s); n > c.size && len([]rune(s)) > c.size {
			return nil, errorf(1406, "Data too long for column '%s' at row %d", c.name, row)
		}
		return s, nil
	}
	n, ok := v.(int64)
	if !ok {
		var err error
		if n, err = strconv.ParseInt(strings.TrimSpace(textOf(v)), 10, 64); err != nil {
			return nil, errorf(1366, "Incorrect integer value: '%s' for column `%s`.`%s`.`%s` at row %d", textOf(v), Schema, t.name, c.name, row)
		}
	}
	if n < c.min || n > c.max {
		return nil, errorf(1264, "Out of range value for column '%s' at row %d", c.name, row)
	}
	return n, nil
}

// textOf writes a value as the server converts it to text.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case nil:
		return "NULL"
	}
	return ""
}

// fold is the form by which text is compared: trailing spaces do not count,
// and without a _bin collation neither does case. (Accents do count here, on
// the server they need not.)
func fold(s string, binary bool) string {
	s = strings.TrimRight(s, " ")
	if binary {
		return s
	}
	for i := range len(s) {
		if c := s[i]; c >= 0x80 || 'a' <= c && c <= 'z' {
			return strings.Map(unicode.ToUpper, s)
		}
	}
	return s
}

// compare answers the sign of a-b. ok is false if the server would have to
// convert in a way that is not modelled.
func compare(a, b any, binary bool) (sign int, ok bool) {
	switch x := a.(type) {
	case int64:
		switch y := b.(type) {
		case int64:
			return cmpInt(x, y), true
		case string:
			n, err := strconv.ParseInt(y, 10, 64)
			return cmpInt(x, n), err == nil
		}
	case string:
		switch y := b.(type) {
		case string:
			return strings.Compare(fold(x, binary), fold(y, binary)), true
		case int64:
			n, err := strconv.ParseInt(x, 10, 64)
			return cmpInt(n, y), err == nil
		}
	}
	return 0, false
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// appendKey appends v so that keys compare as strings the way their columns
// compare as values, NULL first. No key is a prefix of another of the same
// number of columns.
func appendKey(key []byte, v any, binaryText bool) []byte {
	switch v := v.(type) {
	case int64:
		key = append(key, 1)
		return binary.BigEndian.AppendUint64(key, uint64(v)^(1<<63))
	case string:
		key = append(key, 1)
		for _, c := range []byte(fold(v, binaryText)) {
			if key = append(key, c); c == 0 {
				key = append(key, 0xff)
			}
		}
		return append(key, 0, 0)
	}
	return append(key, 0)
}

// argument makes a value of what a caller passed for a placeholder.
func argument(v any) (any, error) {
	switch v := v.(type) {
	case nil, int64, string, float64:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v), nil
		}
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case []byte:
		return string(v), nil
	}
	return nil, notModelled("an argument of type %T", v)
}
