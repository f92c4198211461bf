package locktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/histories"
)

// worker takes locks, works, renews and releases, and records what it is told.
type worker struct {
	scene  *scene
	number int
	name   string // "worker-0"
	rand   *rand.Rand
	gate   gate // shut while the worker is paused
	routes []*route

	mu       sync.Mutex
	life     *life
	holding  string // the key that it holds, "" if none
	lives    int
	links    int  // that it ever dialed
	deadline bool // its holds have one
	notice   bool // its holds tell of their loss
}

// life is a worker from its start to its crash: what dies together.
type life struct {
	worker *worker
	ctx    context.Context
	die    context.CancelFunc
	lock   Lock
	close  func()

	mu    sync.Mutex
	dead  bool
	conns map[io.Closer]bool
}

func newWorker(s *scene, number int) *worker {
	w := &worker{scene: s, number: number, name: "worker-" + strconv.Itoa(number), rand: s.stream(ofWorker, number)}
	for range s.servers {
		w.routes = append(w.routes, &route{})
	}
	return w
}

// live lives one life after the other.
func (w *worker) live() {
	w.pause(time.Duration(w.rand.Int64N(int64(50 * time.Millisecond))))
	for {
		l := w.born()
		if w.work(l) {
			return
		}
		w.pause(500 * time.Millisecond)
	}
}

// born begins a life, with clients and a lock of its own.
func (w *worker) born() *life {
	l := &life{worker: w, conns: map[io.Closer]bool{}}
	l.ctx, l.die = context.WithCancel(context.Background())
	var clients []redis.UniversalClient
	for i := range w.scene.servers {
		o := &redis.UniversalOptions{MinRetryBackoff: -1, MaxRetryBackoff: -1}
		if change := w.scene.Options; change != nil {
			change(o)
		}
		// An address without a name: a resolver waits outside the bubble.
		o.Addrs, o.Dialer = []string{address(i)}, l.dialer(i)
		clients = append(clients, redis.NewUniversalClient(o))
	}
	l.lock = w.scene.make(clients)
	l.close = func() {
		if c, ok := l.lock.(io.Closer); ok {
			_ = c.Close()
		}
		for _, c := range clients {
			_ = c.Close()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.life = l
	w.lives++
	return l
}

// end ends the worker's last life, at the end of the scene.
func (w *worker) end() {
	w.gate.open()
	w.mu.Lock()
	l := w.life
	w.mu.Unlock()
	l.die()
	l.close()
}

// crash kills the life: it records nothing more, and its connections end.
func (l *life) crash() {
	l.mu.Lock()
	l.dead = true
	l.mu.Unlock()
	l.die() // before its connections end: nothing is to be tried again
	l.mu.Lock()
	for c := range l.conns {
		_ = c.Close()
	}
	l.mu.Unlock()
	l.worker.hold("")
	go func() {
		time.Sleep(time.Millisecond) // what waited for a connection has heard of it
		l.close()
	}()
}

func (l *life) crashed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

func (w *worker) hold(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holding = key
}

// nextLink numbers the links of a worker.
func (w *worker) nextLink() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links++
	return w.links
}

func (w *worker) holds() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.holding != ""
}

// pause is a time in which the worker does nothing, and as much more as it is
// paused by others.
func (w *worker) pause(d time.Duration) {
	time.Sleep(d)
	w.gate.pass()
}

// random is a time from low to high.
func (w *worker) random(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rand.Int64N(int64(high-low)+1))
}

// work takes locks until the scene is over; false if the worker crashed.
func (w *worker) work(l *life) (done bool) {
	s := w.scene
	for s.now() < s.Time && !l.crashed() {
		w.visit(l, key(w.rand.IntN(s.Keys)), false)
		w.pause(w.random(time.Millisecond, s.span()/20))
	}
	if l.crashed() {
		return false
	}
	<-s.final
	time.Sleep(time.Duration(w.number) * time.Millisecond) // never two at one instant, whose order nothing decides
	for i := w.number; i < s.Keys; i += s.Workers {
		w.last(l, key(i))
	}
	return true
}

// last tries a key until the lock is granted or the scene is over.
func (w *worker) last(l *life, key string) {
	for {
		if w.visit(l, key, true) {
			return
		}
		select {
		case <-w.scene.over:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func key(i int) string { return "stock:sku-" + strconv.Itoa(i) }

// visit takes the lock of a key, works and releases it.
func (w *worker) visit(l *life, key string, final bool) (granted bool) {
	ctx, cancel := context.WithTimeout(l.ctx, w.scene.Wait)
	defer cancel()
	token := fmt.Sprintf("w%d-%d", w.number, w.scene.nextOp())
	end := l.begin(histories.Event{F: histories.Acquire, Key: key, Final: final})
	h, err := l.lock.Acquire(ctx, key)
	w.gate.pass()
	switch {
	case errors.Is(err, ErrBusy):
		end(histories.Event{Type: histories.Fail, Error: histories.Busy})
		return false
	case err == nil && h == nil:
		err = errors.New("neither a hold nor an error")
		fallthrough
	case err != nil:
		w.scene.failed(err)
		end(histories.Event{Type: histories.Info, Error: err.Error()})
		return false
	}
	end(histories.Event{Type: histories.OK, Token: token, Until: w.until(h)})
	g := &grant{life: l, hold: h, key: key, token: token}
	w.hold(key)
	g.watch()
	g.use(final)
	g.release()
	w.hold("")
	return true
}

// until is the deadline that a hold shows.
func (w *worker) until(h Hold) histories.Num {
	d, ok := h.(deadliner)
	if !ok {
		return histories.Num{}
	}
	w.mu.Lock()
	w.deadline = true
	w.mu.Unlock()
	return histories.At(max(0, d.Until().Sub(w.scene.start)))
}

// begin records an invocation and returns what records its completion.
func (l *life) begin(e histories.Event) func(histories.Event) {
	w := l.worker
	w.gate.pass()
	e.Op, e.Process, e.Type = w.scene.nextOp(), histories.Process(w.number), histories.Invoke
	l.record(e)
	return func(done histories.Event) {
		done.Op, done.Process, done.F = e.Op, e.Process, e.F
		l.record(done)
	}
}

// record records an event of a worker that is alive.
func (l *life) record(e histories.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	e.Time = int64(l.worker.scene.now())
	l.worker.scene.record(e)
}

// grant is one grant in a worker's hands.
type grant struct {
	life       *life
	hold       Hold
	key, token string

	mu   sync.Mutex
	lost bool
	done chan struct{} // closed before the release
}

// watch records it when the lock tells of its loss.
func (g *grant) watch() {
	g.done = make(chan struct{})
	l, ok := g.hold.(loser)
	if !ok {
		return
	}
	w := g.life.worker
	w.mu.Lock()
	w.notice = true
	w.mu.Unlock()
	go func() {
		select {
		case <-g.done:
			return
		case <-l.Lost():
		}
		w.gate.pass()
		g.mu.Lock()
		defer g.mu.Unlock()
		select {
		case <-g.done:
			return
		default:
		}
		g.lost = true
		g.life.record(histories.Event{F: histories.Lost, Process: histories.Process(w.number), Type: histories.Info, Key: g.key, Token: g.token})
	}()
}

func (g *grant) isLost() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost
}

// use works under the lock. Without a renewal it is done well within the lease.
func (g *grant) use(final bool) {
	w := g.life.worker
	span := w.scene.span()
	_, extends := g.hold.(extender)
	pieces, longest := 1, span/3
	switch {
	case final:
		longest = span / 50
	case extends:
		pieces, longest = 1+w.rand.IntN(6), span/4
	case w.scene.Renews:
		pieces, longest = 1+w.rand.IntN(6), span/2
	}
	for i := range pieces {
		w.pause(w.random(span/100, longest))
		if g.isLost() || g.life.crashed() {
			return
		}
		if extends && i < pieces-1 && !g.extend() {
			return
		}
	}
}

// extend renews the lease and says whether the lock may still be held.
func (g *grant) extend() bool {
	end := g.life.begin(histories.Event{F: histories.Extend, Key: g.key, Token: g.token})
	ctx, cancel := context.WithTimeout(g.life.ctx, g.life.worker.scene.Wait)
	defer cancel()
	err := g.hold.(extender).Extend(ctx)
	g.life.worker.gate.pass()
	switch {
	case err == nil:
		end(histories.Event{Type: histories.OK, Until: g.life.worker.until(g.hold)})
	case errors.Is(err, ErrNotOwner):
		end(histories.Event{Type: histories.Fail, Error: histories.NotOwner})
		return false
	default:
		end(histories.Event{Type: histories.Info, Error: err.Error()})
	}
	return true
}

func (g *grant) release() {
	g.mu.Lock()
	close(g.done)
	g.mu.Unlock()
	if g.life.crashed() {
		return
	}
	end := g.life.begin(histories.Event{F: histories.Release, Key: g.key, Token: g.token})
	ctx, cancel := context.WithTimeout(g.life.ctx, g.life.worker.scene.Wait)
	defer cancel()
	err := g.hold.Release(ctx)
	g.life.worker.gate.pass()
	switch {
	case err == nil:
		end(histories.Event{Type: histories.OK})
	case errors.Is(err, ErrNotOwner):
		end(histories.Event{Type: histories.Fail, Error: histories.NotOwner})
	default:
		end(histories.Event{Type: histories.Info, Error: err.Error()})
	}
}
