package redis

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// redisCall is redis.call, and redis.pcall, which does not raise errors.
func (v *vm) redisCall(l *lua.LState, raise bool) int {
	v.fuse.left -= callInstructions
	reply := v.collect(l)
	if reply == nil {
		reply = v.k.callFromScript(v.args)
	}
	if message, isError := reply.(Error); isError && raise {
		return v.throw(l, string(message))
	}
	l.Push(v.value(reply))
	return 1
}

// collect takes the arguments of a call: strings, and numbers as %.17g. It
// answers what is wrong with them, or nil.
func (v *vm) collect(l *lua.LState) any {
	n := l.GetTop()
	if n == 0 {
		return Error("ERR Please specify at least one argument for this redis lib call")
	}
	v.args = v.args[:0]
	for i := 1; i <= n; i++ {
		switch arg := l.Get(i).(type) {
		case lua.LString:
			v.args = append(v.args, string(arg))
		case lua.LNumber:
			v.args = append(v.args, formatFloat(float64(arg)))
		default:
			return Error("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	return nil
}

// value turns a reply into what scripts see of it.
func (v *vm) value(reply any) lua.LValue {
	switch r := reply.(type) {
	case string:
		return lua.LString(r)
	case int64:
		return lua.LNumber(r)
	case status:
		return v.field("ok", string(r))
	case Error:
		return v.field("err", string(r))
	case []any:
		t := v.state.CreateTable(len(r), 0)
		for i, item := range r {
			t.RawSetInt(i+1, v.value(item))
		}
		return t
	}
	return lua.LFalse
}

// conversion turns what a script returns into a reply. The budget is how
// many values it may have, so that tables within themselves end.
type conversion struct{ budget int }

const (
	replyLimit = 1_000_000
	replyDepth = 1_000
)

func (c *conversion) reply(returned lua.LValue, depth int) any {
	if c.budget--; c.budget < 0 || depth > replyDepth {
		return Error("ERR reached lua stack limit")
	}
	switch value := returned.(type) {
	case lua.LString:
		return string(value)
	case lua.LNumber:
		return truncate(float64(value))
	case lua.LBool:
		if value {
			return int64(1)
		}
	case *lua.LTable:
		return c.tableReply(value, depth)
	}
	return nil
}

func (c *conversion) tableReply(t *lua.LTable, depth int) any {
	if message, isText := t.RawGetString("err").(lua.LString); isText {
		return Error(oneErrorLine(string(message)))
	}
	if message, isText := t.RawGetString("ok").(lua.LString); isText {
		return status(strings.Map(unbroken, string(message)))
	}
	if number, isNumber := t.RawGetString("double").(lua.LNumber); isNumber {
		return formatFloat(float64(number))
	}
	items := []any{}
	for i := 1; ; i++ {
		item := t.RawGetInt(i)
		if item == lua.LNil {
			return items
		}
		items = append(items, c.reply(item, depth+1))
	}
}

// unbroken keeps line ends out of replies of one line.
func unbroken(r rune) rune {
	if r == '\r' || r == '\n' {
		return ' '
	}
	return r
}

func oneErrorLine(message string) string {
	return strings.Map(unbroken, strings.TrimRight(message, "\r\n"))
}

// truncate turns a Lua number into an integer as a C cast does on amd64.
func truncate(f float64) int64 {
	if math.IsNaN(f) || f >= math.MaxInt64 || f < math.MinInt64 {
		return math.MinInt64
	}
	return int64(f)
}

// errorReply is the message of redis.error_reply: a text without a code
// keeps its first word as the code, as on the server; a single word gets
// ERR.
func errorReply(text string) string {
	text = strings.Trim(strings.TrimPrefix(text, "-"), "\r\n")
	if !strings.Contains(text, " ") {
		return "ERR " + text
	}
	return text
}

// text is what Lua's tostring shows. Tables and functions have no address
// here, since that would differ from run to run.
func (v *vm) text(value lua.LValue) string {
	switch value := value.(type) {
	case lua.LNumber:
		return luaNumber(float64(value))
	case lua.LString:
		return string(value)
	case lua.LBool, *lua.LNilType:
		return value.String()
	}
	return value.Type().String() + ": 0x0"
}

// luaNumber shows a number as Lua 5.1 does: %.14g.
func luaNumber(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return formatFloat(f)
	}
	return strconv.FormatFloat(f, 'g', 14, 64)
}

func (v *vm) toString(l *lua.LState) int {
	value := l.CheckAny(1)
	if f, isFunction := l.GetMetaField(value, "__tostring").(*lua.LFunction); isFunction {
		l.Push(f)
		l.Push(value)
		l.Call(1, 1)
		return 1
	}
	l.Push(lua.LString(v.text(value)))
	return 1
}
