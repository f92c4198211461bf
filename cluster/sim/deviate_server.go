package sim

import (
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
)

// hurt does something to a server of the lock that has just done a command.
func (s *Scene) hurt(n *node, x *vtime.Exchange, d Deviation) {
	w := s.ofTask(x.Task.Task)
	when := fmt.Sprintf("after %s of worker %d", command(x.Args), w.number)
	switch d.Kind {
	case Forget:
		s.note(w, d, histories.Fault{F: histories.Kill, Targets: []string{n.name}, Mode: histories.ModeProcess}, n.name+" has lost its process", "%s forgets everything %s", n.name, when)
		n.keys.Retire()
		n.kill(histories.ModeProcess)
		n.boot(true)
		s.undo(histories.Fault{F: histories.Start, Targets: []string{n.name}, Mode: histories.ModeEmpty}, n.name+" runs again")
	case Failover:
		s.failOver(w, n, d, when)
	case Clock:
		s.skew(w, n, d, n.name)
	case Evict:
		key := n.keys.Names()[d.Variant]
		s.note(w, d, histories.Fault{F: histories.Evict, Targets: []string{n.name}}, "1 key is gone", "%s throws %s away %s", n.name, key, when)
		n.keys.Apply(n.wall(), []string{"DEL", key})
		n.propagate([][]string{{"DEL", key}})
	}
}

// canLack reports whether a replica may become master that lacks the master's last
// writes: not those that one has acknowledged, for a Sentinel prefers the replica
// that has most.
func (s *Scene) canLack(lacks int64) bool {
	r := &s.master.repl
	acked := int64(0)
	for _, to := range r.replicas {
		acked = max(acked, to.acked)
	}
	return s.replica(0) != s.master && r.offset-lacks >= max(acked, r.first) && r.first == 0
}

// failOver makes a replica master that lacks the last writes.
func (s *Scene) failOver(w *worker, old *node, d Deviation, when string) {
	next := s.replica(0)
	has := old.repl.offset - int64(d.Variant)
	s.note(w, d, histories.Fault{F: histories.Kill, Targets: []string{old.name}, Mode: histories.ModeProcess}, old.name+" has lost its process",
		"%s becomes master without the last %d writes %s", next.name, d.Variant, when)
	backlog := slices.Clone(old.repl.backlog[:has])
	old.kill(histories.ModeProcess)
	keys := redis.New()
	for _, effects := range backlog {
		for _, effect := range effects {
			keys.Apply(next.wall(), effect)
		}
	}
	next.keys.Restore(keys)
	next.repl.backlog, next.repl.offset = backlog, has
	s.master = next
	next.follow(nil)
	for _, n := range s.site.redis {
		if n != next && n.alive() {
			n.follow(next)
		}
	}
}

// breakConnection ends a worker's connection with the SQL server.
func (s *Scene) breakConnection(w *worker, db *sqlServer, x *vtime.Exchange) {
	f := histories.Fault{F: histories.Kill, Targets: []string{db.name}, To: []string{w.name}, Mode: histories.ModeConnection}
	s.note(w, Deviation{Kind: Connection}, f, db.name+" closed 1 connection", "%s closes the connection of worker %d after %s", db.name, w.number, command(x.Args))
	db.hangUp(x.Session())
}
