package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/lockcheck/lockcheck/report"
)

// runServe shows the store of runs to a browser, until it is interrupted.
func runServe(ctx context.Context, a *app, args []string) (int, error) {
	f := a.flags("serve")
	store := f.String("store", "store", "folder with the runs")
	listen := f.String("listen", "127.0.0.1:8077", "address; anyone who reaches it can read the store")
	if err := a.parse(f, args, 0, 0); err != nil {
		return 0, err
	}
	if _, _, err := net.SplitHostPort(*listen); err != nil {
		return 0, usagef("--listen=%s: want host:port", *listen)
	}
	// A Root cannot be left, neither by .. nor by a link.
	root, err := os.OpenRoot(*store)
	if err != nil {
		return 0, hint(usageError{trimPath(err)}, "lockcheck run fills the store; --store names another")
	}
	defer root.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return 0, err
	}
	server := &http.Server{
		Handler:           report.Handler(root.FS()),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      5 * time.Minute, // a large history takes its time
	}
	fmt.Fprintf(a.stderr, "serving %s on http://%s (Ctrl-C ends)\n", *store, listener.Addr())
	return exitValid, serveUntil(ctx, server, listener)
}

// serveUntil serves until ctx ends, then lets requests in flight finish.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener) error {
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(closing)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
