// Package command is the command line of lockcheck: the verbs, their flags, what
// they print and their exit codes. Package lockcheck, at the root of the module,
// opens it to other programs.
//
// Each verb has a file of its own: run.go, check.go, report.go, … Start with
// app.go, which has the table of verbs and the exit codes. What a run is made
// of is in package run.
package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main runs the program on the arguments after its name and returns its exit code.
func (p Program) Main(args []string) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	go func() {
		obey(signals, cancel, verb, os.Stderr)
		os.Exit(exitInterrupted)
	}()
	return p.execute(ctx, args, os.Stdin, os.Stdout, os.Stderr)
}

// leaves says of the verbs that make runs what is left behind where they are not
// ended in good order.
var leaves = map[string]string{
	"run":    "of each cell that ended the run is in the store; lockcheck clean removes what real servers left",
	"bench":  "of each cell that ended the run is in the store; lockcheck clean removes what real servers left",
	"search": "what was found may not be in the store, the same --seed finds it again",
}

// obey ends a verb in good order at the first signal; at the second one it says
// what is left behind, and returns: then the program has to end. A terminal that
// was closed sends SIGHUP, and may send it twice. Verbs that make no runs have
// nothing to put in order, and say themselves what is missing.
func obey(signals <-chan os.Signal, cancel func(), verb string, stderr io.Writer) {
	first := <-signals
	left, runs := leaves[verb]
	if runs {
		fmt.Fprintln(stderr, "\nlockcheck: interrupted: ending the run; once more leaves at once")
	}
	cancel()
	for second := range signals {
		if first == syscall.SIGHUP && second == syscall.SIGHUP {
			continue
		}
		said := "lockcheck: interrupted twice: left at once, the output may not be whole"
		if runs {
			said += "; " + left
		}
		fmt.Fprintln(stderr, said)
		return
	}
}
