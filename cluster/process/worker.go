//go:build unix

package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Main is a worker process: it reads from stdin which workers it has, runs
// program once for each of them, and writes their events to stdout. It returns
// when all have returned, or soon after stdin ended: then lockcheck is dead, and
// its workers end too.
func Main(ctx context.Context, stdin io.Reader, stdout io.Writer, program env.Worker) error {
	QuietRedis(slog.New(slog.DiscardHandler))
	lines := bufio.NewReaderSize(stdin, 1<<16)
	var h Hello
	if err := readLine(lines, &h); err != nil {
		return fmt.Errorf("worker: read hello from stdin: %w (this verb is for lockcheck itself)", err)
	}
	world := NewWorld(h.Servers, h.CallTimeout, h.Seed, h.Host, len(h.Workers))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &process{
		Hello: h, world: world, out: stdout, gates: map[int]*gate{}, work: map[int]*gate{}, ticks: map[int]*atomic.Bool{},
		open: map[int][]histories.Event{}, sprung: map[int64]bool{}, owns: map[int]*own{},
	}
	for _, n := range h.Workers {
		p.gates[n], p.work[n], p.ticks[n] = &gate{}, &gate{}, new(atomic.Bool)
	}
	p.obey(h.Control)
	go func() { cancel(p.listen(ctx, lines)) }()
	return errors.Join(p.run(ctx, program), world.Close())
}

// orphanGrace is how long the programs of an orphaned process may take to
// notice.
const orphanGrace = time.Second

var errOrphan = errors.New("parent process exited")

func readLine(r *bufio.Reader, v any) error {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// process is a worker process from inside.
type process struct {
	Hello
	world *World

	outMu sync.Mutex
	out   io.Writer

	phase atomic.Int32
	shift atomic.Pointer[ClockShift]
	gates map[int]*gate        // of the periodic tasks, by worker
	work  map[int]*gate        // of all else that they do
	ticks map[int]*atomic.Bool // whether they have periodic tasks

	mu       sync.Mutex
	ambushes []Ambush
	sprung   map[int64]bool
	open     map[int][]histories.Event // operations under way, by worker
	owns     map[int]*own              // programs beside workers
}

// run runs the workers and waits for them.
func (p *process) run(ctx context.Context, program env.Worker) error {
	errs := make(chan error, len(p.Workers))
	for _, n := range p.Workers {
		go func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel() // ends the worker's periodic tasks
			err := p.runOne(ctx, program, n)
			if err != nil && ctx.Err() == nil {
				err = fmt.Errorf("worker-%d: %w", n, err)
			}
			errs <- err
		}()
	}
	var all []error
	var orphaned <-chan time.Time
	done := ctx.Done()
	for len(all) < len(p.Workers) {
		select {
		case err := <-errs:
			all = append(all, err)
		case <-done:
			done, orphaned = nil, time.After(orphanGrace)
		case <-orphaned:
			return context.Cause(ctx)
		}
	}
	return errors.Join(all...)
}

func (p *process) env(ctx context.Context, n int) *env.Env {
	e := p.world.Env(n, p.Seed^uint64(p.Life)<<32, &Clock{start: p.Start, ctx: ctx, shift: &p.shift, held: p.gates[n], work: p.work[n], ticks: p.ticks[n]})
	e.Hostname, e.PID, e.Life = p.Host, os.Getpid(), p.Life
	e.Step = func(ctx context.Context, name string) error {
		return errors.Join(p.step(ctx, n, name), p.stay(ctx, n))
	}
	e.Lock, e.Stock, e.SQL = p.owned(n, e.Lock...), p.owned(n, e.Stock)[0], p.ownedSQL(n, e.SQL)
	return e
}

var _ env.Wire = (*process)(nil)

// Phase implements env.Wire.
func (p *process) Phase() env.Phase { return env.Phase(p.phase.Load()) }

// Emit implements env.Wire. The line has left this process when it returns: a
// worker that is killed in its next step has said what it did before.
func (p *process) Emit(e histories.Event) {
	p.outMu.Lock()
	defer p.outMu.Unlock()
	if e.Time == 0 {
		e.Time = monotonicNow() - p.Start
	}
	p.follow(e)
	line, err := e.Line()
	if err != nil {
		panic(fmt.Sprintf("process: event cannot be written: %v", err))
	}
	p.writeLine(line)
}

// say writes a note.
func (p *process) say(n Note) {
	p.outMu.Lock()
	defer p.outMu.Unlock()
	line, err := json.Marshal(n)
	if err != nil {
		panic(fmt.Sprintf("process: note cannot be written: %v", err))
	}
	p.writeLine(append([]byte("!"), line...))
}

// writeLine writes one line at once. If nobody reads any more, lockcheck is
// dead, and stdin has ended too: listen sees to it.
func (p *process) writeLine(line []byte) { _, _ = p.out.Write(append(line, '\n')) }

// listen obeys one control after another until stdin ends.
func (p *process) listen(ctx context.Context, lines *bufio.Reader) error {
	for {
		var c Control
		if err := readLine(lines, &c); err != nil {
			return errors.Join(errOrphan, err)
		}
		p.obey(c)
		p.say(p.look(ctx, c))
	}
}

// tryLimit is how long a server behind a cut link gets to answer.
const tryLimit = 50 * time.Millisecond

// look answers a control with what is so now.
func (p *process) look(ctx context.Context, c Control) Note {
	n := Note{Ack: c.Seq, Wall: c.Clock.At(time.Duration(monotonicNow() - p.Start))}
	var tried []*link
	for name, l := range p.world.links {
		n.Lost += l.lost.Load()
		if cut := c.Links[name]; cut.Out || cut.In {
			tried = append(tried, l)
		}
	}
	var mu sync.Mutex
	_ = wait.Each(tried, func(l *link) error { // one that is reached is no error
		if !l.reachable(ctx, tryLimit) {
			mu.Lock()
			defer mu.Unlock()
			n.Unreachable = append(n.Unreachable, l.name)
		}
		return nil
	})
	slices.Sort(n.Unreachable)
	return n
}

// obey makes a control come true.
func (p *process) obey(c Control) {
	p.phase.Store(int32(c.Phase))
	p.shift.Store(&c.Clock)
	for name, l := range p.world.links {
		l.cut(c.Links[name])
	}
	for n, g := range p.gates {
		g.set(slices.Contains(c.Frozen, n))
		p.work[n].set(slices.Contains(c.Still, n))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ambushes = c.Ambushes
}

// step is Env.Step: it runs into the ambush that is laid there, if one is.
func (p *process) step(ctx context.Context, worker int, name string) error {
	a, ok := p.ambush(func(a Ambush) bool { return a.F != histories.Loss && a.Worker == worker && a.Step == name })
	if !ok {
		return nil
	}
	p.say(Note{Hit: a.ID, At: time.Duration(monotonicNow() - p.Start)})
	switch a.F {
	case histories.Crash:
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case histories.Pause:
		defer p.freeze(worker)()
		return stopHere()
	}
	return wait.Sleep(ctx, a.For)
}

// ambush is the first ambush that fits and was not run into yet.
func (p *process) ambush(fits func(Ambush) bool) (Ambush, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.ambushes {
		once := a.F != histories.Delay
		if !fits(a) || once && p.sprung[a.ID] {
			continue
		}
		p.sprung[a.ID] = true
		return a, true
	}
	return Ambush{}, false
}
