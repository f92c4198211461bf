package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/standalone"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/locktest"
)

// world plays one scene.
type world struct {
	cfg      Config
	clock    *clock
	prefix   string
	server   string // address
	fake     *standalone.Server
	listener net.Listener // of fake

	mu      sync.Mutex
	players []*player
	playing int // programs that have not returned
}

var _ locktest.Outsider = (*world)(nil)

var scenes atomic.Int64

func newWorld(cfg Config) (*world, error) {
	w := &world{
		cfg: cfg, clock: &clock{start: time.Now()}, server: cfg.Redis,
		prefix: fmt.Sprintf("lc:%d-%d:", os.Getpid(), scenes.Add(1)),
	}
	if cfg.Redis != "" {
		return w, nil
	}
	var err error
	if w.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	w.server, w.fake = w.listener.Addr().String(), standalone.New()
	go func() { _ = w.fake.Serve(w.listener) }() // until close
	return w, nil
}

// close ends everything.
func (w *world) close() {
	for _, p := range w.all() {
		_ = p.child.Kill() // an error was told when it was to end
		p.links.close()
	}
	if w.fake != nil {
		_ = w.listener.Close()
		w.fake.Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), forgetLimit)
	defer cancel()
	_ = w.forget(ctx) // what is left ends with its lease
}

const forgetLimit = 2 * time.Second

func (w *world) all() []*player {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.players)
}

// Away implements locktest.Outsider.
func (w *world) Away() time.Duration { return w.cfg.Away }

// Play implements locktest.World.
func (w *world) Play(ctx context.Context, s locktest.Scene) error {
	for n := range s.Workers {
		if _, err := w.hire(n); err != nil {
			return err
		}
	}
	for _, p := range w.all() {
		if _, err := p.child.Await(ctx); err != nil {
			return fmt.Errorf("worker %d: %w", p.number, err)
		}
	}
	if err := s.Prepare(ctx, &env.Env{Clock: w.clock, Stock: nothing{}}); err != nil {
		return err
	}
	errs := make([]error, s.Workers+1)
	var all sync.WaitGroup
	w.playing = s.Workers
	if s.Direct != nil {
		all.Go(func() { errs[s.Workers] = s.Direct(ctx, director{w}) })
	}
	for n, p := range w.all() {
		all.Go(func() { errs[n] = w.perform(ctx, s.Program, p) })
	}
	all.Wait()
	for _, p := range w.all() {
		if found := p.child.Findings(); len(found) > 0 {
			errs = append(errs, fmt.Errorf("worker %d: %w", p.number, findingsError(found)))
		}
		errs = append(errs, p.links.problem())
	}
	return errors.Join(errs...)
}

// perform runs the script of one player. When that is over its program dies
// without a word, unless it is the last one: that may end.
func (w *world) perform(ctx context.Context, program env.Worker, p *player) error {
	w.clock.baton.Lock()
	e := &env.Env{
		Clock: w.clock, Rand: rand.New(rand.NewPCG(uint64(p.number), 1)), Own: p, Stock: nothing{},
		Worker: p.number, Hostname: histories.WorkerName(p.number), PID: p.child.PID(),
	}
	err := program(ctx, nil, e, nil)
	w.playing--
	last := w.playing == 0
	w.clock.baton.Unlock()
	if last && !p.links.killed() {
		return errors.Join(err, p.child.End())
	}
	return errors.Join(err, p.child.Kill())
}

// lines are the conversations of all workers, by time.
func (w *world) lines() (all []Line) {
	for _, p := range w.all() {
		for _, l := range p.child.Lines() {
			all = append(all, Line{p.number, l})
		}
	}
	slices.SortStableFunc(all, func(a, b Line) int { return cmp.Compare(a.At, b.At) })
	return all
}

// director cuts the players off.
type director struct{ w *world }

// Sleep implements locktest.Director. A director has no part in the play.
func (d director) Sleep(ctx context.Context, t time.Duration) error {
	select {
	case <-time.After(t):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Inject implements locktest.Director.
func (d director) Inject(_ context.Context, f histories.Fault) error {
	for _, p := range d.w.all() {
		switch {
		case f.F == histories.Heal:
			p.links.cut(false)
		case f.F == histories.Partition && slices.Contains(f.From, histories.WorkerName(p.number)):
			p.links.cut(true)
		}
	}
	return nil
}

// forget deletes all keys of the scene.
func (w *world) forget(ctx context.Context) error {
	if w.fake != nil {
		w.fake.Do("FLUSHALL")
		return nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.server)
	if err != nil {
		return err
	}
	defer conn.Close()
	if end, has := ctx.Deadline(); has {
		_ = conn.SetDeadline(end)
	}
	const script = `for _, key in ipairs(redis.call('keys', ARGV[1])) do redis.call('del', key) end return 1`
	pattern := w.prefix + "*"
	if _, err := fmt.Fprintf(conn, "*4\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n0\r\n$%d\r\n%s\r\n", len(script), script, len(pattern), pattern); err != nil {
		return err
	}
	reply := make([]byte, 4)
	if _, err := conn.Read(reply); err != nil || string(reply) != ":1\r\n" {
		return fmt.Errorf("deleting %s: %w, answer %q", pattern, err, reply)
	}
	return nil
}

// nothing is a Redis that nobody asks: the scenes sell nothing.
type nothing struct{ env.Redis }

// Do implements env.Redis.
func (nothing) Do(context.Context, ...any) (any, error) { return nil, nil }

// hire starts the program of one worker, with a proxy of its own.
func (w *world) hire(number int) (*player, error) {
	p := &player{world: w, number: number}
	links, err := openLinks(w.server, w.prefix)
	if err != nil {
		return nil, err
	}
	p.links = links
	if p.child, err = start(w, p, protocol.Hello{
		Worker: number, Seed: uint32(number + 1), TTL: w.cfg.TTL.Milliseconds(), Wait: 50, Prefix: w.prefix, Redis: []string{links.addr()},
	}); err != nil {
		links.close()
		return nil, err
	}
	links.kill = func() { _ = p.child.Kill() }
	w.mu.Lock()
	defer w.mu.Unlock()
	w.players = append(w.players, p)
	return p, nil
}
