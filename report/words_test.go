package report

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"strconv"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

func TestEveryCauseHasAdvice(t *testing.T) {
	file, err := parser.ParseFile(gotoken.NewFileSet(), "../checker/verdict.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	causes := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Cause" {
			word, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if causes++; word != "" && advice[checker.Cause(word)] == "" {
				t.Errorf("no advice for the cause %q", word)
			}
		}
		return true
	})
	if causes < 10 {
		t.Errorf("only %d causes found", causes)
	}
}

func TestEveryPropertyHasAMeaning(t *testing.T) {
	for _, p := range checker.Properties {
		if m := meaning(p.Name); m == "" || m == string(p.Name) {
			t.Errorf("%s: %q", p.Name, m)
		}
	}
	if got := meaning("a property of tomorrow"); got != "a property of tomorrow" {
		t.Errorf("an unknown property means %q", got)
	}
}

func TestCutConnectionsAreNoDeathsOfServers(t *testing.T) {
	e := histories.Event{F: histories.Kill, Targets: []string{"redis-1", "redis-2"}, Fault: &histories.Fault{F: histories.Kill, Mode: "connection", To: []string{"worker-5"}}}
	if got, want := markText(e), "kill connections of worker-5 to redis-1, redis-2"; got != want {
		t.Errorf("the mark is called %q, want %q", got, want)
	}
	e.Fault.To = nil
	if got, want := markText(e), "kill connections to redis-1, redis-2"; got != want {
		t.Errorf("the mark is called %q, want %q", got, want)
	}
}
