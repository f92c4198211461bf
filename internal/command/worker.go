package command

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/own"
)

// runWorker is one process of workers. It speaks the event protocol: its
// spec on standard input, events on standard output.
func runWorker(ctx context.Context, a *app, args []string) (int, error) {
	f := a.flags("worker")
	if err := a.parse(f, args, 0, 0); err != nil {
		return 0, err
	}
	for _, d := range drivers() {
		if d.Work != nil {
			return exitValid, d.Work(ctx, a.stdin, a.stdout, a.program)
		}
	}
	return 0, errNoServers
}

// program is the program of a worker: of a design that is known, or of the one
// that somebody's own program is.
func (a *app) program(ctx context.Context, spec []byte, e *env.Env, w env.Wire) error {
	if e.Own == nil {
		return a.designs().Program(ctx, spec, e, w)
	}
	var s workload.Spec
	if err := json.Unmarshal(spec, &s); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	return own.Design(s.Design, nil, env.Topology{}, e.Own.Ready()).Program(ctx, spec, e, w)
}
