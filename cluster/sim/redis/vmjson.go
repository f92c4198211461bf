package redis

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openJSON gives scripts cjson: encode, decode and null, as far as plain
// data goes.
func (v *vm) openJSON() {
	library := v.state.NewTable()
	null := v.state.NewUserData()
	library.RawSetString("null", null)
	v.replace(library, "encode", func(l *lua.LState) int {
		e := encoder{v: v, null: null}
		if err := e.encode(l.CheckAny(1), 0); err != nil {
			v.mark(l)
			l.RaiseError("%s", err.Error())
		}
		l.Push(lua.LString(e.out.String()))
		return 1
	})
	v.replace(library, "decode", func(l *lua.LState) int {
		d := decoder{v: v, null: null, in: json.NewDecoder(strings.NewReader(l.CheckString(1)))}
		value, err := d.decode(0)
		if err == nil {
			if _, more := d.in.Token(); !errors.Is(more, io.EOF) {
				err = errors.New("expected the end but found more")
			}
		}
		if err != nil {
			v.mark(l)
			l.RaiseError("%s", err.Error())
		}
		l.Push(value)
		return 1
	})
	v.globals.RawSetString("cjson", v.freeze(library))
}

// jsonDepth is how deep values may be nested, as on the server.
const jsonDepth = 1000

var errTooDeep = errors.New("cannot serialise, excessive depth (1001)")

type encoder struct {
	v    *vm
	null *lua.LUserData
	out  strings.Builder
}

func (e *encoder) encode(value lua.LValue, depth int) error {
	if depth > jsonDepth {
		return errTooDeep
	}
	switch value := value.(type) {
	case lua.LString:
		e.string(string(value))
	case lua.LNumber:
		if math.IsNaN(float64(value)) || math.IsInf(float64(value), 0) {
			return errors.New("cannot serialise number: must not be NaN or Inf")
		}
		e.out.WriteString(luaNumber(float64(value)))
	case lua.LBool, *lua.LNilType:
		e.out.WriteString(strings.Replace(value.String(), "nil", "null", 1))
	case *lua.LTable:
		return e.table(value, depth)
	default:
		if value != lua.LValue(e.null) {
			return fmt.Errorf("cannot serialise %s: type not supported", value.Type())
		}
		e.out.WriteString("null")
	}
	return nil
}

// table is an array if it has positive integer keys alone, else an object.
func (e *encoder) table(t *lua.LTable, depth int) error {
	last, keys := 0, 0
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		keys++
		n, isNumber := key.(lua.LNumber)
		if !isNumber || n < 1 || n != lua.LNumber(int(n)) {
			last = -1
			break
		}
		last = max(last, int(n))
	}
	if last <= 0 {
		return e.object(t, depth)
	}
	if last > 10 && last > 2*keys {
		return errors.New("cannot serialise table: excessively sparse array")
	}
	e.out.WriteByte('[')
	for i := 1; i <= last; i++ {
		if i > 1 {
			e.out.WriteByte(',')
		}
		if err := e.encode(t.RawGetInt(i), depth+1); err != nil {
			return err
		}
	}
	e.out.WriteByte(']')
	return nil
}

func (e *encoder) object(t *lua.LTable, depth int) error {
	e.out.WriteByte('{')
	first := true
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		if !lua.LVCanConvToString(key) {
			return errors.New("cannot serialise table: table key must be a number or string")
		}
		if !first {
			e.out.WriteByte(',')
		}
		first = false
		e.string(e.v.text(key))
		e.out.WriteByte(':')
		if err := e.encode(value, depth+1); err != nil {
			return err
		}
	}
	e.out.WriteByte('}')
	return nil
}

// string is quoted byte by byte: what is not ASCII stays as it is.
func (e *encoder) string(s string) {
	e.out.WriteByte('"')
	for _, c := range []byte(s) {
		if i := strings.IndexByte("\"\\/\b\f\n\r\t", c); i >= 0 {
			e.out.WriteByte('\\')
			e.out.WriteByte(`"\/bfnrt`[i])
		} else if c < ' ' || c == 127 {
			fmt.Fprintf(&e.out, "\\u%04x", c)
		} else {
			e.out.WriteByte(c)
		}
	}
	e.out.WriteByte('"')
}

type decoder struct {
	v    *vm
	null *lua.LUserData
	in   *json.Decoder
}

func (d *decoder) decode(depth int) (lua.LValue, error) {
	token, err := d.in.Token()
	if err != nil {
		return nil, fmt.Errorf("expected value but found invalid token at character %d", d.in.InputOffset()+1)
	}
	switch token := token.(type) {
	case string:
		return lua.LString(token), nil
	case float64:
		return lua.LNumber(token), nil
	case bool:
		return lua.LBool(token), nil
	case json.Delim:
		if depth >= jsonDepth {
			return nil, errors.New("found too many nested data structures (1001)")
		}
		return d.nested(token == '[', depth+1)
	}
	return d.null, nil
}

// nested reads an array or object behind its opening bracket, and the
// closing one.
func (d *decoder) nested(array bool, depth int) (lua.LValue, error) {
	t := d.v.state.NewTable()
	for i := 1; d.in.More(); i++ {
		key := lua.LValue(lua.LNumber(i))
		var err error
		if !array {
			if key, err = d.decode(depth); err != nil {
				return nil, err
			}
		}
		value, err := d.decode(depth)
		if err != nil {
			return nil, err
		}
		t.RawSet(key, value)
	}
	if _, err := d.in.Token(); err != nil {
		return nil, fmt.Errorf("expected the end of a table but found invalid token at character %d", d.in.InputOffset()+1)
	}
	return t, nil
}
