package report

import (
	"fmt"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// What a page draws at most. A browser can draw more, but nobody can look at
// it, and a history of 100,000 faults made a page of 57 MB.
const (
	maxBands  = 500 // faults and promotions
	maxNodes  = 64  // lanes of servers
	maxStates = 200 // what one server was, one after the other
)

// marksOfViolations are the marks that violations name.
func marksOfViolations(told []checker.Violation) map[int]bool {
	named := map[int]bool{}
	for i := range told {
		for _, mark := range told[i].Faults {
			named[mark] = true
		}
	}
	return named
}

// fewBands are the bands that a page shows, in their order: those with a named
// mark, and others at equal distances in the list.
func fewBands(all []band, named map[int]bool, most int) []band {
	if len(all) <= most {
		return all
	}
	room, rest := most, 0
	keep := make([]bool, len(all))
	for i := range all {
		if keep[i] = room > 0 && named[all[i].Mark]; keep[i] {
			room--
		} else {
			rest++
		}
	}
	few := make([]band, 0, most)
	passed := 0
	for i := range all {
		if !keep[i] {
			keep[i] = passed*room/rest < (passed+1)*room/rest
			passed++
		}
		if keep[i] {
			few = append(few, all[i])
		}
	}
	return few
}

// fewNodes are the servers that have a lane, in their order: those that bands
// with a named mark concern, then those of other bands, then others.
func fewNodes(all []node, bands []band, named map[int]bool, most int) []node {
	if len(all) <= most {
		return all
	}
	rank := map[string]int{}
	for _, b := range bands {
		for _, n := range b.On {
			rank[n] = max(rank[n], 1)
			if named[b.Mark] {
				rank[n] = 2
			}
		}
	}
	keep, room := make([]bool, len(all)), most
	for wanted := 2; wanted >= 0; wanted-- {
		for i := range all {
			if room > 0 && rank[all[i].Name] == wanted {
				keep[i] = true
				room--
			}
		}
	}
	few := make([]node, 0, most)
	for i := range all {
		if keep[i] {
			few = append(few, all[i])
		}
	}
	return few
}

// fewStates cuts lanes off after so many states, and counts the lanes.
func fewStates(nodes []node, most int) (cut int) {
	for i := range nodes {
		if len(nodes[i].States) > most {
			nodes[i].States = nodes[i].States[:most]
			cut++
		}
	}
	return cut
}

// drawn picks the bands and servers of a page, and says what was left out.
func (p *page) drawn(h *histories.History, told []checker.Violation) ([]band, []node) {
	all, named := bandsOf(h), marksOfViolations(told)
	bands := fewBands(all, named, maxBands)
	if n := len(all) - len(bands); n > 0 {
		p.LeftOut = append(p.LeftOut, fmt.Sprintf("%s of %s are not shown: here and below are those that the violations name, and others at equal distances.",
			count(n), plural(len(all), "fault")))
	}
	servers := nodesOf(h, bands)
	nodes := fewNodes(servers, bands, named, maxNodes)
	if n := len(servers) - len(nodes); n > 0 {
		p.LeftOut = append(p.LeftOut, fmt.Sprintf("%s of %s have no lane: here are first those that the faults of the violations concern.",
			count(n), plural(len(servers), "server")))
	}
	if cut := fewStates(nodes, maxStates); cut > 0 {
		p.LeftOut = append(p.LeftOut, fmt.Sprintf("The lanes of %s end after %d changes of what each was.", plural(cut, "server"), maxStates))
	}
	return bands, nodes
}
