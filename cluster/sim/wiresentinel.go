package sim

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/resp"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// sentinelFront is a Sentinel behind the wire protocol.
type sentinelFront struct {
	wire *wire
	x    *sentinel
}

var _ resp.Backend = (*sentinelFront)(nil)

// switchChannel is where a Sentinel announces a new master.
const switchChannel = "+switch-master"

// Do implements resp.Backend.
func (f *sentinelFront) Do(args []string, reply func(any)) {
	switch name := strings.ToUpper(args[0]); {
	case name == "PING":
		reply(resp.Status("PONG"))
	case name == "ROLE":
		reply([]any{"sentinel", []any{f.wire.c.masterName()}})
	case name == "SENTINEL" && len(args) > 1:
		reply(f.sentinel(strings.ToUpper(args[1]), args[2:]))
	default:
		reply(redis.Error("ERR unknown command '" + args[0] + "', with args beginning with: "))
	}
}

// Listen implements resp.Backend.
func (f *sentinelFront) Listen(channel string, on bool) {
	if channel != switchChannel {
		return
	}
	session := f.wire.conn.Session
	f.x.Hangup(session)
	if !on {
		return
	}
	f.x.fans = append(f.x.fans, session)
	knownOf(session).switched = func(before, now *node) {
		knownOf(session).front.Publish(switchChannel, strings.Join(slices.Concat([]string{f.wire.c.masterName()}, f.address(before.name), f.address(now.name)), " "))
	}
}

// Identity implements resp.Backend.
func (f *sentinelFront) Identity() (version, mode, role string) {
	return "7.0.15", "sentinel", "sentinel"
}

func (f *sentinelFront) sentinel(word string, args []string) any {
	ask := map[string]func() any{
		"GET-MASTER-ADDR-BY-NAME": func() any { ip, port := f.wire.names(f.x.current().name); return []any{ip, port} },
		"MASTER":                  func() any { return f.server(f.x.view(f.x.current()), "master") },
		"REPLICAS":                f.replicas,
		"SLAVES":                  f.replicas,
		"SENTINELS":               f.others,
		"FAILOVER":                f.failover,
		"CKQUORUM":                f.quorum,
	}
	switch handle := ask[word]; {
	case word == "MASTERS":
		return []any{f.server(f.x.view(f.x.current()), "master")}
	case handle == nil:
		return redis.Error("ERR unknown subcommand '" + strings.ToLower(word) + "'. Try SENTINEL HELP.")
	case len(args) != 1:
		return redis.Error("ERR wrong number of arguments for 'sentinel|" + strings.ToLower(word) + "' command")
	case args[0] != f.wire.c.masterName() && word == "GET-MASTER-ADDR-BY-NAME":
		return resp.NullArray{}
	case args[0] != f.wire.c.masterName():
		return redis.Error("ERR No such master with that name")
	default:
		return handle()
	}
}

// address is a server's ip and port.
func (f *sentinelFront) address(server string) []string {
	ip, port := f.wire.names(server)
	return []string{ip, port}
}

// server is what a Sentinel tells of a server that it watches, as far as
// clients look at it.
func (f *sentinelFront) server(v *view, role string) resp.Map {
	flags := role
	if v.down {
		flags = "s_down," + flags
	}
	ip, port := f.wire.names(v.node.name)
	m := resp.Map{"name", f.wire.c.masterName(), "ip", ip, "port", port, "runid", v.info.run, "flags", flags, "role-reported", role}
	if role != "slave" {
		return append(m, "num-slaves", strconv.Itoa(len(f.x.views)-1), "num-other-sentinels", strconv.Itoa(len(f.x.others)), "quorum", strconv.Itoa(quorum))
	}
	m[1] = net.JoinHostPort(ip, port)
	link := "err"
	if v.info.linkUp {
		link = "ok"
	}
	ip, port = f.wire.names(f.x.current().name)
	return append(m, "master-link-status", link, "master-host", ip, "master-port", port)
}

func (f *sentinelFront) replicas() any {
	list := []any{}
	for _, v := range f.x.views {
		if v.node != f.x.current() {
			list = append(list, f.server(v, "slave"))
		}
	}
	return list
}

func (f *sentinelFront) others() any {
	list := []any{}
	for _, o := range f.x.others {
		ip, port := f.wire.names(o.sentinel.name)
		list = append(list, resp.Map{"name", o.sentinel.name, "ip", ip, "port", port, "flags", "sentinel"})
	}
	return list
}

// quorum answers CKQUORUM for the Sentinels that this one knows: it does not look
// which of them it reaches.
func (f *sentinelFront) quorum() any {
	return resp.Status("OK " + strconv.Itoa(len(f.x.others)+1) + " usable Sentinels. Quorum and failover authorization can be reached")
}

func (f *sentinelFront) failover() any {
	if r := f.x.failoverByHand(); r != "OK" {
		return r
	}
	return resp.Status("OK")
}

// listen begins or ends a program's subscription.
func (n *node) listen(from *vtime.Session, channel string, on bool) {
	n.subs = slices.DeleteFunc(n.subs, func(s subscriber) bool { return s.session == from && s.channel == channel })
	if on {
		n.subs = append(n.subs, subscriber{from, channel})
	}
}
