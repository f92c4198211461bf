package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/histories"
)

// turn is a worker that waits until another has done something.
type turn struct {
	w            vtime.Waiter
	of           *worker
	moves, sales int
}

const noLimit = int(^uint(0) >> 1)

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
		s.skew(w, w.host, d, histories.WorkerName(w.number))
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
	p, until := w.host.proc, s.freezeEnd(w, int(d.Variant))
	names := inject.Process(w.host.numbers()).Names()
	f := histories.Fault{F: histories.Pause, Targets: names}
	s.note(w, d, f, w.host.box.Name+" is stopped", "worker %d is frozen %s %s", w.number, m, freezes[d.Variant])
	s.until(until)
	p.Pause()
	s.s.At(until, nil, func() {
		if !p.Dead {
			p.Resume()
			s.undo(histories.Fault{F: histories.Resume, Targets: names}, w.host.box.Name+" goes on")
		}
	})
	s.s.GiveWay()
}

// crash kills the worker's process and starts the next one.
func (s *Scene) crash(w *worker, m move, d Deviation) {
	h := w.host
	names := inject.Process(h.numbers()).Names()
	s.note(w, d, histories.Fault{F: histories.Kill, Targets: names}, h.box.Name+" has no process any more", "worker %d dies %s", w.number, m)
	s.until(s.s.Now + rebirth)
	s.net.Exit(h.proc, true)
	s.s.After(rebirth, nil, func() {
		s.undo(histories.Fault{F: histories.Start, Targets: names}, h.box.Name+" runs again")
		s.launch(h)
	})
	s.s.GiveWay() // for good
}

// cutOff cuts a worker off from servers of the lock until its lease is over.
func (s *Scene) cutOff(w *worker, m move, d Deviation) {
	servers := s.site.redis
	if d.Variant != fromAll {
		servers = servers[d.Variant:][:1]
	}
	_, last := s.leaseEnds(w)
	until := last + s.After
	f := histories.Fault{F: histories.Partition, From: []string{w.host.box.Name}, To: names(servers)}
	s.note(w, d, f, "no packet arrives", "worker %d is cut off from %s %s until its lease is over", w.number, strings.Join(names(servers), ", "), m)
	s.until(until)
	var links []path
	for _, n := range servers {
		links = append(links, path{w.host.box, n.box}, path{n.box, w.host.box})
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
