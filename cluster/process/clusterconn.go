//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/workload/env"
)

// clusterConn is env.Redis over a Redis Cluster. It follows MOVED itself: told
// to redirect, the client library would also send again what was lost on the
// way, unseen.
type clusterConn struct {
	*redisConn
	cluster *redis.ClusterClient
	options clientOptions

	mu    sync.Mutex
	moved map[string]*redisConn // clients of the servers that MOVED named
}

var _ env.Redis = (*clusterConn)(nil)

// clusterRedirects bounds following MOVED for one command.
const clusterRedirects = 3

func (o clientOptions) cluster(seeds []string) *clusterConn {
	c := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: seeds, Protocol: 2, DisableIdentity: true, MaxRedirects: -1, MaxRetries: -1,
		Dialer: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
			conn, err = o.dial(ctx, network, addr)
			return conn, notSent(err)
		},
		DialerRetries: 1, DialTimeout: o.dialLimit(), ReadTimeout: o.limit, WriteTimeout: o.limit,
		PoolTimeout: o.limit, PoolSize: o.pool, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: NoMaintenance, DisableRoutingPolicies: true,
	})
	r := &clusterConn{cluster: c, options: o, moved: map[string]*redisConn{}}
	r.redisConn = &redisConn{c: c, limit: o.limit, subscribe: c.Subscribe, close: r.closeAll}
	return r
}

func (r *clusterConn) closeAll() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := []error{r.cluster.Close()}
	for _, c := range r.moved {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// Do implements env.Redis.
func (r *clusterConn) Do(ctx context.Context, args ...any) (any, error) {
	v, err := r.redisConn.Do(ctx, args...)
	for range clusterRedirects {
		if err == nil {
			return v, nil
		}
		// The library looks where the slots are only when it may redirect.
		r.cluster.ReloadState(context.WithoutCancel(ctx))
		addr, ok := movedTo(err)
		if !ok {
			return v, err
		}
		// The slot's old owner has refused, so that nothing was done.
		v, err = r.at(addr).Do(ctx, args...)
	}
	return v, err
}

// movedTo is the address in a MOVED reply: "MOVED 3999 10.0.0.1:6379".
func movedTo(err error) (addr string, ok bool) {
	var refused env.ServerError
	if !errors.As(err, &refused) || refused.Code() != "MOVED" {
		return "", false
	}
	words := strings.Fields(string(refused))
	if len(words) != 3 {
		return "", false
	}
	return words[2], true
}

// at is a client of one server.
func (r *clusterConn) at(addr string) *redisConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moved[addr] == nil {
		r.moved[addr] = r.options.single(addr)
	}
	return r.moved[addr]
}

// Eval implements env.Redis.
func (r *clusterConn) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (any, error) {
	return eval(ctx, r.Do, script, keys, args)
}

// Pinned implements env.Redis: the connection is made at the first command
// that has a key, to that key's master.
func (r *clusterConn) Pinned(ctx context.Context, f func(env.Redis) error) error {
	p := &clusterPin{r: r}
	defer p.end()
	return f(p)
}

// clusterPin is one connection to one master.
type clusterPin struct {
	r       *clusterConn
	conn    processor
	release func() error
}

var _ env.Redis = (*clusterPin)(nil)

// Do implements env.Redis.
func (p *clusterPin) Do(ctx context.Context, args ...any) (any, error) {
	if p.conn != nil {
		return p.send(ctx, args)
	}
	key, ok := keyOf(args)
	if !ok {
		return nil, fmt.Errorf("%v names no key, so no server: pin by a command that does", args[0])
	}
	master, err := p.r.cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, notSent(err)
	}
	conn := master.Conn()
	p.conn, p.release = conn, conn.Close
	v, err := p.send(ctx, args)
	if addr, ok := movedTo(err); ok {
		p.end()
		p.conn, p.release = p.r.at(addr).pin()
		return p.send(ctx, args)
	}
	return v, err
}

func (p *clusterPin) send(ctx context.Context, args []any) (any, error) {
	return (&redisConn{c: p.conn, limit: p.r.limit}).Do(ctx, args...)
}

// keyOf is the first key of a command.
func keyOf(args []any) (string, bool) {
	at := 1
	switch strings.ToUpper(fmt.Sprint(args[0])) {
	case "EVAL", "EVALSHA":
		at = 3
	case "WAIT", "PING", "TIME":
		return "", false
	}
	if len(args) <= at {
		return "", false
	}
	return fmt.Sprint(args[at]), true
}

// Eval implements env.Redis.
func (p *clusterPin) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (any, error) {
	return eval(ctx, p.Do, script, keys, args)
}

// Pinned implements env.Redis.
func (p *clusterPin) Pinned(_ context.Context, f func(env.Redis) error) error { return f(p) }

// Subscribe implements env.Redis.
func (p *clusterPin) Subscribe(ctx context.Context, channel string) (func(context.Context, time.Duration) (string, bool, error), func(), error) {
	return p.r.Subscribe(ctx, channel)
}

// end gives the connection back; an error of that is nobody's concern.
func (p *clusterPin) end() {
	if p.release != nil {
		_ = p.release()
	}
}
