package sim

import (
	"fmt"
	"strings"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/resp"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// serverCommands are the commands that concern a server rather than its keys.
var serverCommands = map[string]func(n *node, from *vtime.Session, args []string, reply func(any)){
	"WAIT":        (*node).wait,
	"PSYNC":       (*node).psync,
	"ROLE":        (*node).role,
	"CLUSTER":     (*node).clusterCommand,
	"INFO":        (*node).info,
	"REPLICAOF":   (*node).replicaOf,
	"SUBSCRIBE":   (*node).subscribe,
	"UNSUBSCRIBE": (*node).unsubscribe,
	"PUBLISH":     (*node).publishCommand,

	reportCommand: (*node).report,
}

// whileLoading are those of them that a loading server answers.
var whileLoading = map[string]bool{"CLUSTER": true, "ROLE": true, "INFO": true, "SUBSCRIBE": true, "UNSUBSCRIBE": true, "PUBLISH": true, reportCommand: true}

// Serve executes one command at this instant, on the server's own clock.
func (n *node) Serve(from *vtime.Session, args []string, reply func(any)) {
	own := serverCommands[args[0]]
	if own == nil {
		own = serverCommands[strings.ToUpper(args[0])]
	}
	switch {
	case own == nil && n.member != nil:
		n.executeOwn(from, args, reply)
	case own == nil:
		n.execute(from, args, reply)
	case n.loading && !whileLoading[args[0]] && !whileLoading[strings.ToUpper(args[0])]:
		reply(redis.Error("LOADING Redis is loading the dataset in memory"))
	default:
		own(n, from, args, reply)
	}
}

// execute lets the keyspace do the command.
func (n *node) execute(from *vtime.Session, args []string, reply func(any)) {
	r := n.perform(from, args)
	if text, is := r.Reply.(string); is && r.Status && knownOf(from).front != nil {
		reply(resp.Status(text))
		return
	}
	reply(r.Reply)
}

// executeOwn does a command if the slots of its keys are this server's.
func (n *node) executeOwn(from *vtime.Session, args []string, reply func(any)) {
	if n.member.holdsBack(args, func() { n.executeOwn(from, args, reply) }) {
		return
	}
	if bad := n.member.refuses(args); bad != "" && !n.loading {
		reply(bad)
		return
	}
	n.execute(from, args, reply)
}

func (n *node) clusterCommand(_ *vtime.Session, args []string, reply func(any)) {
	switch {
	case n.member == nil:
		reply(redis.Error("ERR This instance has cluster support disabled"))
	case len(args) > 1 && strings.EqualFold(args[1], "SLOTS"):
		reply(n.member.slotsReply())
	case len(args) > 1 && strings.EqualFold(args[1], "FAILOVER"):
		reply(n.member.failoverCommand())
	default:
		reply(redis.Error("ERR unknown subcommand. Try CLUSTER HELP."))
	}
}

// perform executes a command on the keyspace and passes on what it did.
func (n *node) perform(from *vtime.Session, args []string) redis.Result {
	result := n.keys.Do(n.wall(), n.mode(), args)
	if len(result.Effects) > 0 {
		n.propagate(result.Effects)
		knownOf(from).wrote = n.repl.offset
	}
	for _, m := range result.Published {
		n.publish(m)
	}
	return result
}

// role answers as ROLE does: what Sentinel and the harness look at.
func (n *node) role(_ *vtime.Session, _ []string, reply func(any)) {
	if n.master == nil {
		var replicas []any
		for _, to := range n.repl.replicas {
			replicas = append(replicas, []any{to.node.name, "6379", fmt.Sprint(to.acked)})
		}
		reply([]any{"master", n.repl.offset, replicas})
		return
	}
	reply([]any{"slave", n.master.name, int64(6379), n.linkState(), n.repl.offset})
}

// report is what Sentinel reads from INFO.
func (n *node) report(_ *vtime.Session, _ []string, reply func(any)) {
	r := report{master: n.master, linkUp: n.repl.synced, offset: n.repl.offset, run: n.run}
	if n.master != nil && !r.linkUp {
		r.linkDown = max(n.s.Now-n.repl.downSince, 1)
	}
	reply(r)
}

func (n *node) linkState() string {
	switch {
	case n.repl.link == nil:
		return "connect"
	case n.repl.synced:
		return "connected"
	case n.repl.link.Session == nil:
		return "connecting"
	}
	return "sync"
}

// info answers the fields of INFO that clients look at.
func (n *node) info(_ *vtime.Session, _ []string, reply func(any)) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\r\n", args...) }
	line("# Server")
	line("redis_version:7.0.15")
	line("# Persistence")
	line("loading:%d", map[bool]int{true: 1}[n.loading])
	line("# Replication")
	if n.master == nil {
		line("role:master")
	} else {
		line("role:slave")
		line("master_host:%s", n.master.name)
		line("master_port:6379")
		line("master_link_status:%s", map[bool]string{true: "up", false: "down"}[n.repl.synced])
		line("slave_repl_offset:%d", n.repl.offset)
	}
	line("connected_slaves:%d", len(n.repl.replicas))
	line("master_replid:%s", n.repl.id)
	line("master_repl_offset:%d", n.repl.offset)
	line("# Keyspace")
	if n.keys.Len() > 0 {
		line("db0:keys=%d", n.keys.Len())
	}
	reply(b.String())
}

// replicaOf changes the role, as Sentinel orders it: with the change the
// server closes the connections of its clients.
func (n *node) replicaOf(_ *vtime.Session, args []string, reply func(any)) {
	if len(args) != 3 {
		reply(redis.Error("ERR wrong number of arguments for 'replicaof' command"))
		return
	}
	var master *node
	if !strings.EqualFold(args[1], "NO") {
		if master = n.peers[args[1]]; master == nil || master == n {
			reply(redis.Error("ERR Invalid master host"))
			return
		}
	}
	if n.master != master {
		n.follow(master)
		n.dropClients(anybody)
	}
	reply("OK")
}

func (n *node) subscribe(from *vtime.Session, args []string, reply func(any)) {
	for _, channel := range args[1:] {
		n.subs = append(n.subs, subscriber{from, channel})
	}
	reply([]any{"subscribe", args[1], int64(len(args) - 1)})
}

func (n *node) unsubscribe(from *vtime.Session, _ []string, reply func(any)) {
	n.drop(from)
	reply([]any{"unsubscribe", nil, int64(0)})
}

// publishCommand corrects the number of receivers, which only the node knows.
func (n *node) publishCommand(from *vtime.Session, args []string, reply func(any)) {
	result := n.keys.Do(n.wall(), n.mode(), args)
	if _, bad := result.Reply.(redis.Error); bad {
		reply(result.Reply)
		return
	}
	if len(result.Effects) > 0 {
		n.propagate(result.Effects)
	}
	var receivers int64
	for _, m := range result.Published {
		receivers += n.publish(m)
	}
	reply(receivers)
}
