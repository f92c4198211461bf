package command

import "context"

// runWorker is one process of workers. It speaks the event protocol: its
// spec on standard input, events on standard output.
func runWorker(ctx context.Context, a *app, args []string) (int, error) {
	f := a.flags("worker")
	if err := a.parse(f, args, 0, 0); err != nil {
		return 0, err
	}
	for _, d := range drivers() {
		if d.Work != nil {
			return exitValid, d.Work(ctx, a.stdin, a.stdout, a.designs().Program)
		}
	}
	return 0, errNoServers
}
