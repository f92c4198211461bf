package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/histories"
)

// band is a fault from its injection to its end.
type band struct {
	From   int64    `json:"from"` // ns
	To     int64    `json:"to"`
	F      string   `json:"f"`
	Label  string   `json:"label"`
	On     []string `json:"on,omitempty"` // nodes and workers it concerns
	Mark   int      `json:"mark"`         // index into the history's marks
	Moment bool     `json:"moment,omitempty"`
	Proof  string   `json:"proof,omitempty"`
}

// bandsOf are the faults of a history with their ends, and what the cluster did
// by itself. What has no end by its nature (a promotion, an eviction) is a moment.
func bandsOf(h *histories.History) []band {
	list := []band{} // the page reads no null
	spans := histories.FaultSpans(h.Marks)
	for i, e := range h.Marks {
		k, fault := e.Kind()
		if e.Process != histories.Nemesis || e.F == histories.Phase || fault && k.Undoes {
			continue
		}
		b := band{From: e.Time, To: e.Time, F: e.F, Label: markText(e), On: e.Targets, Mark: i, Moment: true, Proof: e.Proof}
		if len(spans) > 0 && spans[0].Mark == i {
			if b.Moment = !spans[0].Lasts; !b.Moment {
				b.To = min(spans[0].To, h.End)
			}
			spans = spans[1:]
		}
		list = append(list, b)
	}
	return list
}

// node is the lane of a server.
type node struct {
	Name   string  `json:"name"`
	States []state `json:"states"`
}

// state is what a server was for a while.
type state struct {
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Kind  string `json:"kind"` // master, replica, killed, paused, skewed, cut
	Label string `json:"label,omitempty"`
}

// nodesOf works out what can be told of the servers: their roles from
// promotions, their faults from the bands.
func nodesOf(h *histories.History, bands []band) []node {
	states := map[string][]state{}
	for _, e := range h.Marks {
		if e.Process != histories.Nemesis {
			continue
		}
		for _, n := range append(slices.Clone(e.Targets), linkEnds(e)...) {
			if isNode(n) {
				states[n] = nil
			}
		}
	}
	for n, roles := range rolesOf(h) {
		if _, ours := states[n]; ours {
			states[n] = roles
		}
	}
	for _, b := range bands {
		if b.Moment {
			continue // the server goes on
		}
		k, _ := h.Marks[b.Mark].Kind()
		for _, n := range b.On {
			if _, ours := states[n]; ours && k.State != "" {
				states[n] = append(states[n], state{b.From, b.To, k.State, b.Label})
			}
		}
	}
	list := make([]node, 0, len(states))
	for _, n := range slices.SortedFunc(maps.Keys(states), byNumber) {
		list = append(list, node{n, states[n]})
	}
	return list
}

func linkEnds(e histories.Event) []string {
	if e.Fault == nil {
		return nil
	}
	return append(slices.Clone(e.Fault.From), e.Fault.To...)
}

// isNode tells the name of a server from that of a worker and from a role
// ("master", "workers"), which is no server: servers are numbered.
func isNode(name string) bool {
	i := strings.LastIndexByte(name, '-')
	return i > 0 && i < len(name)-1 && strings.Trim(name[i+1:], "0123456789") == "" && !histories.IsWorker(name)
}

// byNumber orders redis-2 before redis-10.
func byNumber(a, b string) int {
	return cmp.Or(cmp.Compare(len(strings.TrimRight(a, "0123456789")), len(strings.TrimRight(b, "0123456789"))),
		cmp.Compare(strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")),
		cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// rolesOf are the roles of servers in order of time, as far as they are known.
// Before its first change of role a server was the other: a promoted one had been
// a replica. One that was hit by a fault aimed at the master, before any promotion,
// was the master.
func rolesOf(h *histories.History) map[string][]state {
	of, now := map[string][]state{}, map[string]state{}
	promoted := false
	for _, e := range h.Marks {
		promoted = promoted || e.F == histories.Promoted
		for _, n := range e.Targets {
			role, known := now[n]
			switch {
			case e.F == histories.Promoted || e.F == histories.Demoted:
				before, after := "replica", "master"
				if e.F == histories.Demoted {
					before, after = after, before
				}
				if !known {
					role = state{Kind: before}
				}
				role.To = e.Time
				of[n] = append(of[n], role)
				now[n] = state{From: e.Time, Kind: after}
			case !known && !promoted && e.Fault != nil && slices.Equal(e.Fault.Targets, []string{histories.RoleMaster}):
				now[n] = state{Kind: "master"}
			}
		}
	}
	for n, role := range now {
		role.To = h.End
		of[n] = append(of[n], role)
	}
	return of
}
