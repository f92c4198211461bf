package main

import (
	"context"

	"github.com/lockcheck/lockcheck/cluster/docker"
	"github.com/lockcheck/lockcheck/workload"
)

// runWorker is one process of workers. It speaks the event protocol: its
// spec on standard input, events on standard output.
func runWorker(ctx context.Context, a *app, args []string) (int, error) {
	f := a.flags("worker")
	if err := parse(f, args, 0, 0); err != nil {
		return 0, err
	}
	return exitValid, docker.WorkerMain(ctx, a.stdin, a.stdout, workload.Program)
}
