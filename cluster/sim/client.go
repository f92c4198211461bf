package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/workload/env"
)

// endpoint is a client library's pool of connections to one server at a time.
// It never retries by itself what may have acted.
type endpoint struct {
	net   *network
	proc  *process
	limit time.Duration // of a dial and of a request
	// locate says where a new connection goes.
	locate func(context.Context) (*host, error)

	idle []*line // free connections, the last used last
	open []*line // all connections, oldest first
}

var _ env.Redis = (*endpoint)(nil)

// line is one connection of a pool.
type line struct {
	e      *endpoint
	c      *conn
	host   *host
	broken bool
	onLose func() // called when the connection is gone
}

var _ env.Redis = (*line)(nil)

// endpoint makes an endpoint for one server.
func (n *network) endpoint(proc *process, limit time.Duration, to *host) *endpoint {
	locate := func(context.Context) (*host, error) { return to, nil }
	return &endpoint{net: n, proc: proc, limit: limit, locate: locate}
}

// Do sends one command on a free connection.
func (e *endpoint) Do(ctx context.Context, args ...any) (any, error) {
	return e.do(ctx, words(args))
}

func (e *endpoint) do(ctx context.Context, args []string) (reply any, err error) {
	err = e.with(ctx, func(l *line) error {
		reply, err = l.do(ctx, args)
		return err
	})
	return reply, err
}

// Eval runs a script, by its hash where the server knows it.
func (e *endpoint) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (reply any, err error) {
	err = e.with(ctx, func(l *line) error {
		reply, err = l.Eval(ctx, script, keys, args...)
		return err
	})
	return reply, err
}

// Pinned lends one connection to f.
func (e *endpoint) Pinned(ctx context.Context, f func(env.Redis) error) error {
	return e.with(ctx, func(l *line) error { return f(l) })
}

// with lends a connection to f and takes it back if it is still good.
func (e *endpoint) with(ctx context.Context, f func(*line) error) error {
	l, err := e.take(ctx)
	if err != nil {
		return err
	}
	err = f(l)
	if !l.broken {
		e.idle = append(e.idle, l)
	}
	return err
}

// take answers a free connection, or dials.
func (e *endpoint) take(ctx context.Context) (*line, error) {
	e.net.s.mustRun()
	if n := len(e.idle); n > 0 {
		l := e.idle[n-1]
		e.idle = e.idle[:n-1]
		return l, nil
	}
	to, err := e.locate(ctx)
	if err != nil {
		return nil, err
	}
	return e.dial(ctx, to)
}

// dial opens a connection. That it takes too long means that nothing was
// sent, so it counts as refused.
func (e *endpoint) dial(ctx context.Context, to *host) (*line, error) {
	s := e.net.s
	w := s.waiter()
	l := &line{e: e, host: to}
	var failed error
	answered := false
	c := e.net.dial(e.proc, to, func(_ *conn, err error) {
		failed, answered = err, true
		w.resume()
	})
	w.t.waitingFor(to.name, nil)
	why := s.wait(ctx, s.now+e.limit)
	switch {
	case answered && failed != nil:
		return nil, failed
	case answered:
		l.c = c
		c.end[0].onBreak = l.lose
		e.open = append(e.open, l)
		return l, nil
	}
	c.close(0)
	if why == cancelled {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("dial %s: %w: %w", to.name, env.ErrTimeout, env.ErrRefused)
}

// lose forgets a connection that the other side has closed.
func (l *line) lose() {
	l.broken = true
	l.e.idle = without(l.e.idle, l)
	l.e.open = without(l.e.open, l)
	if l.onLose != nil {
		l.onLose()
	}
}

// drop closes a connection that cannot be used any more.
func (l *line) drop() {
	if !l.broken {
		l.c.close(0)
		l.lose()
	}
}

func without(lines []*line, l *line) []*line {
	if i := slices.Index(lines, l); i >= 0 {
		return slices.Delete(lines, i, i+1)
	}
	return lines
}

// Do sends one command on this connection.
func (l *line) Do(ctx context.Context, args ...any) (any, error) { return l.do(ctx, words(args)) }

// Pinned is this connection itself.
func (l *line) Pinned(_ context.Context, f func(env.Redis) error) error { return f(l) }

func (l *line) do(ctx context.Context, args []string) (any, error) {
	return l.within(ctx, l.e.limit, args)
}

// within sends one command and waits for the reply, for limit at most.
func (l *line) within(ctx context.Context, limit time.Duration, args []string) (any, error) {
	s := l.e.net.s
	if s.mustRun(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if l.broken {
		return nil, fmt.Errorf("%s: the connection is gone: %w", l.host.name, env.ErrRefused)
	}
	x := &exchange{args: args, task: s.waiter()}
	l.c.request(x)
	x.task.t.waitingFor(l.host.name, args)
	until := s.now + limit
	why := s.wait(ctx, until)
	if p := x.task.t.program; x.ended && x.err == nil && p != nil && p.loses(x.task.t, args, x.reply) {
		x.ended, why = false, s.wait(ctx, until)
	}
	switch {
	case x.ended && x.err == nil:
		return l.understand(x.reply)
	case x.ended:
		return nil, fmt.Errorf("%s: %w", l.host.name, x.err)
	case why == cancelled:
		l.drop()
		return nil, ctx.Err()
	}
	l.drop()
	return nil, fmt.Errorf("%s: %w", l.host.name, env.ErrTimeout)
}

// understand makes an error reply an error. After READONLY the connection is
// given up, as client libraries do: it may lead to an old master.
func (l *line) understand(reply any) (any, error) {
	bad, isError := reply.(redis.Error)
	if !isError {
		return reply, nil
	}
	err := env.ServerError(bad)
	if err.Code() == "READONLY" {
		l.drop()
	}
	return nil, err
}

// Eval runs a script on this connection.
func (l *line) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (any, error) {
	tail := append([]string{strconv.Itoa(len(keys))}, keys...)
	tail = append(tail, words(args)...)
	reply, err := l.do(ctx, append([]string{"EVALSHA", script.SHA}, tail...))
	if bad, isReply := err.(env.ServerError); isReply && bad.Code() == "NOSCRIPT" {
		return l.do(ctx, append([]string{"EVAL", script.Source}, tail...))
	}
	return reply, err
}

// words writes arguments as a client library sends them.
func words(args []any) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		switch a := arg.(type) {
		case string:
			out[i] = a
		case []byte:
			out[i] = string(a)
		case int:
			out[i] = strconv.Itoa(a)
		case int64:
			out[i] = strconv.FormatInt(a, 10)
		case bool:
			out[i] = "0"
			if a {
				out[i] = "1"
			}
		case nil:
		case time.Duration:
			out[i] = strconv.FormatInt(int64(a), 10)
		case float64:
			out[i] = strconv.FormatFloat(a, 'f', -1, 64)
		default:
			out[i] = fmt.Sprint(a)
		}
	}
	return out
}

// waitingFor notes what the task is about to wait for.
func (t *task) waitingFor(server string, args []string) { t.server, t.request = server, args }

// doing says what the task is at, for messages.
func (t *task) doing() string {
	var parts []string
	if t.program != nil {
		parts = append(parts, t.program.doing())
	}
	switch {
	case t.server == "":
	case t.request == nil:
		parts = append(parts, "connecting to "+t.server)
	default:
		words := strings.Join(t.request, " ")
		if len(words) > 80 {
			words = words[:80] + "…"
		}
		parts = append(parts, words+" at "+t.server)
	}
	if parts == nil {
		return "no operation"
	}
	return strings.Join(parts, ", ")
}
