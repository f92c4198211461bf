package histories

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of one EDN form: a history has flat maps.
const (
	ednDepth = 32
	ednSize  = MaxLine
)

// errEDN is wrapped by errors of EDN syntax.
var errEDN = errors.New("not EDN")

// ednReader reads EDN, one form after the other. It is not a full reader: it
// reads what Jepsen prints. A general package would decode a whole vector at
// once, so that a history of a million operations is in memory twice, follow
// any depth of nesting, and not tell lines.
type ednReader struct {
	r     *bufio.Reader
	line  int // of the next byte, from 1
	depth int
	size  int // bytes of the form at hand
	text  strings.Builder
}

// The values of EDN that a history needs: nil, bool, int64, string, and these.
type (
	ednKeyword string
	ednSymbol  string // also numbers that are not whole, and characters: as written
	ednList    []any  // vector, list or set
	ednMap     map[any]any
)

// ednEnd is a closing bracket where a form was wanted.
type ednEnd byte

func newEDNReader(r io.Reader) *ednReader {
	return &ednReader{r: bufio.NewReaderSize(r, 1<<16), line: 1}
}

func (e *ednReader) fail(format string, args ...any) error {
	return &LineError{e.line, fmt.Errorf("%w: %s", errEDN, fmt.Sprintf(format, args...))}
}

// byte is the next byte, io.EOF at the end.
func (e *ednReader) byte() (byte, error) {
	c, err := e.r.ReadByte()
	if err != nil {
		return 0, err
	}
	if c == '\n' {
		e.line++
	}
	if e.size++; e.size > ednSize {
		return 0, &LineError{e.line, fmt.Errorf("form longer than %d MiB", ednSize>>20)}
	}
	return c, nil
}

func (e *ednReader) back(c byte) {
	e.r.UnreadByte() // never fails after ReadByte
	e.size--
	if c == '\n' {
		e.line--
	}
}

// space skips white space and comments, and answers the byte after them.
func (e *ednReader) space() (byte, error) {
	for {
		c, err := e.byte()
		switch {
		case err != nil:
			return 0, err
		case c == ';':
			for c != '\n' {
				if c, err = e.byte(); err != nil {
					return 0, err
				}
				e.size = min(e.size, ednSize-1) // a comment may be long
			}
		case !ednSpace(c):
			return c, nil
		}
	}
}

func ednSpace(c byte) bool { return c <= ' ' || c == ',' }

// form reads one form; a closing bracket is an ednEnd.
func (e *ednReader) form() (any, error) {
	c, err := e.space()
	if err != nil {
		return nil, err
	}
	switch c {
	case '{':
		return e.mapping()
	case '[', '(':
		return e.list("])")
	case '}', ']', ')':
		return ednEnd(c), nil
	case '"':
		return e.string()
	case '#':
		return e.dispatch()
	case '\'', '`', '~', '^', '@':
		return nil, e.fail("%q is no data", c)
	}
	word, err := e.word(c)
	if err != nil {
		return nil, err
	}
	return ednAtom(word), nil
}

// inner reads a form inside another, or its end.
func (e *ednReader) inner() (any, error) {
	v, err := e.form()
	if err == io.EOF {
		return nil, e.fail("it ends inside a form")
	}
	return v, err
}

// enter counts nesting. A missing limit would be paid with the stack.
func (e *ednReader) enter() error {
	if e.depth++; e.depth > ednDepth {
		return e.fail("nested deeper than %d", ednDepth)
	}
	return nil
}

// list reads up to one of the closing brackets.
func (e *ednReader) list(closing string) (any, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer func() { e.depth-- }()
	list := ednList{}
	for {
		v, err := e.inner()
		if err != nil {
			return nil, err
		}
		if end, ok := v.(ednEnd); ok {
			if strings.IndexByte(closing, byte(end)) < 0 {
				return nil, e.fail("a list or set ends with %q", byte(end))
			}
			return list, nil
		}
		list = append(list, v)
	}
}

func (e *ednReader) mapping() (any, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer func() { e.depth-- }()
	m := ednMap{}
	for {
		key, err := e.inner()
		if err != nil {
			return nil, err
		}
		if end, ok := key.(ednEnd); ok {
			if end != '}' {
				return nil, e.fail("a map ends with %q", byte(end))
			}
			return m, nil
		}
		value, err := e.inner()
		if err != nil {
			return nil, err
		}
		if end, ok := value.(ednEnd); ok {
			return nil, e.fail("%q where the value of %s was wanted", byte(end), ednText(key))
		}
		switch key.(type) {
		case ednList, ednMap:
			key = ednText(key) // no such key matters here
		}
		m[key] = value
	}
}

// dispatch reads what begins with #: a set, a discarded form, a tagged value.
// Tags say nothing that a history needs: the value counts.
func (e *ednReader) dispatch() (any, error) {
	c, err := e.byte()
	if err != nil {
		return nil, e.fail("it ends after #")
	}
	switch {
	case c == '{':
		return e.list("}")
	case c == '_':
		return e.discard()
	case c == '"':
		return e.string() // a pattern
	case c == '#': // ##NaN
		return e.atomAfter('#')
	}
	if _, err := e.word(c); err != nil {
		return nil, err
	}
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer func() { e.depth-- }()
	v, err := e.inner()
	if end, ok := v.(ednEnd); ok {
		return nil, e.fail("a tag before %q", byte(end))
	}
	return v, err
}

func (e *ednReader) discard() (any, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	v, err := e.inner()
	e.depth--
	if err != nil {
		return nil, err
	}
	if end, ok := v.(ednEnd); ok {
		return nil, e.fail("nothing to discard before %q", byte(end))
	}
	if err := e.enter(); err != nil { // #_#_#_… must end somewhere
		return nil, err
	}
	defer func() { e.depth-- }()
	return e.form()
}

func (e *ednReader) atomAfter(c byte) (any, error) {
	word, err := e.word(c)
	return ednSymbol(word), err
}

// word reads up to the next space, bracket or string.
func (e *ednReader) word(first byte) (string, error) {
	e.text.Reset()
	e.text.WriteByte(first)
	for {
		c, err := e.byte()
		switch {
		case err == io.EOF:
			return e.text.String(), nil
		case err != nil:
			return "", err
		case first == '\\' && e.text.Len() == 1: // a character, whatever it is
		case ednSpace(c) || strings.IndexByte("{}[]()\";", c) >= 0:
			e.back(c)
			return e.text.String(), nil
		}
		e.text.WriteByte(c)
	}
}
