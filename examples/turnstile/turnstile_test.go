package turnstile_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck"

	"example.com/turnstile"
)

// A module tests its lock by one line.
func TestTheMendedLockHolds(t *testing.T) {
	lockcheck.Test(t, turnstile.MendedDesign, "none", "crash")
}

// The same line over the lock with the mistake, on a T that keeps what it is told:
// with t itself this test would fail, and say what is wrong.
func TestTheMistakeIsFound(t *testing.T) {
	told := &told{TB: t}
	lockcheck.Test(told, turnstile.Design, "none")
	if len(told.errors) != 1 || !strings.Contains(told.errors[0], "stuck-lock") {
		t.Fatalf("told %q, want one error, of a stuck lock", told.errors)
	}
	t.Log(told.errors[0])
}

type told struct {
	testing.TB
	errors []string
}

func (t *told) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

// The module's own binary has the whole command line, and finds it too.
func TestTheBinaryFindsIt(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "run", "-tags", "sim", "./cmd/turnstile",
		"run", "--design=turnstile", "--nemesis=all", "--seed=1", "--time-limit=15s", "--store="+t.TempDir()).Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("%v, want an exit code of 1:\n%s", err, out)
	}
	if !strings.Contains(string(out), "stuck-lock") {
		t.Errorf("no stuck-lock in\n%s%s", out, exit.Stderr)
	}
}
