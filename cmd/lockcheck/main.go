// Command lockcheck shows whether a lock design keeps a shop from selling
// more than it has: it runs stock operations under the lock, hurts the
// servers and workers meanwhile, and judges the recorded history.
//
// Each verb has a file of its own: run.go, check.go, report.go, … Start with
// app.go, which has the table of verbs and the exit codes. What a run is made
// of is in internal/cell.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go obey(signals, cancel, os.Args[1:])
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// obey ends the run in good order at the first signal, and says so; at the second
// one it leaves at once, and says what that leaves behind. A terminal that was
// closed sends SIGHUP, and may send it twice. check ends at the first, since there
// is nothing to put in order, and says itself what is not judged.
func obey(signals <-chan os.Signal, cancel func(), args []string) {
	first := <-signals
	if len(args) == 0 || args[0] != "check" {
		fmt.Fprintln(os.Stderr, "\nlockcheck: interrupted: ending the run; once more leaves at once")
	}
	cancel()
	for second := range signals {
		if first == syscall.SIGHUP && second == syscall.SIGHUP {
			continue
		}
		fmt.Fprintln(os.Stderr, "lockcheck: interrupted twice: left at once; the cells that ended are told above and kept in the store, lockcheck clean removes what real servers left")
		os.Exit(exitInterrupted)
	}
}
