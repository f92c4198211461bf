//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// World is what the workers of one process share: links, clients, memory.
type World struct {
	servers Servers
	links   map[string]*link // by name of server
	byAddr  map[string]*link
	memory  *memory
	limit   time.Duration

	lock     []env.Redis
	replicas []env.Redis
	stock    env.Redis
	sql      env.SQL
	queue    env.Queue
	closers  []func() error
}

// NewWorld makes the clients of the servers, whose connections have the host's
// name; limit bounds each call. Nothing is dialled yet. Close ends it.
func NewWorld(s Servers, limit time.Duration, seed uint64, host string, workers int) *World {
	w := &World{servers: s, links: map[string]*link{}, byAddr: map[string]*link{}, memory: newMemory(), limit: limit}
	for i, e := range s.all() {
		l := &link{name: e.Name, dial: e.Dial, rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		if host != "" && isRedis(s, e) {
			l.greeting = greeting(host)
		}
		w.links[e.Name], w.byAddr[e.Addr] = l, l
	}
	// Each worker may have a call of its own, a periodic task and a
	// subscription in flight.
	o := clientOptions{dial: w.dial, limit: limit, pool: 4 + 4*workers}
	w.connectLock(o)
	if s.Stock != nil {
		w.stock = w.keep(o.single(s.Stock.Addr))
	} else if len(w.lock) > 0 {
		w.stock = w.lock[0]
	}
	if s.SQL != nil {
		db := openSQL(w, o)
		w.sql = db
		w.closers = append(w.closers, db.Close)
	}
	if s.Queue != nil {
		q := openQueue(w, o)
		w.queue = q
		w.closers = append(w.closers, q.close)
	}
	return w
}

// connectLock makes the clients of the lock service.
func (w *World) connectLock(o clientOptions) {
	switch kind := w.servers.Lock; {
	case kind.Independent():
		for _, e := range w.servers.Redis {
			w.lock = append(w.lock, w.keep(o.single(e.Addr)))
		}
	case kind == env.Sentinel:
		addrs := addresses(w.servers.Sentinels)
		w.lock = []env.Redis{w.keep(o.failover(addrs, false))}
		w.replicas = []env.Redis{w.keep(o.failover(addrs, true))}
	case kind == env.RedisCluster:
		c := o.cluster(addresses(w.servers.Redis))
		w.lock = []env.Redis{c}
		w.closers = append(w.closers, c.close)
	}
}

func (w *World) keep(c *redisConn) *redisConn {
	w.closers = append(w.closers, c.close)
	return c
}

func addresses(list []Endpoint) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.Addr
	}
	return out
}

// dial connects by the address that a server is known by.
func (w *World) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	l := w.byAddr[addr]
	if l == nil {
		return nil, fmt.Errorf("dial %s: no server of this cluster", addr)
	}
	return l.connect(ctx)
}

// Close ends the connections of all clients.
func (w *World) Close() error {
	errs := make([]error, 0, len(w.closers))
	for _, f := range slices.Backward(w.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// Env is the Env of one worker in this world; number -1 is the director's.
func (w *World) Env(number int, seed uint64, c *Clock) *env.Env {
	return env.Unrecorded(&env.Env{
		Clock: c,
		Rand:  rand.New(rand.NewPCG(seed, uint64(number)+1)),
		Lock:  w.lock, Replicas: w.replicas, Stock: w.stock, SQL: w.sql, Queue: w.queue,
		Local: w.memory, Worker: number,
	})
}

// all lists every server.
func (s Servers) all() []Endpoint {
	list := slices.Concat(s.Redis, s.Sentinels)
	for _, e := range []*Endpoint{s.Stock, s.SQL, s.Queue} {
		if e != nil {
			list = append(list, *e)
		}
	}
	return list
}

// memory is env.Local.
type memory struct {
	mu      sync.Mutex
	numbers map[string]int64
	queues  map[string][]chan struct{} // the first is in, the others wait behind it
}

var _ env.Local = (*memory)(nil)

func newMemory() *memory {
	return &memory{numbers: map[string]int64{}, queues: map[string][]chan struct{}{}}
}

// Add implements env.Local.
func (m *memory) Add(name string, delta int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.numbers[name] += delta
	return m.numbers[name]
}

// Enter implements env.Local. Each in the queue has a channel that is closed
// when its turn has come.
func (m *memory) Enter(ctx context.Context, name string, limit time.Duration) (leave func(), ok bool, err error) {
	turn := make(chan struct{})
	m.mu.Lock()
	m.queues[name] = append(m.queues[name], turn)
	if len(m.queues[name]) == 1 {
		close(turn)
	}
	m.mu.Unlock()
	leave = sync.OnceFunc(func() { m.leave(name, turn) })
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-turn:
		return leave, true, nil
	case <-t.C:
		leave()
		return func() {}, false, nil
	case <-ctx.Done():
		leave()
		return func() {}, false, ctx.Err()
	}
}

func (m *memory) leave(name string, turn chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[name]
	i := slices.Index(q, turn)
	q = slices.Delete(q, i, i+1)
	m.queues[name] = q
	if i == 0 && len(q) > 0 {
		close(q[0])
	}
	if len(q) == 0 {
		delete(m.queues, name)
	}
}
