package command

import (
	"context"
	"fmt"
)

const helpText = `lockcheck shows whether a lock keeps a shop from selling more than it has.

Usage: lockcheck VERB [flags]

Try first:
  lockcheck run                          every design under a failover, simulated
  lockcheck run --design=redis-lock      one design, in detail
  lockcheck run --cluster=docker --design=redis-lock    the same on real Redis

Verbs:
`

const helpExit = `
Exit codes: 0 valid, 1 invalid, 3 unknown, 130 interrupted, 254 wrong usage,
255 lockcheck or its environment broke. Results go to standard output,
everything else to standard error.
`

func runHelp(ctx context.Context, a *app, args []string) (int, error) {
	if len(args) > 0 {
		if code, err := a.dispatch(ctx, args[0], []string{"--help"}); err != nil {
			return code, err
		}
		return exitValid, nil
	}
	fmt.Fprint(a.stdout, a.called(helpText))
	for _, v := range verbs() {
		if !v.hidden {
			fmt.Fprintf(a.stdout, "  %-13s %s\n", v.name, v.summary)
		}
	}
	fmt.Fprint(a.stdout, helpExit)
	return exitValid, nil
}
