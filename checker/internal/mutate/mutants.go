package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
)

// mutant is one change of one file: the bytes from..to become new.
type mutant struct {
	file     string
	line     int
	from, to int
	old, new string
}

// neighbours are operators that a slip of the pen exchanges.
var neighbours = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.EQL: "!=", token.NEQ: "==", token.LAND: "||", token.LOR: "&&",
	token.ADD: "-", token.SUB: "+",
}

// mutantsOf are all mutants of a file.
func mutantsOf(file string) ([]mutant, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, text, 0)
	if err != nil {
		return nil, err
	}
	var all []mutant
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	add := func(from, to int, with string) {
		all = append(all, mutant{file: file, line: set.Position(tree.FileStart + token.Pos(from)).Line, from: from, to: to, old: string(text[from:to]), new: with})
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			at := offset(n.OpPos)
			if with, ok := neighbours[n.Op]; ok {
				add(at, at+len(n.Op.String()), with)
			}
			if n.Op == token.LAND || n.Op == token.LOR { // a condition is forgotten
				add(offset(n.X.Pos()), offset(n.Y.Pos()), "")
				add(offset(n.X.End()), offset(n.Y.End()), "")
			}
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				add(offset(n.OpPos), offset(n.OpPos)+1, "")
			}
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "min" || name.Name == "max") {
				add(offset(name.Pos()), offset(name.End()), map[string]string{"min": "max", "max": "min"}[name.Name])
			}
		case *ast.BranchStmt:
			if n.Label == nil && n.Tok == token.CONTINUE {
				add(offset(n.Pos()), offset(n.End()), "break")
			}
		}
		return true
	})
	return all, nil
}
