package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The maps and records of docs/from-production.md get the verdicts that the page
// says, by the command.
func TestTheProductionPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../docs/from-production.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	_, indented, _ := strings.Cut(text, "## The map\n\n")
	logMap, _, _ := strings.Cut(indented, "\n\n| field")
	traceMap := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(text)
	records := regexp.MustCompile("(?s)Verdict: invalid with 2ms, unknown with 5s\n\n```(log|otlp)\n(.*?)```").FindAllStringSubmatch(text, -1)
	if traceMap == nil || len(records) != 2 {
		t.Fatalf("the page has %d records", len(records))
	}
	maps := map[string]string{"log": logMap, "otlp": traceMap[1]}
	for _, r := range records {
		for clockError, want := range map[string]int{"2ms": exitInvalid, "5s": exitUnknown} {
			t.Run(r[1]+"/"+clockError, func(t *testing.T) {
				dir := t.TempDir()
				rules, file := filepath.Join(dir, "map.json"), filepath.Join(dir, "record")
				if err := os.WriteFile(rules, []byte(maps[r[1]]), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(r[2]), 0o600); err != nil {
					t.Fatal(err)
				}
				var stdout, stderr bytes.Buffer
				args := []string{"check", "--from=" + r[1], "--map=" + rules, "--clock-error=" + clockError, file}
				code := (Program{}).execute(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
				if code != want || !strings.Contains(stdout.String(), "double-hold") || strings.Contains(stdout.String(), "no fault was in force") {
					t.Errorf("exit %d, want %d\n%s%s", code, want, stdout.String(), stderr.String())
				}
			})
		}
	}
}
