package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
)

// mutant is one change of one file: Old becomes New. Old is all or part of node.
type mutant struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Old    string `json:"old"`
	New    string `json:"new"`
	node   ast.Node
	from   int // offset of Old
	kind   kind
}

// kind of a mutant.
type kind int

const (
	exchanged kind = iota
	leftDropped
	rightDropped
)

// neighbours are operators that a slip of the pen exchanges.
var neighbours = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.EQL: "!=", token.NEQ: "==", token.LAND: "||", token.LOR: "&&",
	token.ADD: "-", token.SUB: "+",
}

// source is a parsed file.
type source struct {
	name string
	text string
	set  *token.FileSet
	tree *ast.File
	all  []mutant
}

func parse(name string) (*source, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	s := &source{name: name, text: string(text), set: token.NewFileSet()}
	if s.tree, err = parser.ParseFile(s.set, name, text, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		if d, ok := n.(*ast.GenDecl); ok && (d.Tok == token.CONST || d.Tok == token.IMPORT) {
			return false
		}
		s.mutate(n)
		return true
	})
	return s, nil
}

func (s *source) offset(p token.Pos) int { return s.set.Position(p).Offset }

// add a mutant: within node, from..to becomes with.
func (s *source) add(node ast.Node, k kind, from, to token.Pos, with string) {
	at := s.set.Position(from)
	s.all = append(s.all, mutant{File: s.name, Line: at.Line, Column: at.Column, Old: s.text[at.Offset:s.offset(to)], New: with, node: node, from: at.Offset, kind: k})
}

// alone is the text of the file with one mutant in place.
func (s *source) alone(m mutant) string {
	return s.text[:m.from] + m.New + s.text[m.from+len(m.Old):]
}

// mutate adds the mutants of one node.
func (s *source) mutate(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		s.mutateBinary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			s.add(n, exchanged, n.OpPos, n.OpPos+1, "")
		}
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "min" || name.Name == "max") {
			s.add(n, exchanged, name.Pos(), name.End(), map[string]string{"min": "max", "max": "min"}[name.Name])
		}
	case *ast.BranchStmt:
		if n.Label == nil && n.Tok == token.CONTINUE {
			s.add(n, exchanged, n.Pos(), n.End(), "break")
		}
	case *ast.ReturnStmt:
		for _, r := range n.Results {
			if name, ok := r.(*ast.Ident); ok && (name.Name == "true" || name.Name == "false") {
				s.add(name, exchanged, name.Pos(), name.End(), strconv.FormatBool(name.Name != "true"))
			}
		}
	}
}

func (s *source) mutateBinary(n *ast.BinaryExpr) {
	with, ok := neighbours[n.Op]
	if !ok || wording(n) {
		return
	}
	s.add(n, exchanged, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), with)
	switch n.Op {
	case token.LAND, token.LOR: // a condition is forgotten
		s.add(n, leftDropped, n.X.Pos(), n.Y.Pos(), "")
		s.add(n, rightDropped, n.X.End(), n.Y.End(), "")
	case token.ADD, token.SUB: // a summand is
		s.add(n, rightDropped, n.X.End(), n.Y.End(), "")
	}
}

// wording is a sum of strings.
func wording(n *ast.BinaryExpr) bool {
	if n.Op != token.ADD {
		return false
	}
	text := false
	ast.Inspect(n, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		text = text || ok && l.Kind == token.STRING
		return true
	})
	return text
}

// key tells mutants of one version apart.
func (m *mutant) key() string {
	return strings.Join([]string{m.File, strconv.Itoa(m.Line), strconv.Itoa(m.Column), m.Old, m.New}, "\x00")
}
