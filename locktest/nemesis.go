package locktest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// none is the nemesis that does nothing.
const none = "none"

// catalogue is the table of nemeses. Names are those of lockcheck's own, and mean
// the same.
var catalogue = []struct {
	name string
	play func(*injector)
}{
	{none, func(*injector) {}},
	{"pause", func(n *injector) { n.every(n.pause) }},
	{"crash", func(n *injector) { n.every(n.crash) }},
	{"loss", func(n *injector) { n.every(n.lose, n.reset) }},
	{"partition", func(n *injector) { n.every(n.cut) }},
	{"restart", func(n *injector) { n.every(n.restart) }},
	{"clock", func(n *injector) { n.every(n.skew) }},
}

// Nemeses are the names that Config.Nemeses may have:
//
//	none       what concurrency alone does
//	pause      a worker stands still for longer than the lease: its next step, what
//	           its connections send and what they receive
//	crash      a worker dies while it holds a lock, and a new one takes its place
//	loss       packets are lost and sent again; connections are reset
//	partition  a worker is cut off the servers, one way or both; what it had sent arrives late
//	restart    a server, of several a majority, is back empty after 100 ms
//	clock      the clock of a server, of several of a majority, jumps beyond the lease, and back later
func Nemeses() []string {
	var names []string
	for _, n := range catalogue {
		names = append(names, n.name)
	}
	return names
}

// player is the nemesis of a name, nil if there is none.
func player(name string) func(*injector) {
	for _, n := range catalogue {
		if n.name == name {
			return n.play
		}
	}
	return nil
}

// injector plays a nemesis in a scene. Every fault is undone before the next one.
type injector struct {
	scene *scene
	rand  *rand.Rand
	until time.Duration
}

// every injects one of the faults now and then, until the phase with faults is over.
func (n *injector) every(faults ...func()) {
	for i := n.rand.IntN(len(faults)); ; i++ {
		time.Sleep(n.random(n.scene.span()/4, n.scene.span()))
		if n.scene.now() >= n.until {
			return
		}
		faults[i%len(faults)]()
	}
}

func (n *injector) random(low, high time.Duration) time.Duration {
	return low + time.Duration(n.rand.Int64N(int64(high-low)+1))
}

func (n *injector) anyWorker() *worker { return n.scene.workers[n.rand.IntN(len(n.scene.workers))] }

// holder is a worker that holds a lock, if one does before long, and otherwise any.
func (n *injector) holder() *worker {
	for range 400 {
		for _, i := range n.rand.Perm(len(n.scene.workers)) {
			if w := n.scene.workers[i]; w.holds() {
				return w
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return n.anyWorker()
}

// majority are as many servers as decide.
func (n *injector) majority() (names []string, servers []*server) {
	all := n.scene.servers
	for _, i := range n.rand.Perm(len(all))[:len(all)/2+1] {
		servers = append(servers, all[i])
	}
	for _, s := range servers {
		names = append(names, s.name)
	}
	return names, servers
}

// seen is a proof: what was seen of a fault, nothing if it hit nobody.
func seen(count int, what string) string {
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", count, what)
}

// pause lets a worker stand still, mostly one that holds a lock.
func (n *injector) pause() {
	w := n.holder()
	if n.rand.IntN(3) == 0 {
		w = n.anyWorker()
	}
	at := n.scene.now()
	w.gate.close()
	time.Sleep(n.random(n.scene.span()*11/10, n.scene.span()*2))
	back := n.scene.now()
	stopped := w.gate.open()
	n.scene.mark(histories.Fault{F: histories.Pause, Targets: []string{w.name}}, at, seen(stopped, "steps of it waited"))
	n.scene.mark(histories.Fault{F: histories.Resume, Targets: []string{w.name}}, back, "it goes on")
}

// crash kills a worker.
func (n *injector) crash() {
	w := n.holder()
	at := n.scene.now()
	w.mu.Lock()
	l, life := w.life, w.lives
	w.mu.Unlock()
	if l == nil || l.crashed() {
		return
	}
	l.crash()
	n.scene.mark(histories.Fault{F: histories.Crash, Targets: []string{w.name}}, at, fmt.Sprintf("its life %d ended", life))
}

// lose lets a third of a server's packets be sent again, for a while.
func (n *injector) lose() {
	s := n.scene.servers[n.rand.IntN(len(n.scene.servers))]
	f := histories.Fault{F: histories.Loss, Targets: []string{s.name}, Rate: 0.3}
	at := n.scene.now()
	s.lose(f.Rate)
	time.Sleep(n.random(time.Second, 5*time.Second))
	lost := s.lose(0)
	n.scene.mark(f, at, seen(lost, "packets lost"))
	n.scene.mark(histories.Fault{F: histories.Heal, From: f.Targets}, n.scene.now(), "")
}

// reset ends the connections of all clients with a server.
func (n *injector) reset() {
	s := n.scene.servers[n.rand.IntN(len(n.scene.servers))]
	at := n.scene.now()
	ended := s.reset()
	n.scene.mark(histories.Fault{F: histories.Kill, Mode: histories.ModeConnection, Targets: []string{s.name}}, at, seen(ended, "connections reset"))
}

// cut cuts a worker off all servers: both ways, or so that replies do not arrive.
func (n *injector) cut() {
	w := n.holder()
	var names []string
	for _, s := range n.scene.servers {
		names = append(names, s.name)
	}
	f := histories.Fault{F: histories.Partition, From: []string{w.name}, To: names}
	if n.rand.IntN(2) == 0 {
		f.From, f.To, f.OneWay = f.To, f.From, true
	}
	at := n.scene.now()
	for _, way := range w.routes {
		way.down.close()
		if !f.OneWay {
			way.up.close()
		}
	}
	time.Sleep(n.random(time.Second, longestCut))
	held, back := 0, n.scene.now()
	for _, way := range w.routes {
		held += way.down.open() + way.up.open()
	}
	n.scene.mark(f, at, seen(held, "packets held up"))
	n.scene.mark(histories.Fault{F: histories.Heal, From: f.From, To: f.To}, back, "")
}

// restart kills servers; they are back soon, and empty.
func (n *injector) restart() {
	n.holder()
	names, servers := n.majority()
	at := n.scene.now()
	for _, s := range servers {
		s.stop()
	}
	time.Sleep(100 * time.Millisecond)
	back := n.scene.now()
	for _, s := range servers {
		s.begin()
	}
	n.scene.mark(histories.Fault{F: histories.Kill, Mode: histories.ModeProcess, Targets: names}, at, "down: "+strings.Join(names, ", "))
	n.scene.mark(histories.Fault{F: histories.Start, Mode: histories.ModeEmpty, Targets: slices.Clone(names)}, back, "up, with no keys")
}

// skew lets clocks of servers jump beyond the lease, and back.
func (n *injector) skew() {
	n.holder()
	names, servers := n.majority()
	jump := n.scene.span() * 3 / 2
	at := n.scene.now()
	for _, s := range servers {
		s.advance(jump)
	}
	n.scene.mark(histories.Fault{F: histories.Skew, Targets: names, Offset: jump}, at, "ahead by "+jump.String())
	time.Sleep(n.random(time.Second, n.scene.span()))
	back := n.scene.now()
	for _, s := range servers {
		s.advance(-jump)
	}
	n.scene.mark(histories.Fault{F: histories.Heal}, back, "")
}
