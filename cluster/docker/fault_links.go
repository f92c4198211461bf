package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
)

// Cutting links and losing packets. Between servers by iptables at the
// receiver (a packet dropped at its sender is sent again as if nothing had
// been lost); between a worker and a server in the worker's dialer.

// hurtLinks cuts every link between a member of From and a member of To, or
// has it lose a share of its packets.
func (c *cell) hurtLinks(ctx context.Context, f histories.Fault) (cluster.Effect, error) {
	from, err := c.resolve(ctx, f.From)
	if err != nil {
		return cluster.Effect{}, err
	}
	to, err := c.resolve(ctx, f.To)
	if err != nil {
		return cluster.Effect{}, err
	}
	if f.F == histories.Partition {
		f.Rate = 1
	}
	if f.Rate <= 0 || f.Rate > 1 {
		return cluster.Effect{}, fmt.Errorf("%s: rate is %v, want more than 0 and at most 1", f.F, f.Rate)
	}
	c.markHurt(slices.Concat(from.nodes, to.nodes))
	plan := newCutting(f.F == histories.Loss, f.Rate)
	plan.oneWay(from, to)
	if !f.OneWay {
		plan.oneWay(to, from)
	}
	effect := cluster.Effect{Targets: append(from.names(), to.names()...)}
	if len(plan.nodes) == 0 && len(plan.hosts) == 0 {
		return effect, fmt.Errorf("%w: there is no link between %v and %v", cluster.ErrUnavailable, f.From, f.To)
	}
	effect.Proof, err = c.cut(ctx, plan)
	return effect, err
}

// cutting is what is to be done to which receivers.
type cutting struct {
	loss  bool
	rate  float64
	rules map[*node][]string // at the receiver
	peers map[*node][]string // whom a sender is to try to reach: "ip/port"
	links map[*host]map[string]linkCut
	nodes []*node
	hosts []*host
}

func newCutting(loss bool, rate float64) *cutting {
	return &cutting{loss: loss, rate: rate, rules: map[*node][]string{}, peers: map[*node][]string{}, links: map[*host]map[string]linkCut{}}
}

// oneWay plans to lose what from sends to to.
func (p *cutting) oneWay(from, to targets) {
	for _, b := range to.nodes {
		for _, a := range from.nodes {
			if a != b {
				p.between(a, b)
			}
		}
		for _, h := range from.hosts {
			p.worker(h, b, true)
		}
	}
	for _, h := range to.hosts {
		for _, a := range from.nodes {
			p.worker(h, a, false)
		}
	}
}

// between plans a rule at the receiver b, and that a tries to reach it.
func (p *cutting) between(a, b *node) {
	rule := "-s " + a.addr.Addr().String()
	if p.loss {
		rule += " -m statistic --mode random --probability " + strconv.FormatFloat(p.rate, 'f', -1, 64)
	}
	p.rules[b] = append(p.rules[b], rule+" -j DROP")
	p.peers[a] = append(p.peers[a], fmt.Sprintf("%s/%d", b.addr.Addr(), b.addr.Port()))
	for _, n := range []*node{a, b} {
		if !slices.Contains(p.nodes, n) {
			p.nodes = append(p.nodes, n)
		}
	}
}

func (p *cutting) worker(h *host, n *node, out bool) {
	if p.links[h] == nil {
		p.links[h] = map[string]linkCut{}
		p.hosts = append(p.hosts, h)
	}
	cut := p.links[h][n.name]
	switch {
	case p.loss && out:
		cut.LossOut = p.rate
	case p.loss:
		cut.LossIn = p.rate
	case out:
		cut.Out = true
	default:
		cut.In = true
	}
	p.links[h][n.name] = cut
}

// cut does what is planned, everywhere at once.
func (c *cell) cut(ctx context.Context, p *cutting) (string, error) {
	drops := make([]string, len(p.nodes))
	heard := make([]string, len(p.hosts))
	var jobs []func() error
	for i, n := range p.nodes {
		jobs = append(jobs, func() (err error) { drops[i], err = c.cutNode(ctx, n, p); return err })
	}
	for i, h := range p.hosts {
		jobs = append(jobs, func() (err error) { heard[i], err = c.cutHost(ctx, h, p); return err })
	}
	err := each(jobs, func(job func() error) error { return job() })
	return p.proof(drops, heard), err
}

// proof joins what nodes and hosts said. Whom chance spares was not spared by
// the fault: of a loss it is enough that somebody lost something.
func (p *cutting) proof(drops, heard []string) string {
	drops = slices.DeleteFunc(drops, func(s string) bool { return s == senderOnly })
	if p.rate < 1 {
		none := func(s string) bool { return s == "" }
		drops, heard = slices.DeleteFunc(drops, none), slices.DeleteFunc(heard, none)
	}
	return join(drops, heard)
}

// senderOnly stands for the proof of a node that has no rule of its own.
const senderOnly = "-"

// cutNode puts the rules in force, has the peers of the node be sent
// something, and looks how many packets its rules drop.
func (c *cell) cutNode(ctx context.Context, n *node, p *cutting) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	script := ""
	if rules := p.rules[n]; len(rules) > 0 && !c.p.Harmless {
		n.rules = append(n.rules, rules...)
		script = cutScript(n.rules)
	}
	if n.harm.host || n.harm.paused {
		return senderOnly, nil // the rules come into force when it starts
	}
	if _, err := n.sh(ctx, script+knockScript(p.peers[n])); err != nil {
		return "", err
	}
	if len(p.rules[n]) == 0 {
		return senderOnly, nil
	}
	var dropped int64
	limit := dropLimit
	if c.p.Harmless {
		limit = askLimit
	}
	// Each look has the time of the whole fault: one that is cut short leaves
	// the node's shell out of step.
	err := until(ctx, limit, func(context.Context) error {
		out, err := n.sh(ctx, "iptables -nvxL LOCKCHECK")
		if dropped = packets(out); err == nil && dropped == 0 {
			err = errNoDrop
		}
		return err
	})
	if err != nil && !errors.Is(err, errNoDrop) {
		return "", err
	}
	if dropped == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s dropped %d packets", n.name, dropped), nil
}

// dropLimit bounds waiting for the first packet to be dropped.
const dropLimit = 4 * time.Second

var errNoDrop = errors.New("no packet dropped")

// packets adds up the counters of the rules that drop, as iptables prints
// them: packets, bytes, target.
func packets(table string) (sum int64) {
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "DROP" {
			sum += number(f[0])
		}
	}
	return sum
}

// cutScript makes the rules the only ones of our chain. Few processes: a
// busy machine takes its time for each.
func cutScript(rules []string) string {
	lines := []string{"iptables-restore -n << 'END' || exit 1", "*filter", ":LOCKCHECK - [0:0]"}
	for _, r := range rules {
		lines = append(lines, "-A LOCKCHECK "+r)
	}
	return strings.Join(append(lines, "COMMIT", "END", ""), "\n")
}

// knockScript connects with the peers again and again, in the background, for
// as long as the proof may take: a first attempt may come before the peer's
// rule does. Perl is part of every Debian; one process does for all.
func knockScript(peers []string) string {
	if len(peers) == 0 {
		return ""
	}
	return `perl -MSocket=:DEFAULT,SOCK_NONBLOCK -e 'for my $round (1 .. 16) {
for (@ARGV) {
my ($ip, $port) = split m{/};
socket(my $s, PF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0) or next;
connect($s, sockaddr_in($port, inet_aton($ip)));
push @keep, $s;
}
select(undef, undef, undef, 0.25);
}' ` + strings.Join(peers, " ") + " > /dev/null 2>&1 &\n"
}

// healRules lets all through again. n.mu is held.
func (n *node) healRules(ctx context.Context) error {
	if len(n.rules) == 0 {
		return nil
	}
	_, err := n.sh(ctx, "iptables -F LOCKCHECK")
	if err == nil {
		n.rules = nil
	}
	return err
}

// cutHost tells a worker process which links are cut, and asks it whom it
// does not reach any more.
func (c *cell) cutHost(ctx context.Context, h *host, p *cutting) (string, error) {
	links := p.links[h]
	apply := func(want *control) {
		if c.p.Harmless {
			return
		}
		merged := map[string]linkCut{}
		for name, cut := range want.Links {
			merged[name] = cut
		}
		for name, cut := range links {
			merged[name] = merged[name].and(cut)
		}
		want.Links = merged
	}
	n, err := c.change(ctx, h, apply)
	if err != nil {
		return "", err
	}
	if !p.loss {
		for name := range links {
			if !slices.Contains(n.Unreachable, name) {
				return "", nil
			}
		}
		return fmt.Sprintf("%s gets no answer from %s", h.name, strings.Join(n.Unreachable, ", ")), nil
	}
	return c.lost(ctx, h, n.Lost)
}

// and joins two states of one link.
func (a linkCut) and(b linkCut) linkCut {
	return linkCut{Out: a.Out || b.Out, In: a.In || b.In, LossOut: max(a.LossOut, b.LossOut), LossIn: max(a.LossIn, b.LossIn)}
}

// lossLimit bounds waiting for the first packet to get lost.
const lossLimit = 2 * time.Second

// lost waits until a worker process has lost a packet.
func (c *cell) lost(ctx context.Context, h *host, before int64) (string, error) {
	if c.p.Harmless {
		return "", nil
	}
	var n note
	err := until(ctx, lossLimit, func(ctx context.Context) (err error) {
		if n, err = c.change(ctx, h, func(*control) {}); err == nil && n.Lost <= before {
			err = errors.New("nothing lost yet")
		}
		return err
	})
	if err != nil {
		return "", nil // no proof is no error
	}
	return fmt.Sprintf("%s lost %d packets", h.name, n.Lost-before), nil
}
