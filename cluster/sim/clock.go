package sim

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// clock is what a process knows of time.
type clock struct {
	s    *scheduler
	host *host
}

var _ env.Clock = (*clock)(nil)

// Now is the virtual time since the start of the run.
func (c *clock) Now() time.Duration {
	c.s.count()
	return c.s.now
}

// Wall is the wall clock of the host.
func (c *clock) Wall() time.Time {
	c.s.count()
	return c.host.wall.at(c.s.now)
}

// Sleep parks the task.
func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	return c.s.sleep(ctx, d)
}

func (s *scheduler) sleep(ctx context.Context, d time.Duration) error {
	if s.wait(ctx, s.now+min(max(d, 0), 2*forever)) == cancelled {
		return ctx.Err()
	}
	return nil
}

// ticker calls a function again and again. It is an event while it waits and
// a task of its own while the function runs.
type ticker struct {
	s       *scheduler
	of      *task // who asked for it
	ctx     context.Context
	d       time.Duration
	due     time.Duration
	f       func(context.Context) bool
	stopped bool
}

// Every calls f each d, like a time.Ticker: after a pause, or when f took
// longer than d, it calls f once at once and then keeps its rhythm.
func (c *clock) Every(ctx context.Context, d time.Duration, f func(context.Context) bool) func() {
	c.s.count()
	k := &ticker{s: c.s, of: c.s.mustRun(), ctx: ctx, d: max(d, 1), f: f}
	k.due = c.s.now + k.d
	k.count(1)
	k.plan()
	return k.stop
}

// stop ends the ticker; a call in flight goes on.
func (k *ticker) stop() {
	if !k.stopped {
		k.stopped = true
		k.count(-1)
	}
}

// count tells the program how many tickers may still wake something.
func (k *ticker) count(n int) {
	if p := k.of.program; p != nil {
		p.ticking += n
	}
}

func (k *ticker) plan() {
	k.s.push(event{at: k.due, proc: k.of.proc, fn: k.tick, program: k.of.program})
}

// tick runs f once, in a task.
func (k *ticker) tick() {
	if k.over() {
		k.stop()
		return
	}
	k.due += (k.s.now - k.due) / k.d * k.d
	t := k.s.spawn(k.of.proc, k.of.name+" (periodic)", func() {
		if !k.f(k.ctx) || k.over() {
			k.stop()
			return
		}
		k.due += k.d // if that is over, at once
		k.plan()
	})
	t.periodic, t.program = true, k.of.program
	k.s.step(t)
}

// over: stopped, its context ended, or the program it belongs to ended.
func (k *ticker) over() bool {
	p := k.of.program
	return k.stopped || k.ctx.Err() != nil || p != nil && p.ended()
}
