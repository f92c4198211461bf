//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/workload/env"
)

func TestErrorsAreClassifiedWhereTheyAreBorn(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name    string
		ctx     context.Context
		err     error
		want    error
		unknown bool
	}{
		{"an error that came before a connection", nil, notSent(errors.New("any")), env.ErrRefused, false},
		{"a dial that timed out sent nothing", nil, notSent(os.ErrDeadlineExceeded), env.ErrRefused, false},
		{"a sentinel that says no is no answer of the server", nil, notSent(redis.ErrNoScript), env.ErrRefused, false},
		{"no connection was free in time", nil, redis.ErrPoolTimeout, env.ErrRefused, false},
		{"an error reply", nil, fmt.Errorf("wrapped: %w", redis.ErrNoScript), env.ServerError(redis.ErrNoScript.Error()), false},
		{"an answer that did not come in time", nil, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, env.ErrTimeout, true},
		{"a call's own time ran out", nil, context.DeadlineExceeded, env.ErrTimeout, true},
		{"the caller gave up", over, os.ErrDeadlineExceeded, context.Canceled, true},
		{"the server closed the connection", nil, io.EOF, env.ErrReset, true},
		{"the server closed it in mid-reply", nil, io.ErrUnexpectedEOF, env.ErrReset, true},
		{"a reset while reading", nil, &net.OpError{Op: "read", Err: syscall.ECONNRESET}, env.ErrReset, true},
		{"a reset while writing", nil, &net.OpError{Op: "write", Err: syscall.EPIPE}, env.ErrReset, true},
		{"the library closed it: the master has moved", nil, net.ErrClosed, env.ErrReset, true},
		{"an error that nobody thought of", nil, errUnheardOf, errUnheardOf, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx := test.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			got := classify(ctx, test.err)
			if !errors.Is(got, test.want) || env.Unknown(got) != test.unknown {
				t.Errorf("%v (unknown: %v), want %v (unknown: %v)", got, env.Unknown(got), test.want, test.unknown)
			}
		})
	}
}

var errUnheardOf = errors.New("unheard of")

// The library's own errors, over real connections to servers that misbehave.
func TestCallsFailAsTheyShould(t *testing.T) {
	limit := 200 * time.Millisecond
	tests := []struct {
		name   string
		server func(net.Conn)
		want   error
	}{
		{"silence is a time-out", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, env.ErrTimeout},
		{"hanging up is a reset", func(c net.Conn) { _, _ = c.Read(make([]byte, 512)); c.Close() }, env.ErrReset},
		{"an error reply is the server's", func(c net.Conn) { reply(c, "-READONLY no\r\n") }, env.ServerError("READONLY no")},
		{"a null is no error", func(c net.Conn) { reply(c, "$-1\r\n") }, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go test.server(c)
				}
			}()
			r := clientOptions{dial: (&net.Dialer{}).DialContext, limit: limit, pool: 1}.single(l.Addr().String())
			defer r.close()
			v, err := r.Do(t.Context(), "GET", "k")
			if !errors.Is(err, test.want) || v != nil {
				t.Errorf("%v, %v; want %v", v, err, test.want)
			}
		})
	}
	t.Run("a port that nobody listens on refuses", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		r := clientOptions{dial: (&net.Dialer{}).DialContext, limit: limit, pool: 1}.single(l.Addr().String())
		defer r.close()
		if _, err := r.Do(t.Context(), "GET", "k"); !errors.Is(err, env.ErrRefused) {
			t.Errorf("%v, want %v", err, env.ErrRefused)
		}
	})
	t.Run("a dial that gets no answer is over before its call, and sent nothing", func(t *testing.T) {
		stuck := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r := clientOptions{dial: stuck, limit: limit, pool: 1}.single("10.0.0.1:6379")
		defer r.close()
		if _, err := r.Do(t.Context(), "GET", "k"); !errors.Is(err, env.ErrRefused) {
			t.Errorf("%v, want %v", err, env.ErrRefused)
		}
	})
}

// reply answers each command; the handshake's are refused by their name, as by
// an old server.
func reply(c net.Conn, line string) {
	b := make([]byte, 4096)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		answer := line
		if strings.Contains(strings.ToLower(string(b[:n])), "hello") {
			answer = "-ERR unknown command\r\n"
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}
