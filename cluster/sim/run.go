package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// Run calls director in virtual time. All that was started ends with it.
//
// The simulation runs in a goroutine of its own, because a coroutine that
// never gives way cannot be stopped: then Run returns without it, with an
// error that names the culprit, and the goroutine is lost.
func (c *system) Run(ctx context.Context, director func(context.Context) error) error {
	if c.ran {
		return errors.New("a simulated cluster runs only once")
	}
	c.ran = true
	ended := make(chan error, 1)
	go func() {
		err := errors.New("the director left the run by runtime.Goexit")
		defer func() { ended <- err }()
		err = c.play(ctx, director)
		c.endOutside()
	}()
	return c.guard(ended)
}

// play runs the scheduler until the director has returned.
func (c *system) play(ctx context.Context, director func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("simulation: panic: %v\n%s", p, debug.Stack())
		}
	}()
	defer c.s.Close()
	defer c.endOwn()
	var answer error
	c.s.WarmUp()
	t := c.s.Spawn(c.director, "director", func() { answer = director(ctx) })
	t.Begin()
	return errors.Join(c.s.Run(func() bool { return t.Done }), answer)
}

// guard waits for the end, or until nothing has moved for too long in real
// time.
func (c *system) guard(ended <-chan error) error {
	step := c.config.Guard / 4
	tick := time.NewTicker(step)
	defer tick.Stop()
	var last uint64
	still := time.Duration(0)
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
		if now := c.s.Progress.Load(); now != last {
			last, still = now, 0
		} else if still += step; still >= c.config.Guard {
			return c.hangs()
		}
	}
}

// hangs names what runs without giving way.
func (c *system) hangs() error {
	t := c.s.Running.Load()
	if t == nil {
		return fmt.Errorf("%w: a server computes for %v of real time (an endless script?)", vtime.ErrNoProgress, c.config.Guard)
	}
	doing := "no operation"
	if t.Program != nil {
		doing = t.Program.Doing()
	}
	err := fmt.Errorf("%w: it computes, or waits for something outside its Env, for %v of real time", vtime.ErrNoProgress, c.config.Guard)
	return &vtime.StuckError{Task: t.Name, Doing: doing, Err: err}
}
