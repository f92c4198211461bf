package command

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/lockcheck/lockcheck/cluster/sim/standalone"
)

// runRedis serves a simulated Redis until it is interrupted.
func runRedis(ctx context.Context, a *app, args []string) (int, error) {
	f := a.flags("redis")
	listen := f.String("listen", "127.0.0.1:6379", "address; port 0: any that is free. Anyone who reaches it can use it")
	if err := a.parse(f, args, 0, 0); err != nil {
		return 0, err
	}
	if _, _, err := net.SplitHostPort(*listen); err != nil {
		return 0, usagef("--listen=%s: want host:port", *listen)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return 0, err
	}
	server := standalone.New()
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	fmt.Fprintf(a.stderr, "a simulated Redis listens on %s (Ctrl-C ends); it keeps nothing\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, net.ErrClosed) {
		return 0, err
	}
	return exitValid, nil
}
