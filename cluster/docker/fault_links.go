//go:build unix

package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/internal/wait"
)

// Partitions: cutting links and losing packets. Between servers by iptables at the
// receiver (a packet dropped at its sender is sent again as if nothing had
// been lost); between a worker and a server in the worker's dialer.

// Cut implements inject.Links.
func (b backend) Cut(ctx context.Context, links []inject.Link) (string, error) {
	return b.cut(ctx, b.plan(links, false, 1))
}

// Lose implements inject.Links.
func (b backend) Lose(ctx context.Context, links []inject.Link, share float64) (string, error) {
	return b.cut(ctx, b.plan(links, true, share))
}

// plan says what is to be done to which receivers. There is no link between two
// workers.
func (c *system) plan(links []inject.Link, loss bool, rate float64) *cutting {
	p := &cutting{loss: loss, rate: rate, rules: map[*node][]string{}, peers: map[*node][]string{}, links: map[*host]map[string]process.Cut{}}
	for _, l := range links {
		from, to := c.find(inject.Targets{l.From}), c.find(inject.Targets{l.To})
		switch {
		case len(from.nodes) > 0 && len(to.nodes) > 0:
			p.between(from.nodes[0], to.nodes[0])
		case len(to.nodes) > 0:
			p.worker(from.hosts[0], to.nodes[0], true)
		case len(from.nodes) > 0:
			p.worker(to.hosts[0], from.nodes[0], false)
		}
	}
	return p
}

// cutting is what is to be done to which receivers.
type cutting struct {
	loss  bool
	rate  float64
	rules map[*node][]string // at the receiver
	peers map[*node][]string // whom a sender is to try to reach: "ip/port"
	links map[*host]map[string]process.Cut
	nodes []*node
	hosts []*host
}

// between plans a rule at the receiver b, and that a tries to reach it.
func (p *cutting) between(a, b *node) {
	rule := fromRule(a)
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

// fromRule is how the rules begin that drop what comes from a.
func fromRule(a *node) string { return "-s " + a.addr.Addr().String() }

func (p *cutting) worker(h *host, n *node, out bool) {
	if p.links[h] == nil {
		p.links[h] = map[string]process.Cut{}
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
func (c *system) cut(ctx context.Context, p *cutting) (string, error) {
	drops := make([]string, len(p.nodes))
	heard := make([]string, len(p.hosts))
	var jobs []func() error
	for i, n := range p.nodes {
		jobs = append(jobs, func() (err error) { drops[i], err = c.cutNode(ctx, n, p); return err })
	}
	for i, h := range p.hosts {
		jobs = append(jobs, func() (err error) { heard[i], err = c.cutHost(ctx, h, p); return err })
	}
	err := wait.Each(jobs, func(job func() error) error { return job() })
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
func (c *system) cutNode(ctx context.Context, n *node, p *cutting) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	script := ""
	if rules := p.rules[n]; len(rules) > 0 && !c.p.Inert {
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
	if c.p.Inert {
		limit = askLimit
	}
	// Each look has the time of the whole fault: one that is cut short leaves
	// the node's shell out of step.
	err := wait.Until(ctx, limit, func(context.Context) error {
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

// Mend implements inject.Links. The look is at the tables of the receivers, and at
// what worker processes say of their links.
func (b backend) Mend(ctx context.Context, links []inject.Link) (string, error) {
	p := b.plan(links, false, 1)
	var proofs []string
	for n := range p.rules {
		proof, err := b.mendNode(ctx, n, p)
		if err != nil {
			return "", err
		}
		proofs = append(proofs, proof)
	}
	for _, h := range p.hosts {
		mended := 0
		n, err := b.change(ctx, h, func(want *process.Control) {
			kept := map[string]process.Cut{}
			for name, cut := range want.Links {
				left := cut.Without(p.links[h][name])
				if left != cut {
					mended++
				}
				if left != (process.Cut{}) {
					kept[name] = left
				}
			}
			want.Links = kept
		})
		if err != nil {
			return "", err
		}
		if mended > 0 && n.Ack != 0 {
			proofs = append(proofs, fmt.Sprintf("%s has %d links again", h.name, mended))
		}
	}
	proofs = slices.DeleteFunc(proofs, func(s string) bool { return s == "" })
	slices.Sort(proofs)
	return join(proofs), nil
}

// mendNode takes the rules away that drop what comes from the senders of a plan.
func (c *system) mendNode(ctx context.Context, n *node, p *cutting) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(n.rules), func(rule string) bool {
		return slices.ContainsFunc(p.rules[n], func(r string) bool {
			source, _, _ := strings.Cut(r, " -j")
			return strings.HasPrefix(rule+" ", source+" ")
		})
	})
	gone := len(n.rules) - len(kept)
	if gone == 0 || n.harm.paused {
		return "", nil // in what is frozen nothing can be executed
	}
	n.rules = kept
	if n.harm.host {
		return "", nil // when it starts, these rules do not come back
	}
	out, err := n.sh(ctx, cutScript(kept)+"iptables -S LOCKCHECK")
	if err != nil || strings.Count(out, "-A LOCKCHECK") != len(kept) {
		return "", err
	}
	return fmt.Sprintf("%s has %d rules left of %d", n.name, len(kept), len(kept)+gone), nil
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
func (c *system) cutHost(ctx context.Context, h *host, p *cutting) (string, error) {
	links := p.links[h]
	apply := func(want *process.Control) {
		if c.p.Inert {
			return
		}
		merged := map[string]process.Cut{}
		for name, cut := range want.Links {
			merged[name] = cut
		}
		for name, cut := range links {
			merged[name] = merged[name].And(cut)
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

// lossLimit bounds waiting for the first packet to get lost.
const lossLimit = 2 * time.Second

// lost waits until a worker process has lost a packet.
func (c *system) lost(ctx context.Context, h *host, before int64) (string, error) {
	if c.p.Inert {
		return "", nil
	}
	var n process.Note
	err := wait.Until(ctx, lossLimit, func(ctx context.Context) (err error) {
		if n, err = c.change(ctx, h, func(*process.Control) {}); err == nil && n.Lost <= before {
			err = errors.New("nothing lost yet")
		}
		return err
	})
	if err != nil {
		return "", nil // no proof is no error
	}
	return fmt.Sprintf("%s lost %d packets", h.name, n.Lost-before), nil
}
