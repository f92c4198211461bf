package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// example is one history of docs/history-format.md, and what the page says of it.
type example struct{ name, says, history string }

var exampleText = regexp.MustCompile("(?ms)^(?:Verdict|Error): ([^\n]*)\n\n```jsonl\n(.*?)```$")

func pageExamples(t *testing.T) []example {
	t.Helper()
	page, err := os.ReadFile("../../docs/history-format.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	for _, section := range strings.Split(string(page), "\n### ") {
		title, _, _ := strings.Cut(section, "\n")
		for _, m := range exampleText.FindAllStringSubmatch(section, -1) {
			all = append(all, example{title, m[1], m[2]})
		}
	}
	if blocks := strings.Count(string(page), "```jsonl"); blocks != len(all) || blocks == 0 {
		t.Fatalf("%d examples, but only of %d the page says what they are", blocks, len(all))
	}
	return all
}

// TestTheFormatPageIsTrue judges each example of docs/history-format.md, by the
// packages and by the command.
func TestTheFormatPageIsTrue(t *testing.T) {
	for _, e := range pageExamples(t) {
		t.Run(e.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history.jsonl")
			if err := os.WriteFile(path, []byte(e.history), 0o600); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			code := (Program{}).execute(context.Background(), []string{"check", path}, strings.NewReader(""), &stdout, &stderr)
			h, err := histories.ReadJSON(strings.NewReader(e.history))
			if err != nil {
				if err.Error() != e.says || code != exitUsage || !strings.Contains(stderr.String(), e.says) {
					t.Errorf("the page says %s\nit is    %v\ncheck: exit %d, %s", e.says, err, code, stderr.String())
				}
				return
			}
			v := checker.Check(context.Background(), h, checker.Options{})
			says := string(v.Outcome)
			for _, r := range v.Results {
				if r.Outcome == checker.Invalid && !strings.Contains(r.Reason, "same fact") {
					says += ", " + string(r.Property)
				}
			}
			if says != e.says {
				t.Errorf("the page says %s, it is %s", e.says, says)
			}
			if want := exitOf(v.Outcome); code != want || !strings.Contains(stdout.String(), strings.ToUpper(string(v.Outcome))) {
				t.Errorf("check: exit %d, want %d\n%s%s", code, want, stdout.String(), stderr.String())
			}
		})
	}
}

// TestTheFormatPageShowsEverything holds that the examples together have each
// function, each field and each word that decides something.
func TestTheFormatPageShowsEverything(t *testing.T) {
	var all strings.Builder
	for _, e := range pageExamples(t) {
		all.WriteString(e.history)
	}
	faults := []string{
		histories.Pause, histories.Resume, histories.Partition, histories.Loss, histories.Skew, histories.Failover, histories.Evict,
		histories.Delay, histories.Crash, histories.Heal, histories.Demoted, histories.Healthy, // are like kill and promoted
	}
	for _, f := range histories.Functions() {
		if !slices.Contains(faults, f) && !strings.Contains(all.String(), `"f":"`+f+`"`) {
			t.Errorf("no example has f %q", f)
		}
	}
	words := []string{
		`"error":"busy"`, `"error":"not the owner"`, `"error":"sold-out"`, `"error":"refused: `, `"orders":[{"order":"`,
		`"op":0`, `"parent":`, `"qty":`, `"customer":`, `"work":`, `"token":`, `"fence":`, `"until":`, `"left":`, `"seen":`, `"value":`,
		`"replay":true`, `"final":true`, `"mode":`, `"targets":`, `"fault":`, `"proof":`, `"note":`, `"x-`,
		`"none":`, `"reentrant":`, `"ttl":`, `"grace":`, `"deadline":`, `"notice":`, `"fenced":`, `"max-delay":`, `"initial":`,
	}
	var missing []string
	for _, w := range words {
		if !strings.Contains(all.String(), w) {
			missing = append(missing, w)
		}
	}
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Errorf("no example has\n%s", diff)
	}
}
