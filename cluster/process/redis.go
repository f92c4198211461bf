//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockcheck/lockcheck/workload/env"
)

// dialFunc connects to a server by the address that it is known by.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// clientOptions are the settings of every go-redis client that a design uses.
// The library must not retry on its own: an unseen retry makes a history a
// lie. A dial ends before its call does, so that the call knows that nothing
// was sent.
type clientOptions struct {
	dial  dialFunc
	limit time.Duration // of one call
	pool  int
}

func (o clientOptions) dialLimit() time.Duration { return o.limit * 3 / 4 }

// MasterName is what the sentinels call the master that they watch.
const MasterName = "mymaster"

// NoMaintenance keeps go-redis from asking servers for notices that none of ours
// has.
var NoMaintenance = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

// single is a client of one server.
func (o clientOptions) single(addr string) *redisConn {
	c := redis.NewClient(&redis.Options{
		Addr: addr, Dialer: o.dial, Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: o.dialLimit(),
		ReadTimeout: o.limit, WriteTimeout: o.limit, PoolTimeout: o.limit, PoolSize: o.pool,
		ContextTimeoutEnabled: true, MaintNotificationsConfig: NoMaintenance,
	})
	c.AddHook(dialHook{})
	return o.of(c)
}

// failover is a client that asks the sentinels where the master is, or a
// replica.
func (o clientOptions) failover(sentinels []string, replica bool) *redisConn {
	c := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: MasterName, SentinelAddrs: sentinels, ReplicaOnly: replica,
		Dialer: o.dial, Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: o.dialLimit(),
		ReadTimeout: o.limit, WriteTimeout: o.limit, PoolTimeout: o.limit, PoolSize: o.pool,
		ContextTimeoutEnabled: true,
	})
	c.AddHook(dialHook{})
	return o.of(c)
}

func (o clientOptions) of(c *redis.Client) *redisConn {
	return &redisConn{
		c: c, limit: o.limit, subscribe: c.Subscribe, close: c.Close,
		pin: func() (processor, func() error) { conn := c.Conn(); return conn, conn.Close },
	}
}

// dialHook marks whatever goes wrong before there is a connection, finding
// the master included.
type dialHook struct{}

func (dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		return conn, notSent(err)
	}
}

func (dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// processor is what the clients of go-redis have in common.
type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// redisConn is env.Redis over a client of go-redis, or over one connection.
type redisConn struct {
	c         processor
	limit     time.Duration
	pin       func() (processor, func() error) // nil: pinned already
	subscribe func(ctx context.Context, channels ...string) *redis.PubSub
	close     func() error
}

var _ env.Redis = (*redisConn)(nil)

// Do implements env.Redis.
func (r *redisConn) Do(ctx context.Context, args ...any) (any, error) {
	call, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	cmd := redis.NewCmd(call, args...)
	err := r.c.Process(call, cmd)
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, classify(ctx, err)
	}
	return plain(cmd.Val()), nil
}

// plain maps nested replies to what env.Redis promises.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	case error:
		if errors.Is(v, redis.Nil) {
			return nil
		}
		return env.ServerError(v.Error())
	}
	return v
}

// Eval implements env.Redis.
func (r *redisConn) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (any, error) {
	return eval(ctx, r.Do, script, keys, args)
}

// eval sends a script by its hash. A server that does not know the hash has
// done nothing: sending the source after that is no retry.
func eval(ctx context.Context, do func(context.Context, ...any) (any, error), script *env.Script, keys []string, args []any) (any, error) {
	full := make([]any, 0, 3+len(keys)+len(args))
	full = append(full, "EVALSHA", script.SHA, len(keys))
	for _, k := range keys {
		full = append(full, k)
	}
	full = append(full, args...)
	v, err := do(ctx, full...)
	var refused env.ServerError
	if errors.As(err, &refused) && refused.Code() == "NOSCRIPT" {
		full[0], full[1] = "EVAL", script.Source
		return do(ctx, full...)
	}
	return v, err
}

// Pinned implements env.Redis.
func (r *redisConn) Pinned(ctx context.Context, f func(env.Redis) error) error {
	if r.pin == nil {
		return f(r)
	}
	c, release := r.pin()
	defer release() // an error of giving a connection back is nobody's concern
	return f(&redisConn{c: c, limit: r.limit, subscribe: r.subscribe})
}

// Subscribe implements env.Redis. It returns when the server has confirmed.
func (r *redisConn) Subscribe(ctx context.Context, channel string) (func(context.Context, time.Duration) (string, bool, error), func(), error) {
	call, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	sub := r.subscribe(call, channel)
	if _, err := sub.Receive(call); err != nil {
		_ = sub.Close()
		return nil, nil, classify(ctx, err)
	}
	next := func(ctx context.Context, limit time.Duration) (string, bool, error) {
		return nextMessage(ctx, sub, limit)
	}
	return next, func() { _ = sub.Close() }, nil
}

func nextMessage(ctx context.Context, sub *redis.PubSub, limit time.Duration) (string, bool, error) {
	for deadline := time.Now().Add(limit); ; {
		left := time.Until(deadline)
		if left <= 0 {
			return "", false, nil
		}
		got, err := sub.ReceiveTimeout(ctx, left)
		if m, ok := got.(*redis.Message); ok {
			return m.Payload, true, nil
		}
		if err != nil && ctx.Err() == nil && IsTimeout(err) {
			return "", false, nil
		}
		if err != nil {
			return "", false, classify(ctx, err)
		}
	}
}

// QuietRedis keeps go-redis from printing.
func QuietRedis(log *slog.Logger) { redis.SetLogger(redisTalk{log}) }

// redisTalk hands what go-redis prints to a logger.
type redisTalk struct{ log *slog.Logger }

func (t redisTalk) Printf(ctx context.Context, format string, v ...any) {
	t.log.DebugContext(ctx, fmt.Sprintf(format, v...))
}
