//go:build unix

package conform

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// examples are the adapters of the folder examples that speak the protocol.
var examples = map[string]struct {
	file string
	need []string // a command that fails where what it needs is missing
	run  string
}{
	"perl":   {"perl/lock.pl", []string{"perl", "-MJSON::PP", "-MIO::Socket::INET", "-e", "1"}, "perl"},
	"node":   {"node/lock.js", []string{"node", "--version"}, "node"},
	"java":   {"java/Lock.java", []string{"javac", "-version"}, "java"},
	"php":    {"php/lock.php", []string{"php", "-r", "exit(class_exists('Redis') ? 0 : 1);"}, "php"},
	"python": {"python/lock.py", []string{"/usr/bin/python3", "-c", "import redis"}, "/usr/bin/python3"},
}

func TestTheExamplesKeepTheRules(t *testing.T) {
	for name, e := range examples {
		t.Run(name, func(t *testing.T) {
			if err := exec.Command(e.need[0], e.need[1:]...).Run(); err != nil {
				t.Skipf("%s: %v", strings.Join(e.need, " "), err)
			}
			t.Parallel()
			file, err := filepath.Abs(filepath.Join("../../examples", e.file))
			if err != nil {
				t.Fatal(err)
			}
			command := []string{e.run, file}
			if name == "java" {
				command = compiled(t, file)
			}
			s, err := Look(t.Context(), Config{Command: command, TTL: 2 * time.Second, Parallel: 4})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Test(t.Context(), func(r Result) {
				if r.Err != nil {
					t.Errorf("%s: %v", r.Rule, r.Err)
				}
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// compiled makes a class of a Java file: to start one takes a fifth of the time.
func compiled(t *testing.T, file string) []string {
	t.Helper()
	folder := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "javac", "-d", folder, file)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return []string{"java", "-XX:TieredStopAtLevel=1", "-cp", folder, "Lock"}
}

// Adapters over plain sockets are as short as the READMEs say.
func TestTheAdaptersAreShort(t *testing.T) {
	for name, most := range map[string]int{"perl/lock.pl": 40, "node/lock.js": 45, "java/Lock.java": 65} {
		text, err := os.ReadFile(filepath.Join("../../examples", name))
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
		if lines > most {
			t.Errorf("examples/%s has %d lines of code, more than %d", name, lines, most)
		}
	}
}
