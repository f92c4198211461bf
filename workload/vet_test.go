package workload

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is what designs may import besides histories and workload/env.
var mayImport = []string{
	"context", "embed", "encoding/hex", "encoding/json", "errors", "fmt", "slices", "strconv", "strings", "sync/atomic", "time",
	"github.com/lockcheck/lockcheck/histories", "github.com/lockcheck/lockcheck/workload/env",
}

// instead says what to use of Env in place of what is forbidden.
var instead = map[string]string{
	"time.Now": "Env.Clock.Now or Wall", "time.Since": "Env.Clock.Now", "time.Until": "Env.Clock.Now",
	"time.Sleep": "Env.Clock.Sleep", "time.After": "Env.Clock.Sleep", "time.AfterFunc": "Env.Clock.Every",
	"time.Tick": "Env.Clock.Every", "time.NewTicker": "Env.Clock.Every", "time.NewTimer": "Env.Clock.Sleep",
	"context.WithTimeout": "Env.Clock.Now and a limit of your own", "context.WithTimeoutCause": "Env.Clock.Now and a limit of your own",
	"context.WithDeadline": "Env.Clock.Now and a limit of your own", "context.WithDeadlineCause": "Env.Clock.Now and a limit of your own",
	"context.AfterFunc": "Env.Clock.Every", "context.Background": "the ctx that you are given", "context.TODO": "the ctx that you are given",

	"go": "Env.Clock.Every", "select": "Env.Redis.Subscribe, or Env.Clock.Sleep", "chan": "Env.Local",
	"net": "Env.Lock, Env.Stock, Env.SQL", "os": "Env.Hostname, Env.PID", "sync": "sync/atomic: in virtual time a mutex that is held over a call blocks forever",
	"math/rand": "Env.Rand", "math/rand/v2": "Env.Rand", "crypto/rand": "Env.Rand",
}

// forbidden finds what a design may not do: whatever touches the world past
// its Env is real time, real chance or real concurrency in a simulated run.
func forbidden(name, source string) (found []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	report := func(at token.Pos, what string) {
		use := instead[what]
		if use == "" {
			use = "what Env offers"
		}
		found = append(found, fmt.Sprintf("%v: %s: use %s", files.Position(at), what, use))
	}
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); !slices.Contains(mayImport, path) {
			report(i.Pos(), path)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n.Pos(), "go")
		case *ast.SelectStmt:
			report(n.Pos(), "select")
		case *ast.ChanType:
			report(n.Pos(), "chan")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && instead[x.Name+"."+n.Sel.Name] != "" {
				report(n.Pos(), x.Name+"."+n.Sel.Name)
			}
		}
		return true
	})
	return found, nil
}

func TestDesignsTouchTheWorldOnlyThroughEnv(t *testing.T) {
	for _, dir := range []string{"lock", "stock"} {
		names, err := fs.Glob(os.DirFS(dir), "*.go")
		if err != nil || len(names) < 10 {
			t.Fatalf("%s: %d files, error %v", dir, len(names), err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			source, err := os.ReadFile(dir + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			found, err := forbidden(dir+"/"+name, string(source))
			if err != nil {
				t.Error(err)
			}
			for _, f := range found {
				t.Error(f)
			}
		}
	}
}

func TestTheRuleBites(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"the real time", "import \"time\"\nfunc f() { _ = time.Now() }", "time.Now: use Env.Clock.Now"},
		{"a real sleep", "import \"time\"\nfunc f() { time.Sleep(1) }", "time.Sleep: use Env.Clock.Sleep"},
		{"a timer", "import \"time\"\nfunc f() { <-time.After(1) }", "time.After: use Env.Clock.Sleep"},
		{"a goroutine", "func f() { go f() }", "go: use Env.Clock.Every"},
		{"a channel", "func f(c chan int) {}", "chan: use Env.Local"},
		{"a select", "func f() { select {} }", "select: use"},
		{"a mutex", "import \"sync\"\nvar mu sync.Mutex", "sync: use sync/atomic"},
		{"the network", "import \"net\"\nvar c net.Conn", "net: use Env.Lock"},
		{"a library that dials", "import \"github.com/redis/go-redis/v9\"", "go-redis/v9: use what Env offers"},
		{"global chance", "import \"math/rand/v2\"\nvar n = rand.Int()", "math/rand/v2: use Env.Rand"},
		{"true chance", "import \"crypto/rand\"", "crypto/rand: use Env.Rand"},
		{"a deadline", "import \"context\"\nfunc f(ctx context.Context) { context.WithTimeout(ctx, 1) }", "context.WithTimeout: use Env.Clock.Now"},
		{"a context from nowhere", "import \"context\"\nvar ctx = context.Background()", "context.Background: use the ctx"},
		{"the environment", "import \"os\"\nvar h, _ = os.Hostname()", "os: use Env.Hostname"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := forbidden("bad.go", "package bad\n"+c.body)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(found, "\n"), c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
	if found, err := forbidden("good.go", "package good\nimport \"time\"\nconst d = 3 * time.Second"); err != nil || len(found) > 0 {
		t.Errorf("a duration: %q, %v", found, err)
	}
}
