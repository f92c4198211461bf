package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
)

// Kind is a kind of deviation.
type Kind uint8

// The kinds of deviations.
const (
	Preempt Kind = iota
	Freeze
	Crash
	LateRequest
	Lost
	CutOff
	Forget
	Failover
	Clock
	Evict
	Connection
	kinds
)

// KindInfo is what people are told of a kind.
type KindInfo struct {
	Name string // "freeze"
	Does string // what it does, and at which points
}

// AllKinds is the table of kinds, by Kind.
var AllKinds = [kinds]KindInfo{
	Preempt:     {"preempt", "a worker's step waits until another worker has made its next one, or has ended its sale"},
	Freeze:      {"freeze", "a worker's process stands still before a step: until just before its lease ends, just after, or until all others have ended"},
	Crash:       {"crash", "a worker's process dies before a step, and the next one starts"},
	LateRequest: {"late", "a request arrives more than a lease later"},
	Lost:        {"lost", "a request or a reply never arrives"},
	CutOff:      {"cut-off", "a worker is cut off from the server that it is about to ask, or from all of the lock's, until its lease is over"},
	Forget:      {"restart", "a server of the lock is back without its keys right after a command"},
	Failover:    {"failover", "a replica that lacks the last write, or the last two, becomes master right after a command"},
	Clock:       {"clock", "the clock of a server of the lock, or of a worker that looks at it, jumps by more than a lease, forward or back"},
	Evict:       {"evict", "a server of the lock throws one key away right after a command"},
	Connection:  {"connection", "the SQL server closes a worker's connection right after a statement"},
}

func (k Kind) String() string { return AllKinds[k].Name }

// Kinds is a set of kinds.
type Kinds uint16

// EveryKind has all kinds.
const EveryKind Kinds = 1<<kinds - 1

// Has reports whether the set has k.
func (s Kinds) Has(k Kind) bool { return s&(1<<k) != 0 }

// With is the set and k.
func (s Kinds) With(k Kind) Kinds { return s | 1<<k }

// Variants.
const (
	lostRequest = 0
	lostReply   = 1

	forward = 0
	back    = 1

	fromAll = 255 // of a cut: all servers of the lock

	untilBefore = 0 // of a freeze
	untilAfter  = 1
	untilOver   = 2

	mostLacking = 2 // writes
)

// freezes are how long a process stands still, in words.
var freezes = [...]string{"until just before its lease ends", "until just after its lease ends", "until all others have ended"}

// nearly is so long before the end of a lease that a message sent then arrives
// after it.
const nearly = vtime.BaseLatency / 2

// rebirth is how long a worker's next process takes to start.
const rebirth = 10 * time.Millisecond

// turn is a worker that waits until another has done something.
type turn struct {
	w            vtime.Waiter
	of           *worker
	moves, sales int
}

const noLimit = int(^uint(0) >> 1)

// note records a deviation of a worker, or of a server that has just served it.
func (s *Scene) note(w *worker, d Deviation, f histories.Fault, proof, format string, args ...any) {
	s.done = append(s.done, Done{
		Placed: Placed{s.points, d}, Worker: w.number, Events: s.recorded, At: s.s.Now, Until: s.s.Now,
		Fault: f, Step: s.at, Text: fmt.Sprintf(format, args...),
	})
	mark := histories.Event{Process: histories.Nemesis, Type: histories.Info, F: f.F, Targets: hit(f), Fault: &f, Proof: proof, Note: "explore"}
	s.record(mark)
}

// until says when the deviation that was noted last is over.
func (s *Scene) until(at time.Duration) { s.done[len(s.done)-1].Until = at }

// hit are all that a fault names.
func hit(f histories.Fault) (names []string) {
	return slices.Concat(f.Targets, f.From, f.To)
}

// undo records the end of a deviation.
func (s *Scene) undo(f histories.Fault, proof string) {
	s.record(histories.Event{Process: histories.Nemesis, Type: histories.Info, F: f.F, Targets: hit(f), Fault: &f, Proof: proof, Note: "explore"})
}

// interfere does something to a worker that is at a step.
func (s *Scene) interfere(w *worker, m move, d Deviation) {
	if m.to == nil && m.what != goesOn {
		s.at = m.what
		defer func() { s.at = "" }()
	}
	switch d.Kind {
	case Preempt:
		s.preempt(w, m, d)
	case Freeze:
		s.freeze(w, m, d)
	case Crash:
		s.crash(w, m, d)
	case Clock:
		s.skew(w, w.home, d, histories.WorkerName(w.number))
	case CutOff:
		s.cutOff(w, m, d)
	}
}

// preempt lets another worker go first.
func (s *Scene) preempt(w *worker, m move, d Deviation) {
	o := s.workers[d.Variant/2]
	t := &turn{of: o, moves: o.moves + 1, sales: noLimit}
	until := "made its next step"
	if d.Variant%2 == 1 {
		t.moves, t.sales, until = noLimit, o.sales+1, "ended its sale"
	}
	s.note(w, d, histories.Fault{F: histories.Delay, Targets: []string{w.name}, Step: m.place(), For: s.Over},
		fmt.Sprintf("%s waits for %s", w.name, o.name), "worker %d waits %s until worker %d has %s", w.number, m, o.number, until)
	t.w = s.s.Waiter()
	s.waits = append(s.waits, t)
	noted := len(s.done) - 1
	s.s.Hold(s.s.Now + s.Over)
	s.done[noted].Until = s.s.Now
	s.waits = slices.DeleteFunc(s.waits, func(o *turn) bool { return o == t })
	s.undo(histories.Fault{F: histories.Heal, From: []string{w.name}}, "")
}

// freezeEnd is until when a freeze of a kind lasts.
func (s *Scene) freezeEnd(w *worker, until int) time.Duration {
	first, last := s.leaseEnds(w)
	switch until {
	case untilBefore:
		return first - nearly
	case untilAfter:
		return last + s.After
	}
	return last + s.Over
}

// freeze stops the worker's process.
func (s *Scene) freeze(w *worker, m move, d Deviation) {
	p, until := w.home.proc, s.freezeEnd(w, int(d.Variant))
	names := inject.Process(w.home.numbers()).Names()
	f := histories.Fault{F: histories.Pause, Targets: names}
	s.note(w, d, f, w.home.host.Name+" is stopped", "worker %d is frozen %s %s", w.number, m, freezes[d.Variant])
	s.until(until)
	p.Pause()
	s.s.At(until, nil, func() {
		if !p.Dead {
			p.Resume()
			s.undo(histories.Fault{F: histories.Resume, Targets: names}, w.home.host.Name+" goes on")
		}
	})
	s.s.GiveWay()
}

// crash kills the worker's process and starts the next one.
func (s *Scene) crash(w *worker, m move, d Deviation) {
	h := w.home
	names := inject.Process(h.numbers()).Names()
	s.note(w, d, histories.Fault{F: histories.Kill, Targets: names}, h.host.Name+" has no process any more", "worker %d dies %s", w.number, m)
	s.until(s.s.Now + rebirth)
	s.net.Exit(h.proc, true)
	s.s.After(rebirth, nil, func() {
		s.undo(histories.Fault{F: histories.Start, Targets: names}, h.host.Name+" runs again")
		s.launch(h)
	})
	s.s.GiveWay() // for good
}

// skew moves a clock by more than a lease.
func (s *Scene) skew(w *worker, t target, d Deviation, name string) {
	jump, way := s.Lease+2*s.After, "forward"
	if d.Variant == back {
		jump, way = -jump, "back"
	}
	t.machine().Wall.Skew(s.s.Now, jump, 0)
	s.note(w, d, histories.Fault{F: histories.Skew, Targets: []string{name}, Offset: jump}, fmt.Sprintf("%s has a clock that is %v ahead", name, jump),
		"the clock of %s jumps %s by %v", name, way, jump.Abs())
}

// cutOff cuts a worker off from servers of the lock until its lease is over.
func (s *Scene) cutOff(w *worker, m move, d Deviation) {
	servers := s.site.redis
	if d.Variant != fromAll {
		servers = servers[d.Variant:][:1]
	}
	_, last := s.leaseEnds(w)
	until := last + s.After
	f := histories.Fault{F: histories.Partition, From: []string{w.home.host.Name}, To: names(servers)}
	s.note(w, d, f, "no packet arrives", "worker %d is cut off from %s %s until its lease is over", w.number, strings.Join(names(servers), ", "), m)
	s.until(until)
	var links []path
	for _, n := range servers {
		links = append(links, path{w.home.host, n.host}, path{n.host, w.home.host})
	}
	if s.cuts == nil {
		s.cuts = map[path]time.Duration{}
	}
	for _, l := range links {
		s.net.Cut(l[0], l[1])
		s.cuts[l] = max(s.cuts[l], until)
	}
	s.s.At(until, nil, func() {
		for _, l := range links {
			if s.cuts[l] <= s.s.Now {
				s.net.Mend(s.net.Link(l[0], l[1]))
			}
		}
		s.undo(histories.Fault{F: histories.Heal, From: f.From, To: f.To}, "packets arrive again")
	})
}

// delay lets a request come late, or never.
func (s *Scene) delay(w *worker, x *vtime.Exchange, to *vtime.Host, d Deviation) {
	what := command(x.Args)
	if d.Kind == LateRequest {
		x.Late = s.Lease + s.After
		s.note(w, d, histories.Fault{F: histories.Delay, Targets: []string{w.name}, Step: "request", For: x.Late},
			what+" is under way", "%s of worker %d to %s arrives %v late", what, w.number, to.Name, x.Late)
		s.s.After(x.Late, nil, func() { s.undo(histories.Fault{F: histories.Heal, From: []string{w.name}}, "") })
		return
	}
	x.Lost = true
	s.note(w, d, histories.Fault{F: histories.Loss, Targets: []string{w.name}, Step: s.operation(w)}, what+" was dropped", "%s of worker %d to %s is lost", what, w.number, to.Name)
}

// loseReply drops the reply to a request.
func (s *Scene) loseReply(w *worker, x *vtime.Exchange) {
	x.Unanswered = true
	what := command(x.Args)
	s.note(w, Deviation{Lost, lostReply}, histories.Fault{F: histories.Loss, Targets: []string{w.name}, Step: s.operation(w)}, "the reply to "+what+" was dropped", "the reply to %s of worker %d is lost", what, w.number)
}

// operation is what a worker is at.
func (s *Scene) operation(w *worker) string {
	if n := len(w.open); n > 0 {
		return w.open[n-1].F
	}
	return "request"
}

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

// place is a step's name for a schedule.
func (m move) place() string {
	if m.to != nil {
		return "before-" + strings.ToLower(m.args[0])
	}
	return m.what
}

// String says when: "before its DECRBY", "at before-write", "when it goes on".
func (m move) String() string {
	switch {
	case m.to != nil:
		return "before its " + command(m.args)
	case m.what == goesOn:
		return "as it goes on"
	}
	return "at " + m.what
}

// command is a request in a few words.
func command(args []string) string {
	switch {
	case args[0] == "QUERY":
		words := strings.Fields(args[1])
		return strings.Join(words[:min(len(words), 2)], " ")
	case len(args) > 3 && (args[0] == "EVAL" || args[0] == "EVALSHA"):
		return "script on " + args[3]
	case len(args) > 1:
		return args[0] + " " + args[1]
	}
	return args[0]
}
