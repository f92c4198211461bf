// Package strictjson decodes JSON that people and programs of other people
// wrote, and takes nothing that it would have to pass over in silence.
//
// encoding/json skips fields that it does not know, takes names in any case,
// lets the last of two fields win, and replaces what is not UTF-8. In a format
// that decides verdicts each of these hides a mistake: "deadline" for "until"
// is a lock without a deadline. Here each is an error that names the place and,
// where there is one, the field that was probably meant. Fields whose names
// begin with "x-" are notes of the writer and are passed over.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lockcheck/lockcheck/internal/spelling"
)

// ErrSyntax is wrapped by errors of text that is no JSON at all.
var ErrSyntax = errors.New("not JSON")

// Error is what is wrong at one place of well-formed JSON.
type Error struct {
	Line    int    // from 1
	Path    string // "orders[0].id", "" for the whole
	Problem string
}

// Error names the place and the problem; the line is left to who knows whether
// the text has more than one.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + ": " + e.Problem
}

// Unmarshal decodes data, which must be one JSON value, into v. Of an object
// it answers which fields were there and not null.
func Unmarshal(data []byte, v any) (present map[string]bool, err error) {
	if !utf8.Valid(data) {
		return nil, &Error{lineOf(data, invalidAt(data)), "", "text that is not UTF-8"}
	}
	w := walker{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	w.dec.UseNumber()
	present, err = w.value(reflect.TypeOf(v).Elem(), "")
	if err != nil {
		return nil, err
	}
	if _, err := w.dec.Token(); err != io.EOF {
		return nil, w.syntax(errors.New("more than one value"))
	}
	if half := loneSurrogate(data); half >= 0 {
		return nil, &Error{lineOf(data, half), "", "half of a surrogate pair, which is no character: " + string(data[half:half+6])}
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrSyntax, err)
	}
	return present, nil
}

// walker goes through a value beside its type.
type walker struct {
	data  []byte
	dec   *json.Decoder
	depth int
}

// maxDepth bounds nesting: ours is five deep.
const maxDepth = 64

func (w *walker) fail(path, format string, args ...any) error {
	return &Error{lineOf(w.data, int(w.dec.InputOffset())), path, fmt.Sprintf(format, args...)}
}

// syntax is err, which the decoder found at a token, as encoding/json tells it
// of the whole text: with what it was looking for.
func (w *walker) syntax(err error) error {
	var v any
	if told := json.Unmarshal(w.data, &v); told != nil {
		err = told
	}
	return fmt.Errorf("%w: %w", ErrSyntax, err)
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	anything    = reflect.TypeFor[any]()
)

// value checks the next value against t, which may be any for one that is
// passed over.
func (w *walker) value(t reflect.Type, path string) (map[string]bool, error) {
	if t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(unmarshaler) {
		return nil, w.leaf(t, path)
	}
	if t.Kind() == reflect.Pointer {
		return w.value(t.Elem(), path)
	}
	token, err := w.dec.Token()
	if err != nil {
		return nil, w.syntax(err)
	}
	return w.token(token, t, path)
}

// leaf reads a value whose type knows best what it may be.
func (w *walker) leaf(t reflect.Type, path string) error {
	var raw json.RawMessage
	if err := w.dec.Decode(&raw); err != nil {
		return w.syntax(err)
	}
	if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
		return w.fail(path, "%v", err)
	}
	return nil
}

func (w *walker) token(token json.Token, t reflect.Type, path string) (map[string]bool, error) {
	switch token := token.(type) {
	case json.Delim:
		if w.depth++; w.depth > maxDepth {
			return nil, w.fail(path, "nested deeper than %d", maxDepth)
		}
		defer func() { w.depth-- }()
		if token == '{' {
			return w.object(t, path)
		}
		return nil, w.list(t, path)
	case json.Number:
		return nil, w.number(token, t, path)
	case string:
		if t.Kind() != reflect.String && t != anything {
			return nil, w.fail(path, "want %s, not the text %.40q", wanted(t), token)
		}
	case bool:
		if t.Kind() != reflect.Bool && t != anything {
			return nil, w.fail(path, "want %s, not %v", wanted(t), token)
		}
	}
	return nil, nil // null is absent
}

func (w *walker) number(n json.Number, t reflect.Type, path string) error {
	var err error
	switch {
	case t == anything:
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		_, err = strconv.ParseInt(n.String(), 10, t.Bits())
	case t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64:
		_, err = strconv.ParseUint(n.String(), 10, t.Bits())
	case t.Kind() == reflect.Float64:
		_, err = n.Float64()
	default:
		err = strconv.ErrSyntax
	}
	if err != nil {
		return w.fail(path, "want %s, not %.40s", wanted(t), n)
	}
	return nil
}

// wanted says what a type takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a whole number"
}

func (w *walker) list(t reflect.Type, path string) error {
	elem := anything
	switch {
	case t.Kind() == reflect.Slice:
		elem = t.Elem()
	case t != anything:
		return w.fail(path, "want %s, not a list", wanted(t))
	}
	for i := 0; w.dec.More(); i++ {
		if _, err := w.value(elem, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	if _, err := w.dec.Token(); err != nil {
		return w.syntax(err)
	}
	return nil
}

// object checks the fields of an object, whose brace has been read.
func (w *walker) object(t reflect.Type, path string) (map[string]bool, error) {
	if t != anything && t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return nil, w.fail(path, "want %s, not an object", wanted(t))
	}
	seen, present := map[string]bool{}, map[string]bool{}
	for w.dec.More() {
		token, err := w.dec.Token()
		if err != nil {
			return nil, w.syntax(err)
		}
		name, _ := token.(string)
		if seen[name] {
			return nil, w.fail(path, "field %.40q stands twice", name)
		}
		seen[name] = true
		elem, err := w.fieldType(t, path, name)
		if err != nil {
			return nil, err
		}
		start := w.dec.InputOffset()
		if _, err := w.value(elem, join(path, name)); err != nil {
			return nil, err
		}
		present[name] = !bytes.HasSuffix(w.data[start:w.dec.InputOffset()], []byte("null"))
	}
	if _, err := w.dec.Token(); err != nil {
		return nil, w.syntax(err)
	}
	return present, nil
}

// fieldType is what the named field of t takes.
func (w *walker) fieldType(t reflect.Type, path, name string) (reflect.Type, error) {
	switch {
	case t == anything || strings.HasPrefix(name, "x-"):
		return anything, nil
	case t.Kind() == reflect.Map:
		return t.Elem(), nil
	}
	var names []string
	for f := range t.Fields() {
		known, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if known == name {
			return f.Type, nil
		}
		names = append(names, known)
	}
	problem := fmt.Sprintf("unknown field %.40q", name)
	if near := spelling.Nearest(name, names); near != "" {
		problem += fmt.Sprintf(": did you mean %q?", near)
	} else {
		problem += `: names of notes begin with "x-"`
	}
	return nil, w.fail(path, "%s", problem)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func lineOf(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(offset, len(data))], []byte{'\n'})
}

// invalidAt is where data stops being UTF-8.
func invalidAt(data []byte) int {
	at := 0
	for at < len(data) {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

// loneSurrogate finds an escape like \ud800 without its other half: all of
// them decode to one and the same character, so that keys would collapse.
func loneSurrogate(data []byte) int {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' || i+1 >= len(data) {
			continue
		}
		if data[i+1] != 'u' {
			i++ // an escaped backslash begins no escape
			continue
		}
		first := hex4(data, i)
		second := hex4(data, i+6)
		switch {
		case first >= 0xd800 && first < 0xdc00 && second >= 0xdc00 && second < 0xe000:
			i += 11
		case first >= 0xd800 && first < 0xe000:
			return i
		default:
			i += 5
		}
	}
	return -1
}

// hex4 is the number of the escape at i, -1 if there is none.
func hex4(data []byte, i int) int64 {
	if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
		return -1
	}
	n, err := strconv.ParseInt(string(data[i+2:i+6]), 16, 32)
	if err != nil {
		return -1
	}
	return n
}
