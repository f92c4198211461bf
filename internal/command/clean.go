package command

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// runClean removes what a killed run left behind.
func runClean(ctx context.Context, a *app, args []string) (int, error) {
	f := a.flags("clean")
	if err := a.parse(f, args, 0, 0); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	count, known := 0, false
	var errs []error
	for _, d := range drivers() {
		if d.Clean == nil {
			continue
		}
		known = true
		removed, err := d.Clean(ctx)
		for _, what := range removed {
			fmt.Fprintln(a.stdout, "removed", what)
		}
		count += len(removed)
		errs = append(errs, err)
	}
	if !known {
		return 0, errNoServers
	}
	err := errors.Join(errs...)
	if err == nil && count == 0 {
		fmt.Fprintln(a.stdout, "nothing to remove")
	}
	return exitValid, err
}
