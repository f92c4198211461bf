package sql

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the expected outcome of the scripts")

// readScript reads steps, and the file without its outcome.
func readScript(text string) (steps []step) {
	for _, line := range strings.Split(text, "\n") {
		if conn, sql, ok := strings.Cut(line, "> "); ok && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, " ") {
			steps = append(steps, step{conn, sql})
		}
	}
	return steps
}

func (o outcome) String() string {
	var b strings.Builder
	for _, conn := range slices.Sorted(maps.Keys(o.lines)) {
		fmt.Fprintf(&b, "    %s: %s\n", conn, o.lines[conn])
	}
	return b.String()
}

// transcript plays a script on the model and writes the outcome of each step
// below it.
func transcript(text string) string {
	m := newModel()
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		fmt.Fprintln(&b, line)
		for _, st := range readScript(line) {
			b.WriteString(m.play(st).String())
		}
	}
	return b.String()
}

func TestScriptsEndOnTheModelAsWritten(t *testing.T) {
	eachScript(t, func(t *testing.T, path, text string) {
		got := transcript(text)
		if strings.Contains(got, busy) {
			t.Errorf("a step of the script could not be done:\n%s", got)
		}
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
			return
		}
		if diff := cmp.Diff(text, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestScriptsEndOnARealServerAsOnTheModel(t *testing.T) {
	m := aServer(t)
	eachScript(t, func(t *testing.T, path, text string) {
		model, server := newModel(), newServer(t, m)
		for i, st := range readScript(text) {
			if _, err := server.follow(st, []outcome{model.play(st)}); err != nil {
				t.Fatalf("step %d, %s> %s: %v", i+1, st.conn, st.text, err)
			}
		}
	})
}

func eachScript(t *testing.T, f func(t *testing.T, path, text string)) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f(t, path, string(text))
		})
	}
}
