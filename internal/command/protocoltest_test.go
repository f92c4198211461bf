package command

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestACommandLineIsSplitAsAShellDoes(t *testing.T) {
	for text, want := range map[string][]string{
		"php lock.php":              {"php", "lock.php"},
		"  php\t lock.php \n":       {"php", "lock.php"},
		`php 'my lock.php' "a b"`:   {"php", "my lock.php", "a b"},
		`a\ b 'c\d' "e\"f" ''`:      {"a b", `c\d`, `e"f`, ""},
		`php -d'memory_limit = 1M'`: {"php", "-dmemory_limit = 1M"},
		"":                          nil,
	} {
		got, err := splitCommand(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
	for _, text := range []string{`php 'lock`, `php "lock`, `php \`} {
		if got, err := splitCommand(text); err == nil {
			t.Errorf("%q is %q", text, got)
		}
	}
}
