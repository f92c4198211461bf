package command

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// progress tells on standard error how far a run is: a line that changes in
// place on a terminal, one line a cell elsewhere.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	live    bool // a terminal
	cells   int
	over    int
	started time.Time
	now     string // the run under way
	ops     int    // operations of the run under way
	faults  int
	begun   time.Time
	drawn   time.Time
}

// redraw is how often the line changes at most.
const redraw = 100 * time.Millisecond

func newProgress(w io.Writer, cells int) *progress {
	now := time.Now()
	return &progress{w: w, live: isTerminal(w), cells: cells, started: now, begun: now}
}

// begin says which run is under way: "run 3 of 20, seed 8123".
func (p *progress) begin(c tableCell, n, of int, seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = fmt.Sprintf("%s × %s, run %d of %d, seed %d", c.design.Name, c.nemesis, n, of, seed)
	p.ops, p.faults, p.begun = 0, 0, time.Now()
	p.draw(true)
}

// event counts what happens in a run on the real cluster.
func (p *progress) event(e histories.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.Type == histories.Invoke:
		p.ops++
	case e.Process == histories.Nemesis && e.Fault != nil:
		p.faults++
	}
	p.draw(false)
}

// say tells something that lasts, above the line.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintln(p.w, text)
	p.draw(true)
}

// cell says how a cell ended.
func (p *progress) cell(r tableResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over++
	if p.live {
		p.draw(true)
		return
	}
	fmt.Fprintf(p.w, "%d of %d: %s × %s: %s\n", p.over, p.cells, r.design.Name, r.nemesis, r.word())
}

// word is the result of a cell in a word or two.
func (r tableResult) word() string {
	switch {
	case r.err != nil:
		return "error"
	case r.na != "":
		return "skipped: " + r.na
	case r.cell.Runs == 0:
		return "not run"
	case r.cell.Stopped:
		return fmt.Sprintf("broke by run %d, seed %d", r.cell.Runs, r.cell.Seed)
	case r.cell.Invalid > 0:
		return fmt.Sprintf("invalid in %d of %d runs, seed %d", r.cell.Invalid, r.cell.Runs, r.cell.Seed)
	case 0 < r.cell.Unknown && r.cell.Unknown < r.cell.Runs:
		return fmt.Sprintf("unknown in %d of %d runs, else valid", r.cell.Unknown, r.cell.Runs)
	}
	return fmt.Sprintf("%s, %d runs", r.cell.Outcome, r.cell.Runs)
}

// draw rewrites the line.
func (p *progress) draw(must bool) {
	if !p.live || !must && time.Since(p.drawn) < redraw {
		return
	}
	p.drawn = time.Now()
	line := fmt.Sprintf("cell %d of %d%s: %s", min(p.over+1, p.cells), p.cells, p.left(), p.now)
	if seconds := time.Since(p.begun).Seconds(); p.ops > 0 && seconds > 0 {
		line += fmt.Sprintf(", %.0f ops/s, %d faults", float64(p.ops)/seconds, p.faults)
	}
	if r := []rune(line); len(r) > 79 {
		line = string(r[:78]) + "…"
	}
	fmt.Fprintf(p.w, "\r%s\x1b[K", line)
}

// left estimates the rest of the time from the cells that are over.
func (p *progress) left() string {
	if p.over == 0 || p.over >= p.cells {
		return ""
	}
	each := time.Since(p.started) / time.Duration(p.over)
	return fmt.Sprintf(", %v to go", (each * time.Duration(p.cells-p.over)).Round(time.Second))
}

// done ends the line.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live && !p.drawn.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
