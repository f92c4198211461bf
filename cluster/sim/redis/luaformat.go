package redis

import (
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// format is Lua's string.format.
func (v *vm) format(l *lua.LState) int {
	pattern := l.CheckString(1)
	var out strings.Builder
	next := 1
	for {
		before, rest, found := strings.Cut(pattern, "%")
		out.WriteString(before)
		if !found {
			break
		}
		if strings.HasPrefix(rest, "%") {
			out.WriteByte('%')
			pattern = rest[1:]
			continue
		}
		length := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("-+ #0123456789.", r) })
		if length < 0 || length > 7 {
			v.mark(l)
			l.RaiseError("invalid option '%%' to 'format'")
		}
		next++
		out.WriteString(v.formatOne(l, rest[:length], rest[length], next))
		pattern = rest[length+1:]
	}
	l.Push(lua.LString(out.String()))
	return 1
}

// formatOne formats the argument at an index.
func (v *vm) formatOne(l *lua.LState, flags string, verb byte, at int) string {
	switch verb {
	case 'd', 'i':
		return fmt.Sprintf("%"+flags+"d", truncate(float64(v.number(l, at))))
	case 'u', 'o', 'x', 'X':
		if verb == 'u' {
			verb = 'd'
		}
		return fmt.Sprintf("%"+flags+string(verb), uint64(truncate(float64(v.number(l, at)))))
	case 'e', 'E', 'f', 'g', 'G':
		if !strings.Contains(flags, ".") {
			flags += ".6"
		}
		return fmt.Sprintf("%"+flags+string(verb), float64(v.number(l, at)))
	case 'c':
		return string([]byte{byte(truncate(float64(v.number(l, at))))})
	case 'q':
		return quoted(v.string(l, at))
	case 's':
		return fmt.Sprintf("%"+flags+"s", v.string(l, at))
	}
	v.mark(l)
	l.RaiseError("invalid option '%%%c' to 'format'", verb)
	return ""
}

// number answers an argument that has to be a number, or a string that is
// one.
func (v *vm) number(l *lua.LState, at int) lua.LNumber {
	if text, isText := l.Get(at).(lua.LString); isText {
		if number, isNumber := cNumber(strings.TrimSpace(string(text)), 10); isNumber {
			return lua.LNumber(number)
		}
	}
	return l.CheckNumber(at)
}

// string answers an argument that has to be a string or a number.
func (v *vm) string(l *lua.LState, at int) string {
	value := l.Get(at)
	if !lua.LVCanConvToString(value) {
		v.mark(l)
		l.RaiseError("bad argument #%s to 'format' (string expected, got %s)", strconv.Itoa(at), value.Type().String())
	}
	return v.text(value)
}

// quoted is a string as Lua source.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", "\\\n", "\r", `\r`, "\x00", `\000`).Replace(s) + `"`
}
