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
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the run in good order; a second one kills.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
