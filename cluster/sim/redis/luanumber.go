package redis

import (
	"reflect"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// The interpreter shows numbers otherwise than Lua 5.1 does: 1e15 as
// 1000000000000000 where the server's Lua shows 1e+15. Scripts that build
// strings from microseconds trip over that on a real server, so they have to
// trip here. This file makes numbers in strings those of Lua 5.1.

// showName is a global that no script can name: see exactConcat.
const showName = "\x00show"

// exactConcat wraps each operand of .. that may be a number into a call of
// the hidden function, which turns numbers into strings as Lua 5.1 does.
func exactConcat(chunk []ast.Stmt) {
	for _, statement := range chunk {
		visit(reflect.ValueOf(statement))
	}
}

var concatType = reflect.TypeFor[*ast.StringConcatOpExpr]()

// visit goes through a syntax tree, whatever its nodes are.
func visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		visit(v.Elem())
	case reflect.Pointer:
		visit(v.Elem())
		if v.Type() == concatType && !v.IsNil() {
			concat := v.Interface().(*ast.StringConcatOpExpr)
			concat.Lhs, concat.Rhs = showing(concat.Lhs), showing(concat.Rhs)
		}
	case reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				visit(v.Field(i))
			}
		}
	}
}

func showing(operand ast.Expr) ast.Expr {
	switch operand.(type) {
	case *ast.StringExpr, *ast.StringConcatOpExpr:
		return operand
	}
	name := &ast.IdentExpr{Value: showName}
	call := &ast.FuncCallExpr{Func: name, Args: []ast.Expr{operand}, AdjustRet: true}
	for _, node := range []ast.Expr{name, call} {
		node.SetLine(operand.Line())
		node.SetLastLine(operand.LastLine())
	}
	return call
}

// longest is how long a string of a script may grow by joining: a script
// that doubles one forever must not take the whole memory.
const longest = 64 << 20

// show is the hidden function.
func (v *vm) show(l *lua.LState) int {
	value := shown(l.Get(1))
	if text, isText := value.(lua.LString); isText && len(text) > longest {
		v.mark(l)
		l.RaiseError("string length overflow")
	}
	l.Push(value)
	return 1
}

// shown turns a number into a string and leaves the rest alone.
func shown(value lua.LValue) lua.LValue {
	if number, isNumber := value.(lua.LNumber); isNumber {
		return lua.LString(luaNumber(float64(number)))
	}
	return value
}

// concat is table.concat: it shows the numbers of a table, then joins.
func (v *vm) concat(join lua.LGFunction) lua.LGFunction {
	return func(l *lua.LState) int {
		from, to := l.CheckTable(1), l.NewTable()
		for i := 1; i <= from.Len(); i++ {
			to.RawSetInt(i, shown(from.RawGetInt(i)))
		}
		l.Replace(1, to)
		return join(l)
	}
}

// toNumber is Lua's tonumber, with C's idea of what a number is.
func (v *vm) toNumber(l *lua.LState) int {
	base := l.OptInt(2, 10)
	value := l.CheckAny(1)
	text, isText := value.(lua.LString)
	switch {
	case base == 10 && value.Type() == lua.LTNumber:
		l.Push(value)
		return 1
	case !isText:
		l.Push(lua.LNil)
		return 1
	}
	if number, isNumber := cNumber(strings.Trim(string(text), " \t\n\v\f\r"), base); isNumber {
		l.Push(lua.LNumber(number))
	} else {
		l.Push(lua.LNil)
	}
	return 1
}

func cNumber(text string, base int) (float64, bool) {
	if base != 10 {
		n, err := strconv.ParseInt(text, base, 64)
		return float64(n), err == nil
	}
	if strings.Contains(text, "_") {
		return 0, false
	}
	lower := strings.ToLower(text)
	digits, isHex := strings.CutPrefix(strings.TrimLeft(lower, "+-"), "0x")
	if isHex && !strings.ContainsAny(digits, ".p") {
		n, err := strconv.ParseUint(digits, 16, 64)
		if strings.HasPrefix(text, "-") {
			return -float64(n), err == nil
		}
		return float64(n), err == nil
	}
	number, err := strconv.ParseFloat(text, 64)
	// A number out of range is infinite, as in C.
	return number, err == nil || strings.Contains(err.Error(), strconv.ErrRange.Error())
}
