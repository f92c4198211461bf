package sql

import (
	"fmt"
	"math/bits"
	"strconv"
)

// scope is what an expression is evaluated in.
type scope struct {
	s     *Session
	args  []any
	table *table
	row   []any // nil: no row
	fresh []any // what VALUES() means
}

// eval computes an expression: nil, int64 or string (or the float64 of a
// literal).
func (sc *scope) eval(e *expr) (any, error) {
	switch e.op {
	case opValue:
		return e.value, nil
	case opParam:
		return sc.args[e.at], nil
	case opColumn:
		return sc.row[e.at], nil
	case opNew:
		return sc.fresh[e.at], nil
	case opAnd, opOr, opNot:
		return sc.logic(e)
	case opIn:
		return sc.in(e)
	case opCall:
		return sc.call(e)
	case opCountAll:
		return nil, notModelled("COUNT here")
	}
	l, err := sc.eval(e.l)
	if err != nil {
		return nil, err
	}
	switch e.op {
	case opIsNull:
		return truth(l == nil), nil
	case opNegate:
		return sc.arithmetic(&expr{op: opMinus, l: &expr{op: opValue, value: int64(0)}, r: e.l}, int64(0), l)
	}
	r, err := sc.eval(e.r)
	if err != nil {
		return nil, err
	}
	if e.op >= opPlus && e.op <= opTimes {
		return sc.arithmetic(e, l, r)
	}
	return sc.compared(e, l, r)
}

func truth(b bool) any {
	if b {
		return int64(1)
	}
	return int64(0)
}

// truthOf is what a value means as a condition; known is false for NULL.
func truthOf(v any) (yes, known bool) {
	switch v := v.(type) {
	case int64:
		return v != 0, true
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n != 0, true
	}
	return false, false
}

// logic is AND, OR and NOT with three truth values.
func (sc *scope) logic(e *expr) (any, error) {
	l, err := sc.eval(e.l)
	if err != nil {
		return nil, err
	}
	yes, known := truthOf(l)
	switch {
	case e.op == opNot && !known:
		return nil, nil
	case e.op == opNot:
		return truth(!yes), nil
	case known && yes == (e.op == opOr):
		return truth(yes), nil
	}
	r, err := sc.eval(e.r)
	if err != nil {
		return nil, err
	}
	right, rightKnown := truthOf(r)
	switch {
	case rightKnown && right == (e.op == opOr):
		return truth(right), nil
	case !known || !rightKnown:
		return nil, nil
	}
	return truth(right), nil
}

func (sc *scope) compared(e *expr, l, r any) (any, error) {
	if l == nil || r == nil {
		if e.op == opSafeEqual {
			return truth(l == nil && r == nil), nil
		}
		return nil, nil
	}
	sign, ok := compare(l, r, sc.binary(e.l) || sc.binary(e.r))
	if !ok {
		return nil, notModelled("comparing %v with %v", l, r)
	}
	switch e.op {
	case opEqual, opSafeEqual:
		return truth(sign == 0), nil
	case opUnequal:
		return truth(sign != 0), nil
	case opLess:
		return truth(sign < 0), nil
	case opLessEqual:
		return truth(sign <= 0), nil
	case opGreater:
		return truth(sign > 0), nil
	}
	return truth(sign >= 0), nil
}

// binary reports whether e is a column that compares by bytes.
func (sc *scope) binary(e *expr) bool {
	return e.op == opColumn && sc.table.columns[e.at].binary
}

func (sc *scope) in(e *expr) (any, error) {
	unknown := false
	for _, one := range e.list {
		v, err := sc.eval(&expr{op: opEqual, l: e.l, r: one})
		if err != nil {
			return nil, err
		}
		yes, known := truthOf(v)
		if yes {
			return truth(true), nil
		}
		unknown = unknown || !known
	}
	if unknown {
		return nil, nil
	}
	return truth(false), nil
}

func (sc *scope) arithmetic(e *expr, l, r any) (any, error) {
	if l == nil || r == nil {
		return nil, nil
	}
	a, okA := integer(l)
	b, okB := integer(r)
	if !okA || !okB {
		return nil, notModelled("arithmetic with %v and %v", l, r)
	}
	n, ok := compute(e.op, a, b)
	unsigned := sc.unsigned(e)
	if !ok || unsigned && n < 0 {
		kind := "BIGINT"
		if unsigned {
			kind = "BIGINT UNSIGNED"
		}
		return nil, errorf(1690, "%s value is out of range in '%s'", kind, sc.print(e))
	}
	return n, nil
}

func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// compute answers ok = false where the result does not fit.
func compute(o op, a, b int64) (n int64, ok bool) {
	switch o {
	case opPlus:
		n = a + b
		return n, (n > a) == (b > 0)
	case opMinus:
		n = a - b
		return n, (n < a) == (b > 0)
	}
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0)
	if high != 0 || low > 1<<63 || low == 1<<63 && !negative {
		return 0, false
	}
	if negative {
		return -int64(low), true
	}
	return int64(low), true
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// unsigned reports whether the server computes e without a sign: when one of
// its columns has none.
func (sc *scope) unsigned(e *expr) bool {
	switch {
	case e == nil:
		return false
	case e.op == opColumn || e.op == opNew:
		return sc.table != nil && sc.table.columns[e.at].unsigned
	case e.op >= opPlus && e.op <= opTimes:
		return sc.unsigned(e.l) || sc.unsigned(e.r)
	}
	return false
}

// print writes an expression as error messages of the server do.
func (sc *scope) print(e *expr) string {
	signs := map[op]string{opPlus: "+", opMinus: "-", opTimes: "*"}
	switch {
	case e.op == opColumn:
		return fmt.Sprintf("`%s`.`%s`.`%s`", Schema, sc.table.name, e.name)
	case e.op == opNew:
		return fmt.Sprintf("value(`%s`.`%s`.`%s`)", Schema, sc.table.name, e.name)
	case signs[e.op] != "":
		return sc.operand(e.l, e.op, false) + " " + signs[e.op] + " " + sc.operand(e.r, e.op, true)
	}
	if v, err := sc.eval(e); err == nil {
		if s, ok := v.(string); ok {
			return "'" + s + "'"
		}
		return textOf(v)
	}
	return e.name
}

// operand writes a part of a computation, in parentheses where they matter.
func (sc *scope) operand(e *expr, of op, right bool) string {
	sum := e.op == opPlus || e.op == opMinus
	if sum && (of == opTimes || right) || e.op == opTimes && of == opTimes && right {
		return "(" + sc.print(e) + ")"
	}
	return sc.print(e)
}

// holds reports whether a condition is met; NULL is not.
func (sc *scope) holds(where *expr) (bool, error) {
	if where == nil {
		return true, nil
	}
	v, err := sc.eval(where)
	yes, _ := truthOf(v)
	return yes, err
}
