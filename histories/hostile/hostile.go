// Package hostile writes histories that are expensive to judge. Each shape is
// what makes one rule, one exact check or one part of a report look through a
// long list, or search. The shapes are valid: a strict reader takes them, and
// the checker must answer each in little more time than an ordinary history of
// its size takes, or say "unknown" within its budget.
//
// Tests of the checker and of the report hold all shapes to that at a small
// size. The whole table, at up to a million operations, is made by
//
//	go run ./histories/hostile/measure
package hostile

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Shape is a kind of history. Write makes one of about n operations and marks.
type Shape struct {
	Name  string
	About string
	Write func(t *Tape, n int)
}

// Shapes are all shapes. The first two are ordinary: what the others are
// compared with.
var Shapes = append(append(append(ordinary, locks...), stocks...), marks...)

// Named finds a shape, nil if there is none of that name.
func Named(name string) *Shape {
	for i := range Shapes {
		if Shapes[i].Name == name {
			return &Shapes[i]
		}
	}
	return nil
}

// String is the history of about n operations as text.
func (s *Shape) String(n int) string {
	var b strings.Builder
	if err := s.WriteTo(&b, n); err != nil {
		panic(err) // a Builder never fails
	}
	return b.String()
}

// WriteTo writes the history of about n operations.
func (s *Shape) WriteTo(w io.Writer, n int) error {
	t := &Tape{w: bufio.NewWriterSize(w, 1<<20)}
	s.Write(t, n)
	return t.w.Flush()
}

// Tape writes a history line by line. The writer remembers the first error.
type Tape struct {
	w  *bufio.Writer
	op int64
}

// common is a lock with a lease of five seconds.
const common = `{"ttl":5000000000,"grace":1000000000}`

// lease of common, ns.
const lease = 5_000_000_000

// head writes the header. lock is JSON.
func (t *Tape) head(lock string, initial int64) {
	fmt.Fprintf(t.w, `{"format":"lockcheck/1","lock":%s,"initial":%d,"max-delay":0}`+"\n", lock, initial)
}

// call invokes an operation and answers its id. more is JSON fields with a
// comma before each.
func (t *Tape) call(at int64, who int, f, key, more string) int64 {
	t.op++
	fmt.Fprintf(t.w, `{"time":%d,"process":%d,"type":"invoke","f":%q,"op":%d,"key":%q%s}`+"\n", at, who, f, t.op, key, more)
	return t.op
}

// ret completes an operation.
func (t *Tape) ret(at int64, who int, outcome, f string, op int64, more string) {
	fmt.Fprintf(t.w, `{"time":%d,"process":%d,"type":%q,"f":%q,"op":%d%s}`+"\n", at, who, outcome, f, op, more)
}

// took is an ok acquire of lock "l" from at to at+1.
func (t *Tape) took(at int64, who int, token string) {
	t.ret(at+1, who, "ok", "acquire", t.call(at, who, "acquire", "l", ""), named(token))
}

// gave is an ok release of lock "l" from at to at+1.
func (t *Tape) gave(at int64, who int, token string) {
	t.ret(at+1, who, "ok", "release", t.call(at, who, "release", "l", named(token)), "")
}

// mark is something that the nemesis did.
func (t *Tape) mark(at int64, f, more string) {
	fmt.Fprintf(t.w, `{"time":%d,"process":"nemesis","type":"info","f":%q%s}`+"\n", at, f, more)
}

func named(token string) string { return fmt.Sprintf(`,"token":%q`, token) }

func numbered(prefix string, i int) string { return fmt.Sprintf("%s%d", prefix, i) }
