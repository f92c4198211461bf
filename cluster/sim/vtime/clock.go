package vtime

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// Clock is what a process knows of time.
type Clock struct {
	Scheduler *Scheduler
	Host      *Machine
}

var _ env.Clock = (*Clock)(nil)

// Now is the virtual time since the start of the run.
func (c *Clock) Now() time.Duration {
	c.Scheduler.Count()
	return c.Scheduler.Now
}

// Wall is the wall clock of the host.
func (c *Clock) Wall() time.Time {
	c.Scheduler.Count()
	c.Host.Looked = true
	return c.Host.Wall.At(c.Scheduler.Now)
}

// Sleep parks the task.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	return c.Scheduler.Sleep(ctx, d)
}

func (s *Scheduler) Sleep(ctx context.Context, d time.Duration) error {
	if s.Wait(ctx, s.Now+min(max(d, 0), 2*Forever)) == Cancelled {
		return ctx.Err()
	}
	return nil
}

// ticker calls a function again and again. It is an event while it waits and
// a task of its own while the function runs.
type ticker struct {
	s       *Scheduler
	of      *Task // that asked for it
	ctx     context.Context
	d       time.Duration
	due     time.Duration
	f       func(context.Context) bool
	stopped bool
}

// Every calls f each d, like a time.Ticker: after a pause, or when f took
// longer than d, it calls f once at once and then keeps its rhythm.
func (c *Clock) Every(ctx context.Context, d time.Duration, f func(context.Context) bool) func() {
	c.Scheduler.Count()
	k := &ticker{s: c.Scheduler, of: c.Scheduler.MustRun(), ctx: ctx, d: max(d, 1), f: f}
	k.due = c.Scheduler.Now + k.d
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
	if p := k.of.Program; p != nil {
		p.Ticking += n
	}
}

func (k *ticker) plan() {
	k.s.push(event{at: k.due, proc: k.of.proc, fn: k.tick, program: k.of.Program})
}

// tick runs f once, in a task.
func (k *ticker) tick() {
	if k.over() {
		k.stop()
		return
	}
	k.due += (k.s.Now - k.due) / k.d * k.d
	t := k.s.Spawn(k.of.proc, k.of.Name+" (periodic)", func() {
		if !k.f(k.ctx) || k.over() {
			k.stop()
			return
		}
		k.due += k.d // if that is over, at once
		k.plan()
	})
	t.periodic, t.Program = true, k.of.Program
	k.s.Step(t)
}

// over: stopped, its context ended, or the program it belongs to ended.
func (k *ticker) over() bool {
	p := k.of.Program
	return k.stopped || k.ctx.Err() != nil || p != nil && p.Ended()
}
