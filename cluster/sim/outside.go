package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/protocol/child"
)

// outside is the user's own program in one life of a worker, in real time: an
// ordinary process, whose connections lead to ports of this machine that are
// gates to the simulated servers. Pauses and crashes hit its process group. Its
// clocks are the machine's.
type outside struct {
	c     *system
	w     *worker
	child *child.Child
}

var _ protocol.Child = (*outside)(nil)

// longestAnswer is longer than any program may take for an answer: the limits of
// the protocol end it before.
const longestAnswer = 10 * time.Minute

// startOutside starts the program of a worker and greets it.
func (c *system) startOutside(w *worker) (*outside, error) {
	h := w.host
	if err := c.openGates(h); err != nil {
		return nil, err
	}
	hello := c.o.Own.Hello
	hello.Worker, hello.Life = w.number, h.starts-1
	hello.Seed = c.stream(streamOwn, uint64(w.number)<<32|uint64(h.starts)).Uint32()
	c.introduce(&hello, h.gate)
	o := &outside{c: c, w: w}
	var err error
	o.child, err = child.Start(child.Config{Command: c.o.Own.Command, Hello: hello, Now: c.s.Pacer.Now, Heard: o.heard, Step: o.stop})
	if err != nil {
		return nil, err
	}
	h.proc.Guests = append(h.proc.Guests, o)
	return o, nil
}

// heard keeps what is wrong with the program.
func (o *outside) heard(said protocol.Heard) {
	if f, is := said.(protocol.Finding); is {
		o.c.s.Pacer.Do(func() { o.c.found(o.w, f) })
	}
}

// stop lets a nemesis in where the program stops.
func (o *outside) stop(ctx context.Context, step protocol.Step) {
	gone := make(chan struct{})
	o.task("step", func() {
		_ = o.w.step(context.Background(), step.Step)
		close(gone)
	})
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// task runs f as the worker's, in the simulation, unless its process has ended.
func (o *outside) task(name string, f func()) {
	s, proc, program := o.c.s, o.w.host.proc, o.w.program
	s.Pacer.Do(func() {
		if !proc.Dead {
			t := s.Spawn(proc, o.w.name+" ("+name+")", f)
			t.Program = program
			t.Begin()
		}
	})
}

// Ready implements protocol.Child.
func (o *outside) Ready() protocol.Ready { return o.child.Ready() }

// Listen implements protocol.Child.
func (o *outside) Listen(f func(protocol.Note)) {
	o.child.Listen(func(n protocol.Note) { o.task("program", func() { f(n) }) })
}

// Ask implements protocol.Child: it asks beside the simulation and waits in it.
func (o *outside) Ask(ctx context.Context, r protocol.Request) (a protocol.Answer) {
	s := o.c.s
	w := s.Waiter()
	answered := false
	asking, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, err := o.child.Await(asking)
		got := protocol.Answer{Request: r, Outcome: protocol.Refused, Asked: s.Pacer.Now(), Read: s.Pacer.Now()}
		if err != nil {
			got.Why = err.Error()
		} else {
			got = o.child.Ask(asking, r)
		}
		s.Pacer.Do(func() {
			a, answered = got, true
			w.Wake()
		})
	}()
	for !answered {
		if s.Wait(ctx, s.Now+longestAnswer) == vtime.Cancelled {
			stop() // the answer is then that it was given up
			ctx = context.WithoutCancel(ctx)
		}
		w = s.Waiter()
	}
	return a
}

// Pause implements guest.
func (o *outside) Pause() { o.mind(o.child.Pause()) }

// Resume implements guest.
func (o *outside) Resume(time.Duration) { o.mind(o.child.Resume()) }

// Die implements guest: the program is killed as its process is.
func (o *outside) Die() { o.mind(o.child.Kill()) }

// end ends the program when its worker has ended. It has time to do so.
func (o *outside) end() {
	o.c.ending.Go(func() {
		if err := o.child.End(); err != nil {
			o.c.s.Pacer.Do(func() { o.mind(err) })
		}
	})
}

// mind fails a run whose programs cannot be handled.
func (o *outside) mind(err error) {
	if err != nil {
		o.c.s.Fail(fmt.Errorf("the program of %s: %w", o.w.name, err))
	}
}

// openGates opens a port for each server that a host's programs talk to, once.
func (c *system) openGates(h *host) error {
	if h.gates != nil {
		return nil
	}
	h.gates = map[string]net.Listener{}
	for _, s := range c.site.servers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return errors.Join(err, h.closeGates())
		}
		h.gates[s.label()] = l
	}
	for _, s := range c.site.servers {
		l, to := h.gates[s.label()], s.machine()
		c.ending.Go(func() { c.admitAt(l, h, to) })
	}
	return nil
}

// admitAt takes what a host's programs dial at a port.
func (c *system) admitAt(l net.Listener, h *host, to *vtime.Machine) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		k := newSocket(&wire{c: c, names: h.gate, worker: h.workers[0]}, conn)
		go c.sockets.serve(k, func() *vtime.Process { return h.proc }, to)
	}
}

// gate is the address of a server for a host's programs.
func (h *host) gate(server string) (ip, port string) {
	ip, port, _ = net.SplitHostPort(h.gates[server].Addr().String())
	return ip, port
}

func (h *host) closeGates() error {
	var errs []error
	for _, l := range h.gates {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// endOutside ends what a run in real time has outside of the simulation.
func (c *system) endOutside() {
	for _, h := range c.hosts {
		_ = h.closeGates() // they are open, or were never opened
	}
	c.sockets.close()
	c.ending.Wait()
}
