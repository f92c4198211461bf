package workload

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The design of docs/adding-a-design.md compiles, conforms and sells: it is
// laid over the source, and the tests that the document names are run on it.
func TestTheDesignOfTheDocumentIsOne(t *testing.T) {
	text, err := os.ReadFile("../docs/adding-a-design.md")
	if err != nil {
		t.Fatal(err)
	}
	var code []string
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		code = append(code, m[1])
	}
	if len(code) != 3 || !strings.Contains(code[2], `Name: "patient-lock"`) {
		t.Fatalf("the document has %d pieces of code, or others", len(code))
	}
	catalogue, err := os.ReadFile("catalogue_beyond.go")
	if err != nil {
		t.Fatal(err)
	}
	head := "package lock\n\nimport (\n\t\"context\"\n\n\t\"github.com/lockcheck/lockcheck/workload/env\"\n)\n\n"
	row := strings.Replace(string(catalogue), "var beyond = []Design{\n", "var beyond = []Design{\n"+code[2], 1)
	overlay := overlaid(t, map[string]string{"lock/patientlock.go": head + code[0], "catalogue_beyond.go": row})
	const tests = "TestEveryDesignIsComplete|TestDesignsTouchTheWorldOnlyThroughEnv|TestWithoutFaultsEveryDesignIsWhatItClaims|TestEveryLockConformsButTheKnownBad"
	out, err := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-timeout", "5m", "-v",
		"-run", "^("+tests+")$/^patient-lock$", ".", "./locktest").CombinedOutput()
	if err != nil || strings.Count(string(out), "/patient-lock ") < 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// overlaid makes a file for go's -overlay.
func overlaid(t *testing.T, files map[string]string) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for name, text := range files {
		path := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(here, name)] = path
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
