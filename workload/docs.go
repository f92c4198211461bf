package workload

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"sync"

	"github.com/lockcheck/lockcheck/workload/lock"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// Document is what `lockcheck list NAME` prints of the design: its Doc, or else
// the doc comments of its lock and its sale. What the list tells and what the
// source says can so never differ.
func (d Design) Document() string {
	if d.Doc != "" {
		return d.Doc
	}
	var texts []string
	for _, n := range d.docs {
		texts = append(texts, strings.TrimSpace(comments()[n]))
	}
	return strings.Join(texts, "\n\n")
}

// comments are the doc comments of all exported functions and types of the
// packages with the designs, which carry their own source.
var comments = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for _, source := range []fs.FS{lock.Source, stock.Source} {
		names, err := fs.Glob(source, "*.go")
		if err != nil {
			panic(err) // the pattern is ours
		}
		for _, name := range names {
			collect(m, source, name)
		}
	}
	return m
})

func collect(m map[string]string, source fs.FS, name string) {
	text, err := fs.ReadFile(source, name)
	if err != nil {
		panic(err) // embedded
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
	if err != nil {
		panic(err) // it was compiled
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				m[d.Name.Name] = d.Doc.Text()
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					m[t.Name.Name] = d.Doc.Text()
				}
			}
		}
	}
}
