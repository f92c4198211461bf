//go:build unix && !sim

package command

import (
	"context"
	"io"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/docker"
	"github.com/lockcheck/lockcheck/workload"
)

// All that needs real servers stands here: the container engine's client,
// go-redis and the SQL drivers are most of what the compiler has to do. With
// -tags sim, and on Windows, noservers.go takes its place.

func realServers(ctx context.Context, image string) (cluster.Provider, error) {
	return docker.New(ctx, docker.Config{Image: image})
}

// removeLeftovers removes what a killed run left behind, and says what.
func removeLeftovers(ctx context.Context) ([]string, error) { return docker.Clean(ctx) }

// workerProcess is one process of workers: its spec on in, events on out.
func workerProcess(ctx context.Context, in io.Reader, out io.Writer) error {
	return docker.WorkerMain(ctx, in, out, workload.Program)
}
