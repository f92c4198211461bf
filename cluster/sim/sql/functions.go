package sql

import (
	"fmt"
	"strings"
	"time"
)

// function is one that expressions may call.
type function struct {
	min, max int // arguments
	apply    func(sc *scope, e *expr, args []any) (any, error)
}

// many is more arguments than anybody writes.
const many = 100

// functions are what is modelled. The aggregates are in select.go.
var functions = map[string]function{
	"CONNECTION_ID":     {0, 0, func(sc *scope, _ *expr, _ []any) (any, error) { return sc.s.id, nil }},
	"LAST_INSERT_ID":    {0, 1, lastInsertID},
	"NOW":               {0, 1, now},
	"CURRENT_TIMESTAMP": {0, 1, now},
	"UNIX_TIMESTAMP":    {0, 1, unixTimestamp},
	"IF":                {3, 3, choose},
	"IFNULL":            {2, 2, coalesce},
	"COALESCE":          {1, many, coalesce},
	"GREATEST":          {2, many, extreme(1)},
	"LEAST":             {2, many, extreme(-1)},
	"CONCAT":            {1, many, concat},
	"GET_LOCK":          {2, 2, getLock},
	"RELEASE_LOCK":      {1, 1, releaseLock},
	"RELEASE_ALL_LOCKS": {0, 0, releaseAllLocks},
	"IS_USED_LOCK":      {1, 1, isUsedLock},
	"IS_FREE_LOCK":      {1, 1, isFreeLock},
	"COUNT":             {1, 1, nil},
	"SUM":               {1, 1, nil},
	"MAX":               {1, 1, nil},
	"MIN":               {1, 1, nil},
}

func (sc *scope) call(e *expr) (any, error) {
	f := functions[e.name]
	if f.apply == nil {
		return nil, errorf(1111, "Invalid use of group function")
	}
	args := make([]any, len(e.list))
	for i, a := range e.list {
		var err error
		if args[i], err = sc.eval(a); err != nil {
			return nil, err
		}
	}
	return f.apply(sc, e, args)
}

// lastInsertID with an argument remembers it: the idiom for sequences.
func lastInsertID(sc *scope, _ *expr, args []any) (any, error) {
	if len(args) == 1 {
		n, ok := integer(args[0])
		if !ok {
			return nil, notModelled("LAST_INSERT_ID(%v)", args[0])
		}
		sc.s.lastID = n
	}
	return sc.s.lastID, nil
}

// digits is the precision of NOW(6).
func digits(args []any) (int, error) {
	if len(args) == 0 {
		return 0, nil
	}
	n, ok := args[0].(int64)
	if ok && n > 6 {
		return 0, errorf(1426, "Too big precision specified for 'current_timestamp'. Maximum is 6")
	}
	if !ok || n < 0 {
		return 0, notModelled("NOW(%v)", args[0])
	}
	return int(n), nil
}

func now(sc *scope, _ *expr, args []any) (any, error) {
	n, err := digits(args)
	if err != nil {
		return nil, err
	}
	layout := "2006-01-02 15:04:05"
	if n > 0 {
		layout += "." + strings.Repeat("0", n)
	}
	return sc.s.db.now().UTC().Format(layout), nil
}

// unixTimestamp is modelled for now alone.
func unixTimestamp(sc *scope, e *expr, args []any) (any, error) {
	t := sc.s.db.now()
	if len(args) == 0 {
		return t.Unix(), nil
	}
	call := e.list[0]
	if call.op != opCall || call.name != "NOW" {
		return nil, notModelled("UNIX_TIMESTAMP of anything but NOW()")
	}
	var precision []any
	for _, d := range call.list {
		precision = append(precision, d.value)
	}
	n, err := digits(precision)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return t.Unix(), nil
	}
	micros := fmt.Sprintf("%06d", t.Nanosecond()/int(time.Microsecond))
	return fmt.Sprintf("%d.%s", t.Unix(), micros[:n]), nil
}

func choose(_ *scope, _ *expr, args []any) (any, error) {
	if yes, _ := truthOf(args[0]); yes {
		return args[1], nil
	}
	return args[2], nil
}

func coalesce(_ *scope, _ *expr, args []any) (any, error) {
	for _, a := range args {
		if a != nil {
			return a, nil
		}
	}
	return nil, nil
}

func extreme(want int) func(*scope, *expr, []any) (any, error) {
	return func(_ *scope, _ *expr, args []any) (any, error) {
		best := args[0]
		for _, a := range args[1:] {
			if a == nil || best == nil {
				return nil, nil
			}
			sign, ok := compare(a, best, false)
			if !ok {
				return nil, notModelled("comparing %v with %v", a, best)
			}
			if sign == want {
				best = a
			}
		}
		return best, nil
	}
}

func concat(_ *scope, _ *expr, args []any) (any, error) {
	var b strings.Builder
	for _, a := range args {
		if a == nil {
			return nil, nil
		}
		b.WriteString(textOf(a))
	}
	return b.String(), nil
}
