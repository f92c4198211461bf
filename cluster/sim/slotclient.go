package sim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// slotClient is a client library's view of a Redis Cluster: it sends each
// command to the server that has the key's slot, and learns from MOVED.
type slotClient struct {
	nodes []*node
	pools []*endpoint // one per server
	table [shards]int // which server has which shard
	stale bool        // the table may be wrong: ask before the next command
	first int         // server to ask first
}

var _ env.Redis = (*slotClient)(nil)

// redirects is how often a command is sent on after MOVED.
const redirects = 3

func (c *system) slotted(p *vtime.Process) *slotClient {
	sc := &slotClient{nodes: c.site.redis, stale: true}
	for _, n := range c.site.redis {
		sc.pools = append(sc.pools, c.endpoint(p, n.box))
	}
	sc.first = c.net.Rand.IntN(len(sc.pools))
	return sc
}

// Do sends one command to the server that has its key.
func (sc *slotClient) Do(ctx context.Context, args ...any) (any, error) {
	list := words(args)
	return sc.routed(ctx, list, func(e *endpoint) (any, error) { return e.do(ctx, list) })
}

// Eval runs a script where its keys are.
func (sc *slotClient) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (any, error) {
	route := append([]string{"DEL"}, keys...)
	return sc.routed(ctx, route, func(e *endpoint) (any, error) { return e.Eval(ctx, script, keys, args...) })
}

// routed calls send with the server for a command's keys, again after MOVED.
func (sc *slotClient) routed(ctx context.Context, args []string, send func(*endpoint) (any, error)) (any, error) {
	if err := sc.learn(ctx); err != nil {
		return nil, err
	}
	shard := sc.shard(args)
	for try := 0; ; try++ {
		reply, err := send(sc.pools[sc.table[shard]])
		if err == nil {
			return reply, nil
		}
		if to := sc.moved(err); to >= 0 && try < redirects {
			sc.table[shard] = to
			continue
		}
		if bad, isReply := err.(env.ServerError); !isReply || bad.Code() == "CLUSTERDOWN" {
			sc.stale = true
		}
		return nil, err
	}
}

func (sc *slotClient) shard(args []string) int {
	if keys := keysOf(args); len(keys) > 0 {
		return shardOf(slot(keys[0]))
	}
	return 0
}

// moved is the server to which MOVED sends; -1: it is another error.
func (sc *slotClient) moved(err error) int {
	bad, ok := err.(env.ServerError)
	if !ok || bad.Code() != "MOVED" {
		return -1
	}
	fields := strings.Fields(string(bad))
	return sc.server(strings.TrimSuffix(fields[len(fields)-1], ":6379"))
}

func (sc *slotClient) server(name string) int {
	for i, n := range sc.nodes {
		if n.name == name {
			return i
		}
	}
	return -1
}

// learn asks for the table of slots, if the one at hand may be wrong.
func (sc *slotClient) learn(ctx context.Context) error {
	for i := 0; sc.stale && i < len(sc.pools); i++ {
		at := (sc.first + i) % len(sc.pools)
		reply, err := sc.pools[at].do(ctx, []string{"CLUSTER", "SLOTS"})
		rows, ok := reply.([]any)
		if err != nil || !ok {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		for shard, row := range rows {
			sc.table[shard] = sc.server(row.([]any)[2].([]any)[0].(string))
		}
		sc.stale, sc.first = false, at
	}
	if sc.stale {
		return fmt.Errorf("no server of the cluster answers: %w", env.ErrRefused)
	}
	return nil
}

// Pinned lends a connection to the server that has the first key used.
func (sc *slotClient) Pinned(ctx context.Context, f func(env.Redis) error) error {
	p := &pinned{sc: sc}
	defer p.giveBack()
	return f(p)
}

// Subscribe listens at one server: messages reach all.
func (sc *slotClient) Subscribe(ctx context.Context, channel string) (func(context.Context, time.Duration) (string, bool, error), func(), error) {
	if err := sc.learn(ctx); err != nil {
		return nil, nil, err
	}
	return sc.pools[sc.table[shardOf(slot(channel))]].Subscribe(ctx, channel)
}

// pinned is a connection that stays with the server of the first key.
type pinned struct {
	sc   *slotClient
	line *line
}

var _ env.Redis = (*pinned)(nil)

func (p *pinned) giveBack() {
	if p.line != nil && !p.line.broken {
		p.line.e.idle = append(p.line.e.idle, p.line)
	}
	p.line = nil
}

// on answers the connection for a command.
func (p *pinned) on(ctx context.Context, e *endpoint) (*line, error) {
	if p.line != nil && (p.line.e == e || p.line.broken) {
		return p.line, nil
	}
	p.giveBack()
	l, err := e.take(ctx)
	p.line = l
	return l, err
}

// Do sends a command with keys to their server, one without to where the
// last one went.
func (p *pinned) Do(ctx context.Context, args ...any) (any, error) {
	list := words(args)
	if len(keysOf(list)) == 0 && p.line != nil {
		return p.line.do(ctx, list)
	}
	return p.sc.routed(ctx, list, func(e *endpoint) (any, error) {
		l, err := p.on(ctx, e)
		if err != nil {
			return nil, err
		}
		return l.do(ctx, list)
	})
}

func (p *pinned) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (any, error) {
	return p.sc.routed(ctx, append([]string{"DEL"}, keys...), func(e *endpoint) (any, error) {
		l, err := p.on(ctx, e)
		if err != nil {
			return nil, err
		}
		return l.Eval(ctx, script, keys, args...)
	})
}

func (p *pinned) Pinned(_ context.Context, f func(env.Redis) error) error { return f(p) }

func (p *pinned) Subscribe(ctx context.Context, channel string) (func(context.Context, time.Duration) (string, bool, error), func(), error) {
	return p.sc.Subscribe(ctx, channel)
}
