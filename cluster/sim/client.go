package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/resp"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/workload/env"
)

// endpoint is a client library's pool of connections to one server at a time.
// It never retries by itself what may have acted.
type endpoint struct {
	net   *vtime.Network
	proc  *vtime.Process
	limit time.Duration // of a dial and of a request
	// locate says where a new connection goes.
	locate func(context.Context) (*vtime.Machine, error)

	idle []*line // free connections, the last used last
	open []*line // all connections, oldest first
}

var _ env.Redis = (*endpoint)(nil)

// line is one connection of a pool.
type line struct {
	e      *endpoint
	c      *vtime.Conn
	box    *vtime.Machine
	broken bool
	onLose func() // called when the connection is gone
}

var _ env.Redis = (*line)(nil)

// newEndpoint makes an endpoint for one server.
func newEndpoint(n *vtime.Network, proc *vtime.Process, limit time.Duration, to *vtime.Machine) *endpoint {
	locate := func(context.Context) (*vtime.Machine, error) { return to, nil }
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
	e.net.Scheduler.MustRun()
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
func (e *endpoint) dial(ctx context.Context, to *vtime.Machine) (*line, error) {
	s := e.net.Scheduler
	l := &line{e: e, box: to}
	if e.net.Still {
		if l.c = e.net.Join(e.proc, to); l.c != nil {
			l.c.End[0].OnBreak = l.lose
			e.open = append(e.open, l)
			return l, nil
		}
	}
	w := s.Waiter()
	var failed error
	answered := false
	c := e.net.Dial(e.proc, to, func(_ *vtime.Conn, err error) {
		failed, answered = err, true
		w.Resume()
	})
	w.Task.WaitingFor(to.Name, nil)
	why := s.Wait(ctx, s.Now+e.limit)
	switch {
	case answered && failed != nil:
		return nil, failed
	case answered:
		l.c = c
		c.End[0].OnBreak = l.lose
		e.open = append(e.open, l)
		return l, nil
	}
	c.Close(0)
	if why == vtime.Cancelled {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("dial %s: %w: %w", to.Name, env.ErrTimeout, env.ErrRefused)
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
		l.c.Close(0)
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
	s := l.e.net.Scheduler
	s.MustRun()
	x := &vtime.Exchange{Args: args}
	if s.Watcher != nil {
		s.Watcher.Sends(x, l.box)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if l.broken {
		return nil, fmt.Errorf("%s: the connection is gone: %w", l.box.Name, env.ErrRefused)
	}
	x.Task = s.Waiter()
	l.c.Request(x)
	x.Task.Task.WaitingFor(l.box.Name, args)
	until := s.Now + limit
	why := s.Wait(ctx, until)
	if p := x.Task.Task.Program; x.Ended && x.Err == nil && p != nil && p.Loses(x.Task.Task, args, x.Reply) {
		x.Ended, why = false, s.Wait(ctx, until)
	}
	switch {
	case x.Ended && x.Err == nil:
		return l.understand(x.Reply)
	case x.Ended:
		return nil, fmt.Errorf("%s: %w", l.box.Name, x.Err)
	case why == vtime.Cancelled:
		l.drop()
		return nil, ctx.Err()
	}
	l.drop()
	return nil, fmt.Errorf("%s: %w", l.box.Name, env.ErrTimeout)
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
	if l.e.net.Still {
		return l.do(ctx, append([]string{"EVAL", script.Source}, tail...))
	}
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

// known is what a Redis server or a Sentinel knows of one client.
type known struct {
	wrote int64 // replication offset after the client's last write

	front    *resp.Session           // of a wire: the client writes bytes
	switched func(before, now *node) // of a wire: a Sentinel tells it so
}

func knownOf(s *vtime.Session) *known {
	k, ok := s.Known.(*known)
	if !ok {
		k = &known{}
		s.Known = k
	}
	return k
}
