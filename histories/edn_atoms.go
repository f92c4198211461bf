package histories

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func (e *ednReader) string() (any, error) {
	e.text.Reset()
	for {
		c, err := e.byte()
		switch {
		case err == io.EOF:
			return nil, e.fail("it ends inside a string")
		case err != nil:
			return nil, err
		case c == '"':
			return e.text.String(), nil
		case c == '\\':
			if err := e.escape(); err != nil {
				return nil, err
			}
		default:
			e.text.WriteByte(c)
		}
	}
}

func (e *ednReader) escape() error {
	c, err := e.byte()
	if err != nil {
		return e.fail("it ends inside a string")
	}
	if i := strings.IndexByte(`nrtbf"\/'`, c); i >= 0 {
		e.text.WriteByte("\n\r\t\b\f\"\\/'"[i])
		return nil
	}
	if c != 'u' {
		return e.fail("unknown escape \\%c", c)
	}
	r, err := e.codeUnit()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) {
		if r, err = e.otherHalf(r); err != nil {
			return err
		}
	}
	e.text.WriteRune(r)
	return nil
}

// codeUnit reads the four digits of an escape.
func (e *ednReader) codeUnit() (rune, error) {
	var digits [4]byte
	for i := range digits {
		var err error
		if digits[i], err = e.byte(); err != nil {
			return 0, e.fail("it ends inside a string")
		}
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return 0, e.fail("unknown escape \\u%q", digits[:])
	}
	return rune(n), nil
}

// otherHalf reads the second escape of a character that takes two. One alone
// is no character: keys that differ only there would collapse.
func (e *ednReader) otherHalf(first rune) (rune, error) {
	for _, want := range []byte{'\\', 'u'} {
		if c, err := e.byte(); err != nil || c != want {
			return 0, e.fail("half of a surrogate pair: \\u%04x", first)
		}
	}
	second, err := e.codeUnit()
	if err != nil {
		return 0, err
	}
	r := utf16.DecodeRune(first, second)
	if r == utf8.RuneError {
		return 0, e.fail("half of a surrogate pair: \\u%04x", first)
	}
	return r, nil
}

func ednAtom(word string) any {
	switch word {
	case "nil":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	if word[0] == ':' {
		return ednKeyword(word[1:])
	}
	if n, ok := ednNumber(word); ok {
		return n
	}
	return ednSymbol(word)
}

// ednNumber reads 7, 7N, and what is as whole: 7.0, 7.0M, 7e0.
func ednNumber(word string) (int64, bool) {
	digits := strings.TrimLeft(word, "+-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	digits = strings.TrimRight(word, "NM")
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > MaxUnits {
		return 0, false
	}
	return int64(f), true
}

// ednText is a value as a word: for tokens, keys and errors.
func ednText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case ednKeyword:
		return string(v)
	case ednSymbol:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case ednList:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = ednText(v[i])
		}
		return strings.Join(parts, " ")
	}
	return fmt.Sprint(v)
}
