package conform

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/protocol/child"
	"github.com/lockcheck/lockcheck/workload/locktest"
)

// player is one worker: its program, and the hands that reach into it.
type player struct {
	world  *world
	number int
	child  *child.Child
	links  *links

	still bool // with the baton
}

var (
	_ protocol.Child = (*player)(nil)
	_ locktest.Hands = (*player)(nil)
)

func start(w *world, p *player, h protocol.Hello) (*child.Child, error) {
	return child.Start(child.Config{
		Command: w.cfg.Command, Dir: w.cfg.Dir, Env: w.cfg.Env, Hello: h, Limits: w.cfg.Limits, Grace: w.cfg.Grace, Now: w.clock.Now,
	})
}

// Ready implements protocol.Child.
func (p *player) Ready() protocol.Ready { return p.child.Ready() }

// Ask implements protocol.Child. Others play while this one waits.
func (p *player) Ask(ctx context.Context, r protocol.Request) protocol.Answer {
	if p.still {
		_ = p.child.Resume() // who is gone is heard of by the answer
	}
	p.world.clock.baton.Unlock()
	a := p.child.Ask(ctx, r)
	p.world.clock.baton.Lock()
	if p.still {
		_ = p.child.Pause()
	}
	return a
}

// Listen implements protocol.Child. Notes are part of the play: they wait for
// their turn.
func (p *player) Listen(f func(protocol.Note)) {
	p.child.Listen(func(n protocol.Note) {
		go func() {
			p.world.clock.baton.Lock()
			defer p.world.clock.baton.Unlock()
			f(n)
		}()
	})
}

// Still implements locktest.Hands.
func (p *player) Still(on bool) {
	if p.still = on; !on {
		_ = p.child.Resume()
	}
}

// Lose implements locktest.Hands.
func (p *player) Lose() { p.links.change(func(l *links) { l.lose++ }) }

// Slow implements locktest.Hands.
func (p *player) Slow(d time.Duration) { p.links.change(func(l *links) { l.slow = d }) }

// Die implements locktest.Hands.
func (p *player) Die() { p.links.change(func(l *links) { l.die = true }) }

// Forget implements locktest.Hands.
func (p *player) Forget(ctx context.Context) error { return p.world.forget(ctx) }

// Commands implements locktest.Hands.
func (p *player) Commands() (n int) {
	p.links.change(func(l *links) { n = l.commands })
	return n
}
