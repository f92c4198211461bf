package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
)

// The kinds of deviations of a scene, and how one is put down. What they do stands in
// deviate_….go: to workers, to messages, to servers.

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
