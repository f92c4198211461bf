package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// switches are added to a woven package. Each function does what the operator
// does that it replaces, unless the mutant to play is its own.
const switches = `package %s

import (
	"cmp"
	"os"
	"slices"
	"strconv"
)

var mutantNow, _ = strconv.Atoi(os.Getenv("MUTANT"))

func mutantIs(id int) bool { return mutantNow == id }

type mutantNumber interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

func mutantSum[T mutantNumber](exchanged, dropped int, plus bool, x, y T) T {
	if mutantNow == dropped {
		return x
	}
	if plus != (mutantNow == exchanged) {
		return x + y
	}
	return x - y
}

func mutantLeast[T cmp.Ordered](exchanged int, least bool, of ...T) T {
	if least != (mutantNow == exchanged) {
		return slices.Min(of)
	}
	return slices.Max(of)
}
`

// edit is a node that some mutants change, by kind.
type edit struct {
	node     ast.Node
	from, to int
	ids      map[kind]int
	mutants  map[kind]mutant
}

// weave is the text of a file with mutants in it, each under its number.
func (s *source) weave(numbered map[int]mutant) string {
	at := map[ast.Node]*edit{}
	for id, m := range numbered {
		e := at[m.node]
		if e == nil {
			e = &edit{m.node, s.offset(m.node.Pos()), s.offset(m.node.End()), map[kind]int{}, map[kind]mutant{}}
			at[m.node] = e
		}
		e.ids[m.kind], e.mutants[m.kind] = id, m
	}
	outerFirst := func(a, b *edit) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) }
	return s.render(0, len(s.text), slices.SortedFunc(maps.Values(at), outerFirst))
}

// render is the text from..to with the edits that lie in it.
func (s *source) render(from, to int, edits []*edit) string {
	var b strings.Builder
	for i, e := range edits {
		if e.from < from || e.to > to { // in one that was rendered, or not in the text
			continue
		}
		b.WriteString(s.text[from:e.from])
		b.WriteString(s.choice(e, edits[i+1:]))
		from = e.to
	}
	b.WriteString(s.text[from:to])
	return b.String()
}

// choice is a node that is what it was, or what one of its mutants makes of it.
func (s *source) choice(e *edit, inner []*edit) string {
	part := func(n ast.Node) string { return s.render(s.offset(n.Pos()), s.offset(n.End()), inner) }
	switch n := e.node.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.ADD || n.Op == token.SUB {
			return fmt.Sprintf("mutantSum(%d, %d, %t, %s, %s)", e.id(exchanged), e.id(rightDropped), n.Op == token.ADD, part(n.X), part(n.Y))
		}
		return e.truth(part(n.X), n.Op.String(), part(n.Y))
	case *ast.UnaryExpr: // a not is dropped
		return fmt.Sprintf("((%s) == mutantIs(%d))", part(n.X), e.id(exchanged))
	case *ast.CallExpr:
		of := s.render(s.offset(n.Lparen)+1, s.offset(n.Rparen), inner)
		return fmt.Sprintf("mutantLeast(%d, %t, %s)", e.id(exchanged), e.mutants[exchanged].Old == "min", of)
	case *ast.BranchStmt:
		return fmt.Sprintf("if mutantIs(%d) { break } else { continue }", e.id(exchanged))
	default: // true, or false
		return fmt.Sprintf("(%s != mutantIs(%d))", e.mutants[exchanged].Old, e.id(exchanged))
	}
}

// id of the mutant of a kind; none is never played.
func (e *edit) id(k kind) int {
	if id, ok := e.ids[k]; ok {
		return id
	}
	return -1
}

// truth is "x op y" or one of its mutants.
func (e *edit) truth(x, op, y string) string {
	var others, none strings.Builder
	for k, id := range e.ids {
		text := map[kind]string{exchanged: x + " " + e.mutants[exchanged].New + " " + y, leftDropped: y, rightDropped: x}[k]
		fmt.Fprintf(&others, "mutantIs(%d) && (%s) || ", id, text)
		fmt.Fprintf(&none, "!mutantIs(%d) && ", id)
	}
	return fmt.Sprintf("(%s%s(%s %s %s))", others.String(), none.String(), x, op, y)
}
