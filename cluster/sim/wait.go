package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// waiting is a WAIT call that has not been answered yet.
type waiting struct {
	need   int64
	offset int64 // the client's last write
	reply  func(any)
}

// wait answers when enough replicas have acknowledged the writes of this
// client, or the time is up: with how many have.
func (n *node) wait(from *vtime.Session, args []string, reply func(any)) {
	if len(args) != 3 {
		reply(redis.Error("ERR wrong number of arguments for 'wait' command"))
		return
	}
	need, bad := strconv.ParseInt(args[1], 10, 64)
	millis, worse := strconv.ParseInt(args[2], 10, 64)
	switch {
	case n.master != nil:
		reply(redis.Error("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated."))
		return
	case bad != nil:
		reply(redis.Error("ERR value is not an integer or out of range"))
		return
	case worse != nil:
		reply(redis.Error("ERR timeout is not an integer or out of range"))
		return
	case millis < 0:
		reply(redis.Error("ERR timeout is negative"))
		return
	}
	if got := n.repl.acknowledged(knownOf(from).wrote); got >= need {
		reply(got)
		return
	}
	w := &waiting{need: need, offset: knownOf(from).wrote, reply: reply}
	n.repl.waits = append(n.repl.waits, w)
	if millis > 0 {
		n.s.After(time.Duration(millis)*time.Millisecond, n.proc, func() { n.answer(w) })
	}
	for _, to := range n.repl.replicas {
		c := to.session.Conn
		c.Send(0, func() { to.node.sendAck(c) })
	}
}

// answer ends a WAIT, unless it has been answered.
func (n *node) answer(w *waiting) {
	if i := slices.Index(n.repl.waits, w); i >= 0 {
		n.repl.waits = slices.Delete(n.repl.waits, i, i+1)
		w.reply(n.repl.acknowledged(w.offset))
	}
}

// acknowledged counts the replicas that have at least offset.
func (r *replication) acknowledged(offset int64) int64 {
	var count int64
	for _, to := range r.replicas {
		if to.acked >= offset {
			count++
		}
	}
	return count
}

// sendAck tells the master how far this replica is.
func (n *node) sendAck(c *vtime.Conn) {
	if n.repl.link != c || !n.repl.synced {
		return
	}
	offset := n.repl.offset
	c.Send(1, func() {
		if master, ok := c.End[1].Process.Serve.(*node); ok {
			master.noteAck(c.Session, offset)
		}
	})
}

func (n *node) noteAck(from *vtime.Session, offset int64) {
	for _, to := range n.repl.replicas {
		if to.session == from {
			to.acked = max(to.acked, offset)
		}
	}
	for _, w := range slices.Clone(n.repl.waits) {
		if n.repl.acknowledged(w.offset) >= w.need {
			n.answer(w)
		}
	}
}

// unblock ends every WAIT of a master that is one no longer.
func (n *node) unblock() {
	waits := n.repl.waits
	n.repl.waits = nil
	for _, w := range waits {
		w.reply(redis.Error("UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"))
	}
}
