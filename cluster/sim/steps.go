package sim

import (
	"context"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/histories"
)

// rule is a fault that waits at a step.
type rule struct {
	histories.Fault
	targets []target
	bitten  *worker       // who reached the step first
	at      time.Duration // when
}

// ambushTime is how long a crash or a pause waits for a worker to reach its
// step, if the fault does not say.
const ambushTime = 8 * time.Second

func (c *simulation) addRule(h *hit) *rule {
	r := &rule{Fault: h.Fault, targets: h.targets}
	c.rules = append(c.rules, r)
	return r
}

// ambush waits until a worker reaches the fault's step and is struck there.
// Then the fault's target is that worker's process. A crash is recorded as a
// kill at the moment when it happens, and so is a reply that gets lost.
func (c *simulation) ambush(ctx context.Context, h *hit) error {
	limit := ambushTime
	if h.For > 0 {
		limit = h.For
	}
	r := c.addRule(h)
	c.Await(ctx, limit, func() bool { return r.bitten != nil })
	c.rules = slices.DeleteFunc(c.rules, func(o *rule) bool { return o == r })
	h.targets, h.rule = nil, r
	if r.bitten != nil {
		h.targets = []target{r.bitten.home}
	}
	return nil
}

// step is where a fault can strike a worker between two commands.
func (w *worker) step(ctx context.Context, name string) error {
	c := w.c
	c.s.mustRun()
	c.s.count()
	for _, r := range slices.Clone(c.rules) {
		if r.F == histories.Loss || r.Step != name || !slices.ContainsFunc(r.targets, func(t target) bool { return t == w.home }) {
			continue
		}
		if r.F != histories.Delay && r.bitten != nil {
			continue
		}
		r.bitten, r.at = w, c.Now()
		if err := w.struck(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// struck does to the worker what the rule says.
func (w *worker) struck(ctx context.Context, r *rule) error {
	c := w.c
	switch r.F {
	case histories.Delay:
		c.wakeReady()
		return c.s.sleep(ctx, r.For)
	case histories.Crash:
		c.net.exit(w.home.proc, true)
		c.record(histories.Event{Process: histories.Nemesis, Type: histories.Info, F: histories.Kill,
			Targets: []string{w.home.label()}, Note: "crash at " + r.Step})
	case histories.Pause:
		w.home.proc.pause()
	}
	c.wakeReady()
	c.s.giveWay() // for ever, or until the process is resumed
	return nil
}

// loses reports whether the reply that a task has got gets lost on its way, by
// a fault that lies in wait for an operation of this kind.
func (w *worker) loses(t *task, args []string, reply any) bool {
	if _, isError := reply.(redis.Error); isError {
		return false
	}
	if _, isSQL := reply.(*sqlReply); isSQL {
		return false
	}
	for _, r := range w.c.rules {
		if r.F != histories.Loss || r.bitten != nil || !cluster.Tells(r.Step, args[0], reply) || !w.does(t, r.Step) ||
			!slices.ContainsFunc(r.targets, func(t target) bool { return t == w.home }) {
			continue
		}
		r.bitten = w
		targets := []string{w.home.label()}
		w.c.record(histories.Event{
			Process: histories.Nemesis, Type: histories.Info, F: histories.Loss, Targets: targets,
			Fault: &histories.Fault{F: histories.Loss, Targets: targets, Step: r.Step}, Proof: cluster.LostReply(w.number, r.Step, reply),
		})
		w.c.wakeReady()
		return true
	}
	return false
}
