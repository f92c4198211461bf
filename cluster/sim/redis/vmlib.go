package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// open gives scripts their libraries: what Redis 7.0 gives them, without
// bit, cmsgpack, struct, os.clock, load and coroutines, which no lock design
// needs and of which some are not deterministic.
func (v *vm) open() {
	l := v.state
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenString, lua.OpenTable, lua.OpenMath} {
		l.Push(l.NewFunction(open))
		l.Call(0, 0)
	}
	library := l.Get(lua.GlobalsIndex).(*lua.LTable)
	v.globals = l.NewTable()
	for _, name := range []string{
		"assert", "getmetatable", "ipairs", "next", "pairs", "rawequal", "rawget",
		"select", "type", "unpack", "xpcall", "_VERSION",
	} {
		v.globals.RawSetString(name, library.RawGetString(name))
	}
	v.replace(v.globals, "error", v.raise)
	v.replace(v.globals, "tostring", v.toString)
	v.replace(v.globals, "tonumber", v.toNumber)
	v.replace(v.globals, showName, v.show)
	v.replace(v.globals, "pcall", v.pcall)
	for _, name := range []string{"rawset", "setmetatable"} {
		v.globals.RawSetString(name, v.guarded(library.RawGetString(name)))
	}
	v.openString(library.RawGetString("string").(*lua.LTable))
	v.openTable(library.RawGetString("table").(*lua.LTable))
	v.openMath(library.RawGetString("math").(*lua.LTable))
	v.openRedis()
	v.openJSON()
	missing := l.NewTable()
	v.replace(missing, "__index", func(l *lua.LState) int {
		v.mark(l)
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", v.text(l.Get(2)))
		return 0
	})
	v.globals.Metatable = missing
	l.Env = v.freeze(v.globals)
	v.globals.RawSetString("_G", l.Env)
}

func (v *vm) replace(t *lua.LTable, name string, f lua.LGFunction) {
	t.RawSetString(name, v.state.NewFunction(f))
}

// freeze answers an empty table that reads through to t and refuses writes.
func (v *vm) freeze(t *lua.LTable) *lua.LTable {
	shown, meta := v.state.NewTable(), v.state.NewTable()
	meta.RawSetString("__index", t)
	meta.RawSetString("__metatable", lua.LFalse)
	v.replace(meta, "__newindex", v.refuse)
	shown.Metatable = meta
	v.frozen[shown] = true
	return shown
}

const readOnlyTable = "Attempt to modify a readonly table"

func (v *vm) refuse(l *lua.LState) int {
	v.mark(l)
	l.RaiseError(readOnlyTable)
	return 0
}

// guarded keeps a function that goes round __newindex from frozen tables.
func (v *vm) guarded(f lua.LValue) lua.LValue {
	inner := f.(*lua.LFunction).GFunction
	return v.state.NewFunction(func(l *lua.LState) int {
		if t, isTable := l.Get(1).(*lua.LTable); isTable && v.frozen[t] {
			v.mark(l)
			l.Error(lua.LString(readOnlyTable), 0)
		}
		return inner(l)
	})
}

func (v *vm) openString(library *lua.LTable) {
	library.RawSetString("__index", lua.LNil)
	library.RawSetString("dump", lua.LNil)
	v.replace(library, "format", v.format)
	repeat := library.RawGetString("rep").(*lua.LFunction).GFunction
	v.replace(library, "rep", func(l *lua.LState) int {
		if n := l.CheckInt(2); n > 0 && len(l.CheckString(1)) > longest/n {
			l.RaiseError("resulting string too large")
		}
		return repeat(l)
	})
	frozen := v.freeze(library)
	v.globals.RawSetString("string", frozen)
	// Strings have methods, which must not be a way to change the library.
	meta, shown := v.state.NewTable(), v.state.NewTable()
	meta.RawSetString("__index", library)
	shown.RawSetString("__index", frozen)
	meta.RawSetString("__metatable", v.freeze(shown))
	v.state.SetMetatable(lua.LString(""), meta)
}

func (v *vm) openTable(library *lua.LTable) {
	for _, name := range []string{"insert", "remove", "sort"} {
		library.RawSetString(name, v.guarded(library.RawGetString(name)))
	}
	v.replace(library, "concat", v.concat(library.RawGetString("concat").(*lua.LFunction).GFunction))
	v.globals.RawSetString("table", v.freeze(library))
}

// initialSeed is the server's, drand48 unseeded.
const initialSeed = 0x1234ABCD330E

// random is lrand48, as the server has it instead of C's rand.
func (v *vm) random() float64 {
	v.seed = (v.seed*0x5DEECE66D + 0xB) & (1<<48 - 1)
	return float64(v.seed>>17%math.MaxInt32) / math.MaxInt32
}

func (v *vm) openMath(library *lua.LTable) {
	v.replace(library, "random", func(l *lua.LState) int {
		r := v.random()
		low, high := 1, 0
		switch l.GetTop() {
		case 0:
			l.Push(lua.LNumber(r))
			return 1
		case 1:
			high = l.CheckInt(1)
		case 2:
			low, high = l.CheckInt(1), l.CheckInt(2)
		default:
			l.RaiseError("wrong number of arguments")
		}
		if low > high {
			l.ArgError(l.GetTop(), "interval is empty")
		}
		l.Push(lua.LNumber(math.Floor(r*float64(high-low+1)) + float64(low)))
		return 1
	})
	v.replace(library, "randomseed", func(l *lua.LState) int {
		v.seed = uint64(uint32(l.CheckInt(1)))<<16 + 0x330E
		return 0
	})
	library.RawSetString("huge", lua.LNumber(math.Inf(1)))
	v.globals.RawSetString("math", v.freeze(library))
}

// raise is Lua's error, which also remembers its line.
func (v *vm) raise(l *lua.LState) int {
	v.mark(l)
	level := l.OptInt(2, 1)
	object := l.Get(1)
	if text, isText := object.(lua.LString); isText && level > 0 {
		object = lua.LString(l.Where(level)+" ") + text
	}
	l.Error(object, 0)
	return 0
}

// pcall is the server's: of an error that is a table with a message, as
// redis.call raises them, the script gets the message.
func (v *vm) pcall(l *lua.LState) int {
	l.CheckAny(1)
	err := l.PCall(l.GetTop()-1, lua.MultRet, nil)
	if err == nil {
		l.Insert(lua.LTrue, 1)
		return l.GetTop()
	}
	object := lua.LValue(lua.LString(err.Error()))
	if raised, isRaised := errors.AsType[*lua.ApiError](err); isRaised {
		object = raised.Object
	}
	if t, isTable := object.(*lua.LTable); isTable {
		if message := t.RawGetString("err"); lua.LVCanConvToString(message) {
			object = message
		}
	}
	l.Push(lua.LFalse)
	l.Push(object)
	return 2
}

func (v *vm) openRedis() {
	library := v.state.NewTable()
	v.replace(library, "call", func(l *lua.LState) int { return v.redisCall(l, true) })
	v.replace(library, "pcall", func(l *lua.LState) int { return v.redisCall(l, false) })
	v.replace(library, "error_reply", func(l *lua.LState) int { return v.single(l, "err") })
	v.replace(library, "status_reply", func(l *lua.LState) int { return v.single(l, "ok") })
	v.replace(library, "sha1hex", func(l *lua.LState) int {
		if l.GetTop() != 1 {
			return v.throw(l, "ERR wrong number of arguments")
		}
		sum := sha1.Sum([]byte(v.text(l.Get(1))))
		l.Push(lua.LString(hex.EncodeToString(sum[:])))
		return 1
	})
	// The server's log is not kept.
	v.replace(library, "log", func(l *lua.LState) int {
		if l.GetTop() < 2 {
			return v.throw(l, "ERR redis.log() requires two arguments or more.")
		}
		return 0
	})
	// Scripts are always replicated by their effects.
	v.replace(library, "replicate_commands", func(l *lua.LState) int {
		l.Push(lua.LTrue)
		return 1
	})
	for level, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		library.RawSetString(name, lua.LNumber(level))
	}
	v.globals.RawSetString("redis", v.freeze(library))
}

// single makes {err=…} or {ok=…} of a string.
func (v *vm) single(l *lua.LState, field string) int {
	text, isText := l.Get(1).(lua.LString)
	if l.GetTop() != 1 || !isText {
		l.Push(v.field("err", "ERR wrong number or type of arguments"))
		return 1
	}
	message := string(text)
	if field == "err" {
		message = errorReply(message)
	}
	l.Push(v.field(field, message))
	return 1
}

func (v *vm) field(name, content string) *lua.LTable {
	t := v.state.NewTable()
	t.RawSetString(name, lua.LString(content))
	return t
}

// throw raises an error that is a table, as redis.call does.
func (v *vm) throw(l *lua.LState, message string) int {
	v.mark(l)
	l.Error(v.field("err", message), 0)
	return 0
}
