package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// Skew implements inject.Clocks. The look compares the clocks with what they
// were. It reads them twice: a drift shows only over time.
func (b backend) Skew(ctx context.Context, ts inject.Targets, jump time.Duration, drift float64) (string, error) {
	const watch = 200 * time.Millisecond
	targets := b.find(ts)
	if b.s.Pacer != nil && slices.ContainsFunc(ts, func(t inject.Target) bool { return t.Workers != nil }) {
		return "", fmt.Errorf("%w: in real time the clocks of programs are this machine's", cluster.ErrUnavailable)
	}
	var was, before []time.Duration
	for _, t := range targets {
		was = append(was, t.machine().Wall.Ahead(b.s.Now))
	}
	b.act(func() {
		for _, t := range targets {
			t.machine().Wall.Skew(b.s.Now, jump, drift)
		}
	})
	for _, t := range targets {
		before = append(before, b.ahead(ctx, t))
	}
	if drift != 0 && b.s.Sleep(ctx, watch) != nil {
		return "", nil
	}
	return each(targets, func(i int, t target) string {
		if moved := before[i] - was[i]; drift == 0 && moved.Abs() < lookTime {
			return ""
		}
		gained := b.ahead(ctx, t) - before[i]
		if drift != 0 && gained.Abs() < time.Duration(float64(watch/2)*max(drift, -drift)) {
			return ""
		}
		return fmt.Sprintf("has a clock that is %v ahead", (before[i] + gained).Round(time.Microsecond))
	}), nil
}

// ahead reads a clock: a server's by TIME, a worker's on its machine.
func (c *system) ahead(ctx context.Context, t target) time.Duration {
	if n, ok := t.(*node); ok {
		asked := c.s.Now
		reply, err := c.ask(ctx, n.box, "TIME")
		parts, ok := reply.([]any)
		if err != nil || !ok || len(parts) != 2 {
			return 0
		}
		seconds, _ := strconv.ParseInt(parts[0].(string), 10, 64)
		micros, _ := strconv.ParseInt(parts[1].(string), 10, 64)
		return time.Unix(seconds, micros*1000).Sub(c.s.Epoch().Add((asked + c.s.Now) / 2))
	}
	return t.machine().Wall.Ahead(c.s.Now)
}

// skewedClocks counts the clocks that are wrong.
func (c *system) skewedClocks() (n int) {
	for _, h := range c.net.Hosts {
		if h.Wall != (vtime.Wall{}) {
			n++
		}
	}
	return n
}
