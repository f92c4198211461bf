//go:build !unix || sim

package command

import (
	"context"
	"errors"
	"io"

	"github.com/lockcheck/lockcheck/cluster"
)

// errNoServers: the binary was built without what real servers need.
var errNoServers = errors.New("this lockcheck was built for the simulation only\nhint: build it on Linux or macOS without -tags sim: go install ./cmd/lockcheck")

func realServers(context.Context, string) (cluster.Provider, error) { return nil, errNoServers }

func removeLeftovers(context.Context) ([]string, error) { return nil, errNoServers }

func workerProcess(context.Context, io.Reader, io.Writer) error { return errNoServers }
