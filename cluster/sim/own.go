package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/preload"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/protocol"
)

// own is the user's own program in one life of a worker: a real process that
// is held in virtual time (package preload), at the other end of the protocol.
// It computes in no time; between two of its blocking calls it is one event.
type own struct {
	c       *system
	w       *worker
	proc    *vtime.Process
	program *preload.Process
	session *protocol.Session

	wires  map[int]*wire
	listen func(protocol.Note)
	answer *protocol.Answer
	waits  *vtime.Waiter // the worker, in Ask
	due    bool          // it goes on at this instant
	alarm  uint64        // number of its last deadline
	ended  bool
}

var _ protocol.Child = (*own)(nil)

// boot is what monotonic clocks show at the start of a run.
const boot = 1000 * time.Second

// ownLimits are in virtual time, where a program that waits for an answer
// costs nothing.
var ownLimits = protocol.Limits{Ready: time.Minute, Answer: time.Minute}

// holdLimit is how long, in real time, a program may compute without a
// blocking call.
const holdLimit = 10 * time.Second

// firstPID is what the first worker's program takes for its process id. No
// process of this machine can have it.
const firstPID = 5_000_000

// startOwn starts the program of a worker. It stands still until it is greeted.
func (c *system) startOwn(w *worker) (*own, error) {
	h := w.host
	hello := c.o.Own.Hello
	hello.Worker, hello.Life = w.number, h.starts-1
	seeds := c.stream(streamOwn, uint64(w.number)<<32|uint64(h.starts))
	hello.Seed = seeds.Uint32()
	c.introduce(&hello, c.named)
	o := &own{c: c, w: w, proc: h.proc, session: protocol.NewSession(hello, ownLimits), wires: map[int]*wire{}}
	var err error
	o.program, err = preload.Start(c.library, preload.Options{
		Command: c.o.Own.Command, Clock: o.clock(), Seed: seeds.Uint64(), Hostname: h.box.Name, PID: firstPID + w.number,
		Local: [4]byte{10, 8, 1, byte(w.number)}, Limit: holdLimit,
	})
	if err != nil {
		return nil, err
	}
	h.proc.Guests = append(h.proc.Guests, o)
	o.program.Input(o.session.Greet(c.s.Now))
	o.wake()
	return o, nil
}

func (o *own) clock() preload.Clock {
	return preload.Clock{Mono: boot + o.c.s.Now, Wall: o.w.host.box.Wall.At(o.c.s.Now)}
}

// wake lets the program go on at this instant, after what is to happen before.
func (o *own) wake() {
	if !o.due && !o.ended {
		o.due = true
		o.c.s.At(o.c.s.Now, o.proc, o.step)
	}
}

// step lets the program run until it blocks, and does what it has asked for.
func (o *own) step() {
	o.due = false
	if o.ended {
		return
	}
	r, err := o.program.Step(o.clock())
	if err != nil {
		o.c.s.Fail(fmt.Errorf("the program of %s: %w", o.w.name, err))
		return
	}
	for _, d := range r.Dials {
		o.dial(d)
	}
	for _, s := range r.Sent {
		o.sent(s)
	}
	o.alarm++
	if r.Until != preload.Forever {
		alarm := o.alarm
		o.c.s.At(r.Until-boot, o.proc, func() {
			if alarm == o.alarm {
				o.step()
			}
		})
	}
	o.ended = r.Ended
	if len(r.Output) > 0 || r.Ended {
		o.hear(r)
	}
}

// hear takes what the program has written, in a task of its own: what it tells
// is recorded as the worker's.
func (o *own) hear(r preload.Report) {
	s := o.c.s
	t := s.Spawn(o.proc, o.w.name+" (program)", func() {
		o.heard(o.session.Hear(s.Now, r.Output))
		if r.Ended {
			o.heard(o.session.End(s.Now, r.Status+o.program.LastWords()))
		}
	})
	t.Program = o.w.program
	s.Step(t)
}

func (o *own) heard(said []protocol.Heard) {
	for _, h := range said {
		switch h := h.(type) {
		case protocol.Ready:
			o.notify()
		case protocol.Answer:
			o.answer = &h
			o.notify()
		case protocol.Note:
			if o.listen != nil {
				o.listen(h)
			}
		case protocol.Step:
			o.stop(h)
		case protocol.Finding:
			o.c.found(o.w, h)
			if h.Fatal() {
				o.notify()
			}
		}
	}
}

// stop lets a nemesis in where the program stops.
func (o *own) stop(step protocol.Step) {
	s := o.c.s
	t := s.Spawn(o.proc, o.w.name+" (step)", func() {
		if o.w.step(context.Background(), step.Step) == nil {
			o.program.Input(o.session.Go(s.Now, step))
			o.wake()
		}
	})
	t.Program = o.w.program
	t.Begin()
}

// notify lets the worker look again.
func (o *own) notify() {
	if w := o.waits; w != nil {
		o.waits = nil
		w.Wake()
	}
}

// Ready is what the program said of itself.
func (o *own) Ready() protocol.Ready {
	r, _ := o.session.Ready()
	return r
}

// Listen has f called for each note.
func (o *own) Listen(f func(protocol.Note)) { o.listen = f }

// Ask asks the program and waits for its answer.
func (o *own) Ask(ctx context.Context, r protocol.Request) protocol.Answer {
	s := o.c.s
	s.MustRun()
	ready := func() bool { _, is := o.session.Ready(); return is || o.session.Over() }
	if !o.wait(ctx, ready) {
		return protocol.Answer{Request: r, Outcome: protocol.Refused, Why: ctx.Err().Error()}
	}
	o.answer = nil
	text, err := o.session.Ask(s.Now, r)
	if err != nil {
		return protocol.Answer{Request: r, Outcome: protocol.Refused, Why: err.Error(), Asked: s.Now, Read: s.Now}
	}
	o.program.Input(text)
	o.wake()
	if !o.wait(ctx, func() bool { return o.answer != nil }) {
		a, _ := o.session.GiveUp(s.Now, ctx.Err().Error())
		return a
	}
	return *o.answer
}

// wait waits until ready, or until ctx ends: then it reports false. What is
// overdue ends the session.
func (o *own) wait(ctx context.Context, ready func() bool) bool {
	s := o.c.s
	for !ready() {
		until, due := o.session.Deadline()
		if !due {
			until = s.Now + 2*vtime.Forever
		}
		w := s.Waiter()
		o.waits = &w
		switch s.Wait(ctx, until) {
		case vtime.Cancelled:
			return false
		case vtime.TimedOut:
			o.heard(o.session.Expire(s.Now))
		}
	}
	return true
}

// end ends the program when its worker has ended: it may say what it likes, it
// is no longer heard.
func (o *own) end() {
	if !o.ended {
		o.session.Close(o.c.s.Now)
		o.program.CloseInput()
		_, _ = o.program.Step(o.clock())
	}
	o.kill()
}

// Pause implements guest: nothing lets the program go on.
func (o *own) Pause() {}

// Resume implements guest: the program's deadlines waited with its process.
func (o *own) Resume(d time.Duration) { o.session.Postpone(d) }

// kill ends the program at once, as its process is killed.
func (o *own) kill() {
	o.ended = true
	o.program.Kill()
}

// mostFindings bounds what is kept of what is wrong with programs.
const mostFindings = 20

// found keeps what is wrong with a program, each kind of each worker once.
func (c *system) found(w *worker, f protocol.Finding) {
	if len(c.findings) < mostFindings {
		c.findings = append(c.findings, fmt.Errorf("%s, at %v: the program %s", w.name, f.At.Round(time.Millisecond), f))
	}
}

// Findings are what was wrong with the user's own programs.
func (c *system) Findings() []error { return c.findings }

// endOwn ends every program, whatever happened to the run.
func (c *system) endOwn() {
	for _, h := range c.hosts {
		for _, g := range h.proc.Guests {
			g.Die()
		}
	}
}

// Die implements guest.
func (o *own) Die() { o.kill() }
