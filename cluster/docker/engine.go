//go:build unix

package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"

	"github.com/lockcheck/lockcheck/cluster/process"
)

// Every container and network has the first three; only what has the first is
// ever touched.
const (
	ownLabel   = "lockcheck"       // =1
	runLabel   = "lockcheck.run"   // =id of the Provider
	ownerLabel = "lockcheck.owner" // =process of the Provider, see owner
	hostLabel  = "lockcheck.host"  // =machine of that process, see machine
	groupLabel = "lockcheck.group" // =name of the group; containers
)

// Limits on talking with the engine.
const (
	connectLimit = 10 * time.Second
	callLimit    = 20 * time.Second // of one call that changes something
)

// engine is the container engine: the Docker client, and testcontainers on
// top of it.
type engine struct {
	api    client.APIClient
	launch *testcontainers.DockerProvider
}

// connect finds the engine the way testcontainers does (properties file,
// environment, context, sockets) and makes sure that it answers.
func connect(ctx context.Context, log *slog.Logger) (*engine, error) {
	// Testcontainers' reaper is left out: its image may not be obtainable,
	// and Clean does the reaper's work.
	if err := os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
		return nil, err
	}
	tclog.SetDefault(talk{log})
	process.QuietRedis(log)
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	if err := namedAnswers(ctx); err != nil {
		return nil, noEngine(err)
	}
	launch, err := newLauncher(ctx, log)
	if err != nil {
		return nil, noEngine(err)
	}
	e := &engine{api: launch.Client(), launch: launch}
	if err := isNamed(os.Getenv("DOCKER_HOST"), e.api.DaemonHost()); err != nil {
		return nil, errors.Join(noEngine(err), e.close())
	}
	if _, err := e.api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return nil, errors.Join(noEngine(err), e.close())
	}
	return e, nil
}

// namedAnswers reports that the engine that DOCKER_HOST names does not answer.
// Testcontainers would go on to another one in silence, and faults would be done
// to servers on an engine that nobody named.
func namedAnswers(ctx context.Context) error {
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		return nil
	}
	c, err := client.New(client.FromEnv)
	if err != nil {
		return fmt.Errorf("DOCKER_HOST=%s: %w", host, err)
	}
	defer c.Close()
	if _, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return fmt.Errorf("DOCKER_HOST=%s: %w", host, err)
	}
	return nil
}

// isNamed reports that another engine was taken than the one that was named: a
// tc.host in ~/.testcontainers.properties goes before DOCKER_HOST.
func isNamed(named, taken string) error {
	if named == "" || named == taken {
		return nil
	}
	return fmt.Errorf("DOCKER_HOST=%s, but ~/.testcontainers.properties names %s: let them agree", named, taken)
}

// newLauncher bounds what testcontainers does not: it takes no context.
func newLauncher(ctx context.Context, log *slog.Logger) (*testcontainers.DockerProvider, error) {
	type result struct {
		p   *testcontainers.DockerProvider
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil { // it panics where it finds no socket
				done <- result{err: fmt.Errorf("%v", v)}
			}
		}()
		p, err := testcontainers.NewDockerProvider(
			testcontainers.WithLogger(talk{log}), testcontainers.WithDefaultBridgeNetwork(testcontainers.Bridge))
		done <- result{p, err}
	}()
	select {
	case r := <-done:
		return r.p, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer within %s", connectLimit)
	}
}

// Error is an error of the surroundings with a hint for the person at the
// keyboard.
type Error struct {
	Problem string
	Hint    string
	Err     error
}

func (e *Error) Error() string {
	text := e.Problem
	if e.Err != nil {
		text += ": " + firstLine(e.Err.Error())
	}
	return text + "\nhint: " + e.Hint
}

func (e *Error) Unwrap() error { return e.Err }

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func noEngine(err error) error {
	if strings.Contains(err.Error(), "permission denied") {
		return &Error{"no permission to use the container engine",
			"add yourself to the docker group (sudo usermod -aG docker $USER, then log in again), or run as root", err}
	}
	return &Error{"no container engine answers",
		"start Docker (sudo systemctl start docker), or point DOCKER_HOST at an engine, or use --cluster=sim, which needs none", err}
}

// remoteHost is the machine of an engine that is reached by TCP; else empty.
func (e *engine) remoteHost() string {
	u, err := url.Parse(e.api.DaemonHost())
	if err != nil || (u.Scheme != "tcp" && u.Scheme != "ssh") {
		return ""
	}
	return u.Hostname()
}

func (e *engine) close() error { return e.launch.Close() }

// remove removes the containers and networks that the filter selects, and
// names them. The filter always names one of our labels.
func (e *engine) remove(ctx context.Context, f client.Filters, spare func(labels map[string]string) bool) ([]string, error) {
	var removed []string
	var errs []error
	list, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: f})
	if err != nil {
		return nil, err
	}
	for _, c := range list.Items {
		if spare(c.Labels) {
			continue
		}
		_, err := e.api.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil:
			removed = append(removed, "container "+strings.TrimPrefix(strings.Join(c.Names, " "), "/"))
		case !errdefs.IsNotFound(err) && !errdefs.IsConflict(err): // gone, or going
			errs = append(errs, err)
		}
	}
	nets, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: f})
	if err != nil {
		return removed, errors.Join(append(errs, err)...)
	}
	for _, n := range nets.Items {
		if spare(n.Labels) {
			continue
		}
		_, err := e.api.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
		switch {
		case err == nil:
			removed = append(removed, "network "+n.Name)
		case !errdefs.IsNotFound(err):
			errs = append(errs, err)
		}
	}
	return removed, errors.Join(errs...)
}

// talk hands what testcontainers prints to a logger.
type talk struct{ log *slog.Logger }

func (t talk) Printf(format string, v ...any) {
	t.log.Debug(strings.TrimSpace(fmt.Sprintf(format, v...)))
}
