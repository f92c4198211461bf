package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
)

// ambush is a fault that waits for workers at a step.
type ambush struct {
	inject.Ambush
	hit *worker       // the worker that reached the step first
	at  time.Duration // when
}

// waitsFor reports whether it lies in wait for this worker.
func (a *ambush) waitsFor(w *worker) bool {
	return slices.Contains(a.Workers, w.number) && (a.hit == nil || a.F == histories.Delay)
}

// Ambush implements inject.Ambusher. A crash is recorded as a kill at the moment
// when it happens, and so is a reply that gets lost.
func (b backend) Ambush(ctx context.Context, laid inject.Ambush) (inject.Caught, error) {
	if b.config.Inert {
		return inject.Caught{}, nil
	}
	a := &ambush{Ambush: laid}
	b.ambushes = append(b.ambushes, a)
	b.Await(ctx, laid.Wait, func() bool { return a.hit != nil })
	if laid.F != histories.Delay {
		b.ambushes = slices.DeleteFunc(b.ambushes, func(o *ambush) bool { return o == a })
	}
	if a.hit == nil {
		return inject.Caught{}, nil
	}
	return inject.Caught{Process: inject.Process(a.hit.host.numbers()), At: a.at, Proof: b.aftermath(ctx, a)}, nil
}

// aftermath looks whether the worker that ran into it is as it should be.
func (c *system) aftermath(ctx context.Context, a *ambush) string {
	h := a.hit.host
	switch a.F {
	case histories.Crash:
		return each([]target{h}, func(_ int, t target) string { return c.gone(ctx, t) })
	case histories.Pause:
		return each([]target{h}, func(_ int, t target) string { return c.paused(ctx, t) })
	case histories.Loss:
		return fmt.Sprintf("%s lost the reply to its %s", a.hit.name, a.Step)
	}
	return fmt.Sprintf("%s waited at %s", a.hit.name, a.Step)
}

// step is where a fault can strike a worker between two commands.
func (w *worker) step(ctx context.Context, name string) error {
	c := w.c
	c.s.MustRun()
	c.s.Count()
	if c.scene != nil {
		c.scene.reaches(w, name)
		return nil
	}
	for _, a := range slices.Clone(c.ambushes) {
		if a.F == histories.Loss || a.Step != name || !a.waitsFor(w) {
			continue
		}
		a.hit, a.at = w, c.Now()
		if err := w.struck(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// struck does to the worker what the ambush is for.
func (w *worker) struck(ctx context.Context, a *ambush) error {
	c := w.c
	switch a.F {
	case histories.Delay:
		c.wakeReady()
		return c.s.Sleep(ctx, a.Delay)
	case histories.Crash:
		c.net.Exit(w.host.proc, true)
		c.record(inject.Crashed(c.Now(), inject.Process(w.host.numbers()), a.Step))
	case histories.Pause:
		w.host.proc.Pause()
	}
	c.wakeReady()
	c.s.GiveWay() // forever, or until the process is resumed
	return nil
}

// loses reports whether the reply that a task has got gets lost on its way, by
// a fault that lies in wait for an operation of this kind.
func (w *worker) loses(t *vtime.Task, args []string, reply any) bool {
	if _, isError := reply.(redis.Error); isError {
		return false
	}
	tells := func(f string) bool { return cluster.Tells(f, args[0], reply) }
	if r, isSQL := reply.(*sqlReply); isSQL {
		tells = func(f string) bool { return cluster.TellsSQL(f, args[1], r.rows) }
		reply = cluster.Statement(args[1])
	}
	for _, a := range w.c.ambushes {
		if a.F != histories.Loss || !a.waitsFor(w) || !tells(a.Step) || !w.does(t, a.Step) {
			continue
		}
		a.hit = w
		w.c.record(inject.LostReply(w.c.Now(), w.number, a.Step, cluster.LostReply(w.number, a.Step, reply)))
		w.c.wakeReady()
		return true
	}
	return false
}
