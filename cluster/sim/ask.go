package sim

import (
	"context"
	"errors"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// The look at the cluster from outside, over links that no fault touches: what
// proofs and the check of health are made of.

// lookTime is how long a look waits for an answer: many times what a server
// that is well needs.
const lookTime = 50 * time.Millisecond

// ask sends one command from outside, on a connection of its own.
func (c *system) ask(ctx context.Context, to *vtime.Machine, args ...string) (any, error) {
	e := newEndpoint(c.net, c.director, lookTime, to)
	l, err := e.dial(ctx, to)
	if err != nil {
		return nil, err
	}
	defer l.drop()
	return l.do(ctx, args)
}

// ping answers nil if the server does, be it that it is loading.
func (c *system) ping(ctx context.Context, to *vtime.Machine) error {
	_, err := c.ask(ctx, to, "PING")
	if reply := env.ServerError(""); errors.As(err, &reply) {
		return nil
	}
	return err
}

func why(err error) string {
	if errors.Is(err, env.ErrTimeout) {
		return "timeout"
	}
	return "refused"
}
