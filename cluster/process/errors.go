//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/workload/env"
)

// How an error of a connection becomes one of env's, where it is born. The
// first row that fits decides; what fits none stays as it is, and env.Unknown
// takes it for unknown.
//
//	an error reply of the server                  ServerError, as it came
//	no connection: refused, no route, no address  ErrRefused: nothing was sent
//	no connection in time, or none free in time   ErrRefused: nothing was sent
//	the caller's context has ended                its error (unknown)
//	no answer in time                             ErrTimeout (unknown)
//	the connection ended or broke                 ErrReset (unknown)
//
// A dial that times out has sent nothing: that is why it is bounded more
// tightly than its call. A reset is unknown even if it came while writing: the
// server may have read the request before.
var classes = []struct {
	class   error
	matches func(error) bool
}{
	{env.ErrRefused, is(env.ErrRefused)}, // marked by notSent
	{env.ErrRefused, is(redis.ErrPoolTimeout, redis.ErrPoolExhausted)},
	{env.ErrTimeout, is(context.DeadlineExceeded, os.ErrDeadlineExceeded)},
	{env.ErrTimeout, IsTimeout},
	{env.ErrReset, is(io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, redis.ErrClosed)},
	{env.ErrReset, is(syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED)},
}

func is(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
}

// classify makes an error of a client library one of env's. ctx is the
// caller's own, without the call's time-out.
func classify(ctx context.Context, err error) error {
	var reply redis.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, env.ErrRefused): // a sentinel's error reply may be inside
		return err
	case errors.As(err, &reply):
		return env.ServerError(reply.Error())
	case ctx.Err() != nil:
		return ctx.Err()
	}
	for _, c := range classes {
		if c.matches(err) {
			return fmt.Errorf("%w: %v", c.class, err)
		}
	}
	return err
}

// notSent marks an error that came before there was a connection.
func notSent(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %v", env.ErrRefused, err)
}
