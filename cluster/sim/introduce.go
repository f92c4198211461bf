package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim/preload"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload/env"
)

// mostSteps bounds how often a program may block before it says that it is ready.
const mostSteps = 1000

// Introduce starts a program, in a world whose servers refuse every connection,
// and answers what it says of itself.
func Introduce(ctx context.Context, command []string, top env.Topology, h protocol.Hello) (protocol.Ready, error) {
	c, err := build(Config{}, cluster.Options{Topology: top})
	if err != nil {
		return protocol.Ready{}, err
	}
	c.introduce(&h, c.named)
	if err := preload.Check(command[0]); err != nil {
		return protocol.Ready{}, err
	}
	library, err := preload.Library(ctx)
	if err != nil {
		return protocol.Ready{}, err
	}
	now := preload.Clock{Mono: boot, Wall: vtime.Epoch}
	p, err := preload.Start(library, preload.Options{Command: command, Clock: now, Limit: holdLimit, PID: firstPID})
	if err != nil {
		return protocol.Ready{}, err
	}
	defer p.Kill()
	return introduced(p, protocol.NewSession(h, ownLimits), now)
}

// introduced plays a program until it is ready.
func introduced(p *preload.Process, s *protocol.Session, now preload.Clock) (protocol.Ready, error) {
	p.Input(s.Greet(0))
	for range mostSteps {
		r, err := p.Step(now)
		if err != nil {
			return protocol.Ready{}, err
		}
		for _, d := range r.Dials {
			p.Fail(d.Slot, preload.Refused)
		}
		said := s.Hear(now.Mono-boot, r.Output)
		if r.Ended {
			said = append(said, s.End(now.Mono-boot, r.Status)...)
		}
		for _, h := range said {
			switch h := h.(type) {
			case protocol.Ready:
				return h, nil
			case protocol.Finding:
				return protocol.Ready{}, fmt.Errorf("the program %s%s", h, p.LastWords())
			}
		}
		switch {
		case r.Until != preload.Forever:
			now = preload.Clock{Mono: r.Until, Wall: vtime.Epoch.Add(r.Until - boot)}
		case len(r.Dials) == 0:
			return protocol.Ready{}, fmt.Errorf("the program waits for something, and has not said that it is ready%s", p.LastWords())
		}
	}
	return protocol.Ready{}, fmt.Errorf("the program has not said that it is ready after %v of virtual time%s", (now.Mono - boot).Round(time.Millisecond), p.LastWords())
}
