package command

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/lockcheck/lockcheck/"

// door is how the table calls the package at the root of the module.
const door = "lockcheck"

// mayImport is the table of who may import whom within the module, longest
// prefix first where several match. Tests are free to import more.
var mayImport = map[string][]string{
	"internal/spelling":   {},
	"internal/strictjson": {"internal/spelling"},
	"histories":           {"internal"},
	"histories/corpus":    {"histories"},
	"histories/hostile":   {"histories"},
	"histories/record":    {"histories", "internal"},
	"protocol":            {"internal", "protocol"},
	"workload/env":        {"histories", "protocol"},
	"internal/tail":       {},
	"internal/wait":       {},
	"internal/conform":    {"histories", "protocol", "workload", "cluster"},
	"checker":             {"histories", "checker"},
	"nemesis":             {"histories", "internal"},
	"workload":            {"histories", "protocol", "workload"},
	"workload/needles":    {"histories", "workload", "run", "nemesis", "checker", "cluster/sim", "lockcheck"},
	"triage":              {"histories", "checker", "internal"},
	"cluster":             {"histories", "protocol", "workload/env", "cluster", "internal"},
	"report":              {"histories", "checker"},
	"run":                 {"histories", "protocol", "workload", "nemesis", "checker", "cluster", "run"},
	"explore":             {"histories", "checker", "workload", "cluster"},
	"internal/command":    {"explore", "triage", "histories", "protocol", "workload", "nemesis", "checker", "cluster", "report", "internal", "run"},
	"lockcheck":           {"run", "workload", "nemesis", "checker", "report", "cluster/sim", "internal/command"},
	"locktest":            {"histories", "checker", "report", "cluster/sim/standalone"},
	"track":               {"locktest"},
	"cmd":                 {"lockcheck", "cluster/servers"},
}

// onlyImporter names who alone may import a library.
var onlyImporter = map[string][]string{
	"github.com/anishathalye/porcupine":           {"checker"},
	"github.com/testcontainers/testcontainers-go": {"cluster/docker"},
	"github.com/moby/moby":                        {"cluster/docker"},
	"github.com/redis/go-redis/v9":                {"cluster/docker", "cluster/process", "locktest"},
	"github.com/go-sql-driver/mysql":              {"cluster/process"},
	"github.com/rabbitmq/amqp091-go":              {"cluster/docker", "cluster/process"},
	"github.com/yuin/gopher-lua":                  {"cluster/sim/redis"},
	"github.com/spf13/pflag":                      {"internal/command"},
}

// TestPackagesImportOnlyWhatTheirPlaceAllows keeps the picture of the design
// true: what comes before a history does not know what comes after it.
func TestPackagesImportOnlyWhatTheirPlaceAllows(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..":
			return filepath.SkipDir
		case name != root && isFile(filepath.Join(name, "go.mod")): // a module of its own
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files++
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		checkImports(t, name, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d files looked at: the walk went wrong", files)
	}
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func checkImports(t *testing.T, name, rel string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	from := path.Dir(rel)
	if from == "." {
		from = door
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		ours, ok := strings.CutPrefix(imported, module)
		if imported+"/" == module {
			ours, ok = door, true
		}
		if ok && !allowed(from, ours) {
			t.Errorf("%s imports %s, which its place does not allow", rel, ours)
		}
		for library, only := range onlyImporter {
			if within(imported, library) && !slices.ContainsFunc(only, func(place string) bool { return within(from, place) }) {
				t.Errorf("%s imports %s: only %s does", rel, library, strings.Join(only, ", "))
			}
		}
	}
}

func allowed(from, imported string) bool {
	best := ""
	for place := range mayImport {
		if within(from, place) && len(place) > len(best) {
			best = place
		}
	}
	for _, ok := range mayImport[best] {
		if within(imported, ok) {
			return true
		}
	}
	return within(imported, from) // a package's own inner packages
}

// The page about the architecture has the same table, and every file that it
// names exists.
func TestTheArchitecturePageIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for place, others := range mayImport {
		says := "nothing of ours"
		if len(others) > 0 {
			says = "`" + strings.Join(others, "`, `") + "`"
		}
		if place == "internal/command" {
			says = "everything"
		}
		if row := "| `" + place + "` | " + says + " |\n"; !strings.Contains(string(text), row) {
			t.Errorf("docs/architecture.md lacks the row %q", row)
		}
	}
	files := regexp.MustCompile("`([a-z0-9_/]+\\.go)`").FindAllStringSubmatch(string(text), -1)
	if len(files) < 20 {
		t.Errorf("only %d files named: the page is read wrongly", len(files))
	}
	for _, file := range files {
		if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(file[1]))); err != nil {
			t.Errorf("docs/architecture.md names %s: %v", file[1], err)
		}
	}
}

// within reports whether a path is a folder or below it.
func within(p, folder string) bool {
	return p == folder || strings.HasPrefix(p, folder+"/")
}

func TestTheTableOfImportsBites(t *testing.T) {
	for from, imported := range map[string]string{
		"histories": "checker", "checker": "report", "workload/lock": "cluster", "nemesis": "workload", "cmd": "run",
		"cluster/sim": "nemesis", "run": "report", "report": "workload", "workload/env": "workload/lock",
	} {
		if allowed(from, imported) {
			t.Errorf("%s may import %s", from, imported)
		}
	}
}
