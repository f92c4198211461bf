package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// Proofs look at the cluster from outside, over links that no fault touches,
// or at the state of processes and counters of links as a machine shows them.
// They are empty when there is nothing to see.

// lookTime is how long a proof waits for an answer: many times what a server
// that is well needs.
const lookTime = 50 * time.Millisecond

// switchTime is how long a failover that was asked for may take.
const switchTime = 15 * time.Second

// condition is what the proof of a fault compares with.
type condition struct {
	masters []*node
	dead    []bool // which targets were
	frozen  []bool // which targets, or what they do periodically, were
	hurt    [][2]*host
	skewed  int             // clocks that were wrong
	ahead   []time.Duration // by how much the targets' clocks were
	evicted int             // keys that the targets had thrown away
}

// condition looks at the cluster before a fault.
func (c *simulation) condition(h *hit) condition {
	was := condition{masters: c.masters()}
	for _, t := range h.targets {
		p := t.process()
		was.dead = append(was.dead, p.dead)
		was.frozen = append(was.frozen, p.frozen())
		was.ahead = append(was.ahead, t.machine().wall.ahead(c.s.now))
	}
	was.evicted = evicted(h.targets)
	for _, from := range c.net.hosts {
		if from.wall != (wall{}) {
			was.skewed++
		}
		for _, to := range c.net.hosts {
			if l := c.net.link(from, to); l.cut || l.loss > 0 {
				was.hurt = append(was.hurt, [2]*host{from, to})
			}
		}
	}
	return was
}

// ask sends one command from outside, on a connection of its own.
func (c *simulation) ask(ctx context.Context, to *host, args ...string) (any, error) {
	e := c.net.endpoint(c.director, lookTime, to)
	l, err := e.dial(ctx, to)
	if err != nil {
		return nil, err
	}
	defer l.drop()
	return l.do(ctx, args)
}

// ping answers nil if the server does, be it that it is loading.
func (c *simulation) ping(ctx context.Context, to *host) error {
	_, err := c.ask(ctx, to, "PING")
	if reply := env.ServerError(""); errors.As(err, &reply) {
		return nil
	}
	return err
}

// each joins what is to be said of the targets.
func (h *hit) each(say func(i int, t target) string) string {
	var all []string
	for i, t := range h.targets {
		if s := say(i, t); s != "" {
			all = append(all, t.label()+" "+s)
		}
	}
	return strings.Join(all, "; ")
}

func why(err error) string {
	if errors.Is(err, env.ErrTimeout) {
		return "timeout"
	}
	return "refused"
}

func (c *simulation) proveGone(ctx context.Context, h *hit) string {
	return h.each(func(i int, t target) string {
		switch _, isServer := t.(server); {
		case h.Mode == "connection":
			return h.hungUp[t]
		case i < len(h.was.dead) && h.was.dead[i]:
			return ""
		case isServer:
			if err := c.ping(ctx, t.machine()); err != nil {
				return "does not answer PING (" + why(err) + ")"
			}
		case t.process().dead:
			return "has no process any more"
		}
		return ""
	})
}

func (c *simulation) proveStarted(ctx context.Context, h *hit) string {
	return h.each(func(i int, t target) string {
		if !h.was.dead[i] || t.process().dead {
			return ""
		}
		if _, isServer := t.(server); isServer && c.ping(ctx, t.machine()) != nil {
			return ""
		}
		return "runs again"
	})
}

func (c *simulation) provePaused(ctx context.Context, h *hit) string {
	return h.each(func(_ int, t target) string {
		p := t.process()
		switch _, isServer := t.(server); {
		case isServer:
			if err := c.ping(ctx, t.machine()); err != nil && p.paused {
				return "does not answer PING (" + why(err) + ")"
			}
		case p.paused:
			return "is stopped"
		case p.renewalsPaused:
			return "does nothing periodically"
		case p.workPaused:
			return "does nothing but periodically"
		}
		return ""
	})
}

func (c *simulation) proveResumed(ctx context.Context, h *hit) string {
	return h.each(func(i int, t target) string {
		p := t.process()
		if !h.was.frozen[i] || p.frozen() {
			return ""
		}
		if _, isServer := t.(server); isServer && c.ping(ctx, t.machine()) != nil {
			return ""
		}
		return "goes on"
	})
}

// reach sends a packet over each of some links and counts those that arrive.
func (c *simulation) reach(ctx context.Context, links [][2]*host, each int) (sent, arrived int) {
	for _, l := range links {
		for range each {
			sent++
			c.net.probe(l[0], l[1], func() { arrived++ })
		}
	}
	if c.s.sleep(ctx, lookTime) != nil {
		return sent, sent
	}
	return sent, arrived
}

func (h *hit) links() (links [][2]*host) {
	h.pairs(func(from, to *host) { links = append(links, [2]*host{from, to}) })
	return links
}

func (c *simulation) proveCut(ctx context.Context, h *hit) string {
	if sent, arrived := c.reach(ctx, h.links(), 1); sent > 0 && arrived == 0 {
		return fmt.Sprintf("none of %d packets over %d links arrived", sent, sent)
	}
	return ""
}

func (c *simulation) proveLoss(ctx context.Context, h *hit) string {
	if h.Step != "" {
		if h.rule == nil || h.rule.bitten == nil {
			return ""
		}
		return fmt.Sprintf("%s lost the reply to its %s", h.rule.bitten.name, h.Step)
	}
	if sent, arrived := c.reach(ctx, h.links(), 20); arrived < sent {
		return fmt.Sprintf("%d of %d packets were dropped", sent-arrived, sent)
	}
	return ""
}

// proveSkew compares the clocks with what they were. It reads them twice: a
// drift shows only over time.
func (c *simulation) proveSkew(ctx context.Context, h *hit) string {
	const watch = 200 * time.Millisecond
	var before []time.Duration
	for _, t := range h.targets {
		before = append(before, c.ahead(ctx, t))
	}
	if h.Drift != 0 && c.s.sleep(ctx, watch) != nil {
		return ""
	}
	return h.each(func(i int, t target) string {
		if jump := before[i] - h.was.ahead[i]; h.Drift == 0 && jump.Abs() < lookTime {
			return ""
		}
		gained := c.ahead(ctx, t) - before[i]
		if h.Drift != 0 && gained.Abs() < time.Duration(float64(watch/2)*max(h.Drift, -h.Drift)) {
			return ""
		}
		return fmt.Sprintf("has a clock that is %v ahead", (before[i] + gained).Round(time.Microsecond))
	})
}

// ahead reads a clock: a server's by TIME, a worker's on its machine.
func (c *simulation) ahead(ctx context.Context, t target) time.Duration {
	if n, ok := t.(*node); ok {
		asked := c.s.now
		reply, err := c.ask(ctx, n.host, "TIME")
		parts, ok := reply.([]any)
		if err != nil || !ok || len(parts) != 2 {
			return 0
		}
		seconds, _ := strconv.ParseInt(parts[0].(string), 10, 64)
		micros, _ := strconv.ParseInt(parts[1].(string), 10, 64)
		return time.Unix(seconds, micros*1000).Sub(epoch.Add((asked + c.s.now) / 2))
	}
	return t.machine().wall.ahead(c.s.now)
}

// proveSwitch waits until a server that was not master says that it is.
func (c *simulation) proveSwitch(ctx context.Context, h *hit) string {
	var now *node
	c.Await(ctx, switchTime, func() bool {
		for _, n := range c.masters() {
			if !slices.Contains(h.was.masters, n) {
				now = n
			}
		}
		return now != nil
	})
	if now == nil {
		return ""
	}
	if reply, err := c.ask(ctx, now.host, "ROLE"); err != nil || reply.([]any)[0] != "master" {
		return ""
	}
	return now.name + " is master now"
}

func (c *simulation) proveEvicted(_ context.Context, h *hit) string {
	if gone := evicted(h.targets) - h.was.evicted; gone > 0 {
		return fmt.Sprintf("%d keys are gone", gone)
	}
	return ""
}

// evicted counts the keys that servers have thrown away, as INFO does.
func evicted(targets []target) int {
	sum := 0
	for _, t := range targets {
		if n, ok := t.(*node); ok {
			sum += n.evicted
		}
	}
	return sum
}

// proveDelay waits a while for a worker that is delayed.
func (c *simulation) proveDelay(ctx context.Context, h *hit) string {
	if h.rule == nil || !c.Await(ctx, ambushTime, func() bool { return h.rule.bitten != nil }) {
		return ""
	}
	return fmt.Sprintf("%s waited at %s", h.rule.bitten.name, h.Step)
}

func (c *simulation) proveHealed(ctx context.Context, h *hit) string {
	links := h.was.hurt
	if h.from != nil {
		links = h.links()
	}
	var healed []string
	if len(links) > 0 && len(h.was.hurt) > 0 {
		if sent, arrived := c.reach(ctx, links, 1); arrived == sent {
			healed = append(healed, fmt.Sprintf("%d links carry packets again", sent))
		}
	}
	if now := c.condition(h); h.was.skewed > 0 && now.skewed == 0 {
		healed = append(healed, fmt.Sprintf("%d clocks are right again", h.was.skewed))
	}
	return strings.Join(healed, "; ")
}
