package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// This file is about which server is master: how a Sentinel learns it, tells the
// others and the clients, and makes the servers obey.

// reportCommand stands for INFO between servers.
const reportCommand = "sim.report"

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// learn takes in what a server says of itself, and corrects it.
func (x *sentinel) learn(v *view, reply any) {
	now, ok := reply.(report)
	if !ok {
		return
	}
	before := v.info
	v.info, v.infoAt = now, x.s.Now
	if (before.master == nil) != (now.master == nil) {
		v.roleSince = x.s.Now
	}
	if before.master != now.master {
		v.masterSince = x.s.Now
	}
	if x.tilted() || v.node == x.master {
		return
	}
	f := &x.failover
	switch {
	case now.master == nil && v == f.promoted:
		if f.state == waitPromotion {
			x.configEpoch = f.epoch
			x.enter(reconfigure)
			x.greetSoon()
		}
	case now.master == nil:
		x.convert(v, 4*helloPeriod, v.roleSince)
	case f.state == idle && now.master != x.master:
		x.convert(v, failoverTimeout, v.masterSince)
	}
	if f.promoted != nil && now.master == f.promoted.node {
		if v.reconf == asked {
			v.reconf = underWay
		}
		if v.reconf == underWay && now.linkUp {
			v.reconf = followsNew
		}
	}
}

// convert makes a server follow the master if for some time it has been well
// and has been following nobody or somebody else.
func (x *sentinel) convert(v *view, wait, since time.Duration) {
	m := x.view(x.master)
	sane := !m.down && m.info.master == nil && x.s.Now-m.infoAt < 2*infoPeriod
	if sane && x.s.Now-v.downAt > wait && x.s.Now-since > wait {
		v.link.ask(nil, "REPLICAOF", x.master.name, "6379")
	}
}

// current is the master that this Sentinel announces: the new one as soon as
// it has obeyed.
func (x *sentinel) current() *node {
	if x.failover.state == reconfigure {
		return x.failover.promoted.node
	}
	return x.master
}

// greet tells another Sentinel now and then whom this one takes for master.
func (x *sentinel) greet(o *other) {
	if x.s.Now-o.hello < helloPeriod {
		return
	}
	if o.link.ask(nil, "HELLO", itoa(x.epoch), itoa(x.configEpoch), x.current().name) {
		o.hello = x.s.Now
	}
}

func (x *sentinel) greetSoon() {
	for _, o := range x.others {
		o.hello = vtime.Never
	}
}

// greeted takes over a newer configuration.
func (x *sentinel) greeted(epoch, configEpoch int64, master string) {
	x.epoch = max(x.epoch, epoch)
	if configEpoch <= x.configEpoch {
		return
	}
	x.configEpoch = configEpoch
	if master != x.master.name {
		x.switchTo(x.nodes[slices.IndexFunc(x.nodes, func(n *node) bool { return n.name == master })])
	}
}

// switchTo takes a server for master from now on, and tells the clients.
func (x *sentinel) switchTo(n *node) {
	before := x.master
	x.master = n
	x.reset()
	for _, fan := range x.fans {
		if knownOf(fan).switched != nil {
			knownOf(fan).switched(before, n)
			continue
		}
		c := fan.Conn
		c.Send(0, func() {
			if c.OnPush != nil {
				c.OnPush(n.name)
			}
		})
	}
}

// Serve answers clients and other Sentinels.
func (x *sentinel) Serve(from *vtime.Session, args []string, reply func(any)) {
	name := strings.ToUpper(args[0])
	if name == "SENTINEL" && len(args) > 1 {
		name = strings.ToUpper(args[1])
	}
	switch name {
	case "PING":
		reply("PONG")
	case "GET-MASTER-ADDR-BY-NAME":
		if !slices.Contains(x.fans, from) {
			x.fans = append(x.fans, from)
		}
		reply([]any{x.current().name, "6379"})
	case "REPLICAS":
		reply(x.replicas())
	case "FAILOVER":
		reply(x.failoverByHand())
	case "HELLO":
		epoch, _ := strconv.ParseInt(args[1], 10, 64)
		configEpoch, _ := strconv.ParseInt(args[2], 10, 64)
		x.greeted(epoch, configEpoch, args[3])
		reply("OK")
	case "IS-MASTER-DOWN":
		epoch, _ := strconv.ParseInt(args[3], 10, 64)
		reply(x.opine(args[1], args[2], epoch))
	default:
		reply(redis.Error("ERR unknown command '" + args[0] + "'"))
	}
}

func (x *sentinel) Hangup(from *vtime.Session) {
	x.fans = slices.DeleteFunc(x.fans, func(s *vtime.Session) bool { return s == from })
}

// replicas names the replicas that are well.
func (x *sentinel) replicas() []any {
	names := []any{}
	for _, v := range x.views {
		if v.node != x.current() && !v.down {
			names = append(names, v.node.name)
		}
	}
	return names
}

// failoverByHand starts a failover that needs nobody's agreement.
func (x *sentinel) failoverByHand() any {
	if x.failover.state != idle {
		return redis.Error("INPROG Failover already in progress")
	}
	if x.choose() == nil {
		return redis.Error("NOGOODSLAVE No suitable replica to promote")
	}
	x.startFailover()
	x.failover.forced = true
	return "OK"
}
