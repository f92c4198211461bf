package histories

import (
	"fmt"
	"io"
	"strconv"
	"strings"
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
	var digits [4]byte
	for i := range digits {
		if digits[i], err = e.byte(); err != nil {
			return e.fail("it ends inside a string")
		}
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return e.fail("unknown escape \\u%q", digits[:])
	}
	e.text.WriteRune(rune(n))
	return nil
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
	if c := word[len(word)-1]; c >= '0' && c <= '9' || c == 'N' {
		if n, err := strconv.ParseInt(strings.TrimSuffix(word, "N"), 10, 64); err == nil {
			return n
		}
	}
	return ednSymbol(word)
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
