package locktest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Outsider is a World whose locks are programs of their own. It plays the cases
// that can be seen from outside: FromOutside.
type Outsider interface {
	World
	// Away is how long the server is away where a case wants that: more than
	// all time-outs of one acquire.
	Away() time.Duration
}

// FromOutside are the cases of a design that an Outsider can play.
func FromOutside(d workload.Design) []Case {
	return slices.DeleteFunc(CasesOf(d), func(c Case) bool { return c.inside })
}

// Hands do to a program what the scenes do to a lock in this process by its
// steps and its connections. The env.Env.Own of an Outsider's workers has them.
// The answers and commands meant are those about the keys of the scene.
type Hands interface {
	Lose()                            // the next answer does not come
	Slow(d time.Duration)             // each answer takes d longer from now on
	Still(on bool)                    // it stands still while nothing is asked of it
	Die()                             // it is killed when the next command has acted
	Forget(ctx context.Context) error // the lock service loses all keys
	Commands() int                    // that it has sent
}

// loseAnswer has the player not hear the next answer.
func (p *player) loseAnswer() {
	if p.hands != nil {
		p.hands.Lose()
		return
	}
	p.lose.Store(1)
}

// slow has each step of the player take longer from now on.
func (p *player) slow(d time.Duration) {
	if p.hands != nil {
		p.hands.Slow(d)
		return
	}
	p.atStep = func(ctx context.Context, _ string) error { return p.Clock.Sleep(ctx, d) }
}

// die has the player die at its next step.
func (p *player) die() {
	if p.hands != nil {
		p.hands.Die()
		return
	}
	p.atStep = func(context.Context, string) error { return errors.New("dies here") }
}

// muteRenewals stops the renewals of a player, as a starved timer would.
func (p *player) muteRenewals() {
	if p.hands != nil {
		p.hands.Still(p.spec.Of.Renews)
		return
	}
	p.atStep = func(_ context.Context, name string) error {
		if name == histories.StepRenewal {
			return errors.New("starved")
		}
		return nil
	}
}

// holdRenewals lets no renewal through before a moment, given in ttls since the
// start, as a process does that is paused there.
func (p *player) holdRenewals(ctx context.Context, ttls float64) {
	if p.hands != nil {
		p.hands.Still(true)
		p.Clock.Every(ctx, time.Duration(ttls*float64(p.spec.TTL))-p.now(), func(context.Context) bool {
			p.hands.Still(false)
			return false
		})
		return
	}
	p.atStep = func(ctx context.Context, name string) error {
		if name != histories.StepRenewal || p.past(ttls) {
			return nil
		}
		return p.at(ctx, ttls)
	}
}

// forget has the lock service lose all keys.
func (p *player) forget(ctx context.Context) error {
	if p.hands != nil {
		return p.hands.Forget(ctx)
	}
	_, err := p.Lock[0].Do(ctx, "FLUSHALL")
	return err
}

// commands are the renewals that the player has sent, and where these cannot be
// told from others, all its commands.
func (p *player) commands() int {
	if p.hands != nil {
		return p.hands.Commands()
	}
	return p.renewed
}

// deaf is a connection whose worker does not hear some of the answers.
type deaf struct {
	env.Redis
	p *player
}

// noAnswer is how long a request waits for an answer that does not come.
const noAnswer = time.Second

func (d deaf) hear(ctx context.Context, reply any, err error) (any, error) {
	if d.p.lose.Load() <= 0 {
		return reply, err
	}
	d.p.lose.Add(-1)
	if err := d.p.Clock.Sleep(ctx, noAnswer); err != nil {
		return nil, err
	}
	return nil, env.ErrTimeout
}

// Do implements env.Redis.
func (d deaf) Do(ctx context.Context, args ...any) (any, error) {
	reply, err := d.Redis.Do(ctx, args...)
	return d.hear(ctx, reply, err)
}

// Eval implements env.Redis.
func (d deaf) Eval(ctx context.Context, script *env.Script, keys []string, args ...any) (any, error) {
	reply, err := d.Redis.Eval(ctx, script, keys, args...)
	return d.hear(ctx, reply, err)
}

// Pinned implements env.Redis.
func (d deaf) Pinned(ctx context.Context, f func(env.Redis) error) error {
	return d.Redis.Pinned(ctx, func(r env.Redis) error { return f(deaf{r, d.p}) })
}
