package command

import (
	"slices"
	"testing"
)

func TestACommandIsCutAsAShellCutsIt(t *testing.T) {
	for command, want := range map[string][]string{
		"php lock.php":                {"php", "lock.php"},
		"  a\tb  ":                    {"a", "b"},
		`php -d 'x=a b' "c \"d\"" ''`: {"php", "-d", "x=a b", `c "d"`, ""},
		`a\ b 'c\d'`:                  {"a b", `c\d`},
	} {
		if got, err := splitCommand(command); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %q, %v", command, got, err)
		}
	}
	for _, command := range []string{"", "  ", "a 'b", `a\`, "a | b", "a > b", "a; b", "echo $HOME"} {
		if got, err := splitCommand(command); err == nil {
			t.Errorf("%q is %q", command, got)
		}
	}
}
