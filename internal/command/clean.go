package command

import (
	"context"
	"fmt"
	"time"
)

// runClean removes what a killed run left behind.
func runClean(ctx context.Context, a *app, args []string) (int, error) {
	f := a.flags("clean")
	if err := parse(f, args, 0, 0); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	removed, err := removeLeftovers(ctx)
	for _, what := range removed {
		fmt.Fprintln(a.stdout, "removed", what)
	}
	if err == nil && len(removed) == 0 {
		fmt.Fprintln(a.stdout, "nothing to remove")
	}
	return exitValid, err
}
