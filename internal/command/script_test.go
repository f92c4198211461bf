package command

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	_ "github.com/lockcheck/lockcheck/cluster/servers"
)

// asProgram is an environment variable that makes the test binary lockcheck.
const asProgram = "LOCKCHECK_TEST_AS_PROGRAM"

// TestMain lets tests and test scripts call lockcheck as a program of its own.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Program{}.Main(os.Args[1:]))
	}
	testscript.Main(m, map[string]func(){
		"lockcheck": func() {
			os.Exit(Program{}.execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// TestScripts runs testdata/script: sessions at a terminal, with the exit
// code of each command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exit": exitCode,
		},
	})
}

// exitCode runs a command and wants its exit code: exit 254 lockcheck run ….
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND …")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		got = strconv.Itoa(ee.ExitCode())
	} else if err != nil {
		got = err.Error()
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}
