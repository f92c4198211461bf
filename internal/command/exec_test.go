package command

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// flagsFor are the flags of a run of a program, checked.
func flagsFor(t *testing.T, args ...string) *runFlags {
	t.Helper()
	a := &app{stdout: &output{Writer: io.Discard}, stderr: io.Discard}
	f := newRunFlags(a, "run")
	if err := errors.Join(a.parse(f.set, args, 0, 0), f.check()); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWithoutACompilerAProgramRunsInRealTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere no program is held")
	}
	perl, err := exec.LookPath("perl")
	if err != nil {
		t.Skip("needs perl (apt-get install perl)")
	}
	bin := t.TempDir()
	if err := os.Symlink(perl, filepath.Join(bin, "perl")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // where no library is from before
	f := flagsFor(t, "--exec=perl ../../examples/perl/lock.pl", "--topology=single")
	if _, err := f.subject(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.driver.Virtual || len(f.warnings) != 1 || !strings.Contains(f.warnings[0], "no C compiler") || f.settings()["time"] != realTime {
		t.Errorf("virtual: %v; warnings %q; settings %v", f.driver.Virtual, f.warnings, f.settings())
	}
	f = flagsFor(t, "--exec=perl ../../examples/perl/lock.pl", "--topology=single", "--time=virtual")
	if _, err := f.subject(t.Context()); err == nil || !strings.Contains(err.Error(), "no C compiler") {
		t.Errorf("with --time=virtual: %v", err)
	}
}

func TestAProgramThatCannotBeHeldIsOfferedRealTime(t *testing.T) {
	self, err := os.Executable() // a Go program
	if err != nil {
		t.Fatal(err)
	}
	_, err = flagsFor(t, "--exec="+self).subject(t.Context())
	h, ok := errors.AsType[hinted](err)
	if !ok || !strings.Contains(h.hint, "--time=real") {
		t.Errorf("the error is %v, the hint %q", err, h.hint)
	}
}

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
