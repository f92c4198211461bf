package workload_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// fakeRedis knows the few commands and scripts that the first designs need.
// It runs inside a testing/synctest bubble, whose clock is virtual.
type fakeRedis struct {
	mu     sync.Mutex
	values map[string]string
	ends   map[string]time.Time
	lists  map[string][]any
}

func newFakeRedis() *fakeRedis {
	return &fakeRedis{values: map[string]string{}, ends: map[string]time.Time{}, lists: map[string][]any{}}
}

const fakeLatency = 200 * time.Microsecond

func (r *fakeRedis) Do(_ context.Context, args ...any) (any, error) {
	time.Sleep(fakeLatency)
	defer time.Sleep(fakeLatency)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := make([]string, len(args))
	for i, a := range args {
		s[i] = fmt.Sprint(a)
	}
	return r.do(s)
}

func (r *fakeRedis) do(a []string) (any, error) {
	switch a[0] {
	case "SET":
		if _, held := r.get(a[1]); held && slices.Contains(a, "NX") {
			return nil, nil
		}
		r.values[a[1]] = a[2]
		delete(r.ends, a[1])
		if i := slices.Index(a, "PX"); i > 0 {
			ms, _ := strconv.Atoi(a[i+1])
			r.ends[a[1]] = time.Now().Add(time.Duration(ms) * time.Millisecond)
		}
		return "OK", nil
	case "MSET":
		for pair := range slices.Chunk(a[1:], 2) {
			r.values[pair[0]] = pair[1]
		}
		return "OK", nil
	case "GET":
		if v, ok := r.get(a[1]); ok {
			return v, nil
		}
		return nil, nil
	case "DEL":
		_, held := r.get(a[1])
		delete(r.values, a[1])
		return map[bool]int64{true: 1}[held], nil
	case "DECRBY":
		return r.add(a[1], "-"+a[2]), nil
	case "INCRBY":
		return r.add(a[1], a[2]), nil
	case "RPUSH":
		r.lists[a[1]] = append(r.lists[a[1]], a[2])
		return int64(len(r.lists[a[1]])), nil
	case "LRANGE":
		return r.lists[a[1]], nil
	}
	return nil, env.ServerError("ERR unknown command " + a[0])
}

func (r *fakeRedis) get(key string) (string, bool) {
	if end, ok := r.ends[key]; ok && !time.Now().Before(end) {
		delete(r.values, key)
		delete(r.ends, key)
	}
	v, ok := r.values[key]
	return v, ok
}

func (r *fakeRedis) add(key, by string) int64 {
	v, _ := r.get(key)
	n, _ := strconv.ParseInt(v, 10, 64)
	d, _ := strconv.ParseInt(by, 10, 64)
	r.values[key] = strconv.FormatInt(n+d, 10)
	return n + d
}

func (r *fakeRedis) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (any, error) {
	time.Sleep(fakeLatency)
	defer time.Sleep(fakeLatency)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch script.Name {
	case "release":
		if v, ok := r.get(keys[0]); ok && v == args[0] {
			return r.do([]string{"DEL", keys[0]})
		}
		return int64(0), nil
	case "sell":
		v, _ := r.get(keys[0])
		seen, _ := strconv.ParseInt(v, 10, 64)
		qty := args[0].(int64)
		if seen < qty {
			return []any{int64(0), seen}, nil
		}
		r.lists[keys[1]] = append(r.lists[keys[1]], args[1])
		return []any{int64(1), r.add(keys[0], strconv.FormatInt(-qty, 10))}, nil
	}
	return nil, env.ServerError("NOSCRIPT")
}

func (r *fakeRedis) Pinned(_ context.Context, f func(env.Redis) error) error { return f(r) }

func (r *fakeRedis) Subscribe(context.Context, string) (func(context.Context, time.Duration) (string, bool, error), func(), error) {
	return nil, nil, env.ServerError("ERR unknown command SUBSCRIBE")
}

// fakeClock is the bubble's clock.
type fakeClock struct{ start time.Time }

func (c fakeClock) Now() time.Duration { return time.Since(c.start) }
func (c fakeClock) Wall() time.Time    { return time.Now() }

func (c fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c fakeClock) Every(context.Context, time.Duration, func(context.Context) bool) func() {
	panic("no design of these tests has a background task")
}

// fakeWire keeps what it is told, in order.
type fakeWire struct {
	mu     sync.Mutex
	clock  fakeClock
	phase  env.Phase
	events []histories.Event
}

func (w *fakeWire) Emit(e histories.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.Time = cmp.Or(e.Time, int64(w.clock.Now()))
	w.events = append(w.events, e)
}

func (w *fakeWire) Phase() env.Phase {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.phase
}

func (w *fakeWire) enter(p env.Phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.phase = p
}

// fakeEnv is the Env of one worker.
func fakeEnv(worker int, clock fakeClock, lock, stock *fakeRedis) *env.Env {
	return &env.Env{
		Clock: clock, Rand: rand.New(rand.NewPCG(1, uint64(worker))),
		Lock: []env.Redis{lock}, Stock: stock,
		Worker: worker, Hostname: fmt.Sprintf("worker-%d", worker), PID: 1,
	}
}
