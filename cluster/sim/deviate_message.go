package sim

import (
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
)

// delay lets a request come late, or never.
func (s *Scene) delay(w *worker, x *vtime.Exchange, to *vtime.Machine, d Deviation) {
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
