package record

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// Record is what was read of a log or a trace.
type Record struct {
	rules     *Map
	kind      string // "log"
	sightings []sighting
	seen      int      // lines or spans
	passed    int      // that no rule fits
	bad       int      // that a rule fits, and that cannot be read
	skipped   []string // the first of these, with why
	orphans   int      // ends and signs of holds whose beginning is not in the record
}

// mostSkipped bounds the lines that are listed because they cannot be read.
const mostSkipped = 10

func newRecord(m *Map, kind string) *Record { return &Record{rules: m, kind: kind} }

func (rec *Record) add(s sighting) { rec.sightings = append(rec.sightings, s) }

func (rec *Record) skip(where int, why error) {
	if rec.bad++; len(rec.skipped) < mostSkipped {
		rec.skipped = append(rec.skipped, fmt.Sprintf("%d: %v", where, why))
	}
}

// Notes say what was read and what was not.
func (rec *Record) Notes() []string {
	unit := "line"
	if rec.kind != "log" {
		unit = "span"
	}
	notes := []string{fmt.Sprintf("%d %ss read: %d used, %d passed over because no rule fits, %d that cannot be read", rec.seen, unit, len(rec.sightings), rec.passed, rec.bad)}
	for _, s := range rec.skipped {
		notes = append(notes, unit+" "+s)
	}
	if rec.orphans > 0 {
		notes = append(notes, fmt.Sprintf("%d signs or ends of holds whose beginning is not in the record", rec.orphans))
	}
	if rec.nameless() {
		notes = append(notes, "some signs and ends of holds name no token: if the release of a hold and the next grant to its worker are both missing, the two look like one")
	}
	return notes
}

// nameless reports whether some line that ends a hold, or shows it, names no token.
func (rec *Record) nameless() bool {
	return slices.ContainsFunc(rec.sightings, func(s sighting) bool {
		return s.token == "" && s.key != "" && s.is != acquired && s.is != hold && s.is != refused
	})
}

// History makes a history of the record. The clock of each host is taken to be at
// most clockError from the true time: every operation began that much earlier than
// it says, or ended that much later, and beliefs end that much earlier. Whatever
// overlaps or comes too late nevertheless did so in truth.
func (rec *Record) History(clockError time.Duration) (*histories.History, error) {
	if len(rec.sightings) == 0 {
		return nil, fmt.Errorf("no %s in it means anything by the map: %d were read", map[bool]string{true: "line", false: "span"}[rec.kind == "log"], rec.seen)
	}
	a := assembly{Record: rec, off: int64(clockError), numbers: map[string]histories.Process{}, open: map[place]*held{}, last: map[place]int64{}}
	events := a.assemble()
	var out bytes.Buffer
	w, err := histories.NewRecorder(&out, a.header(clockError))
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		w.Record(e)
	}
	if err := w.Err(); err != nil {
		return nil, err
	}
	return histories.ReadJSON(&out)
}

// place is a worker at a lock.
type place struct {
	worker histories.Process
	key    string
}

// held is a hold whose end is not known yet.
type held struct {
	token          string
	asked, granted int64
	grant          histories.Event
	sign           int64 // when it was certainly held last
}

// assembly makes events of sightings.
type assembly struct {
	*Record
	off     int64 // the clock error
	base    int64 // the time that becomes 0
	numbers map[string]histories.Process
	open    map[place]*held
	last    map[place]int64 // when the worker was seen at the lock last
	events  []histories.Event
	ops     int64

	grants int // without a token of the record's

	deadline, fenced bool
}

func (a *assembly) assemble() []histories.Event {
	a.orphans = 0
	slices.SortStableFunc(a.sightings, func(x, y sighting) int { return cmp.Compare(x.when(), y.when()) })
	a.base = a.sightings[0].when()
	for i := range a.sightings {
		a.base = min(a.base, a.sightings[i].from)
	}
	a.base -= a.off
	a.event(a.base, histories.Event{Process: histories.Nemesis, Type: histories.Info, F: histories.Phase, Note: "recorded"})
	for i := range a.sightings {
		a.take(&a.sightings[i])
	}
	for _, at := range slices.SortedFunc(maps.Keys(a.open), func(x, y place) int { return cmp.Or(cmp.Compare(x.worker, y.worker), cmp.Compare(x.key, y.key)) }) {
		a.letGo(at, a.open[at], a.open[at].sign)
	}
	slices.SortStableFunc(a.events, func(x, y histories.Event) int { return cmp.Compare(x.Time, y.Time) })
	return a.events
}

// when is the moment that a sighting stands for: of a span, its end, but the
// beginning of one that gives the lock back.
func (s *sighting) when() int64 {
	switch s.is {
	case releasing, released, hold:
		return s.from
	}
	return s.at
}

func (a *assembly) take(s *sighting) {
	at := place{a.number(s.name()), s.key}
	h := a.open[at]
	if h != nil && s.token != "" && h.grant.Token != s.token && s.is != acquired && s.is != hold && s.is != refused {
		h = nil // of a grant whose line is missing
	}
	switch s.is {
	case acquired, hold:
		if h != nil {
			a.letGo(at, h, h.sign)
		}
		a.grant(at, s)
	case refused:
		a.operation(at.worker, a.asked(at, s), s.at, histories.Event{F: histories.Acquire, Key: s.key, Type: histories.Fail, Error: histories.Busy})
	case wrote, sold:
		a.worked(at.worker, h, s)
	default:
		a.orphan(h)
		a.sign(at, h, s)
	}
	a.last[at] = s.at
}

func (a *assembly) orphan(h *held) {
	if h == nil {
		a.orphans++
	}
}

// sign takes what a worker says of a lock that it holds.
func (a *assembly) sign(at place, h *held, s *sighting) {
	if h == nil {
		return
	}
	switch s.is {
	case holding:
		h.sign = s.at
	case releasing:
		a.letGo(at, h, s.from)
	case released:
		a.letGo(at, h, h.sign)
	case lost:
		a.letGo(at, h, s.at)
	}
}

// grant begins a hold.
func (a *assembly) grant(at place, s *sighting) {
	granted, asked := s.at, a.asked(at, s)
	if s.is == hold {
		granted = s.from
	}
	h := &held{token: s.token, asked: asked, granted: granted, sign: granted}
	if h.token == "" {
		a.grants++
		h.token = "hold-" + strconv.Itoa(a.grants)
	}
	e := histories.Event{F: histories.Acquire, Key: at.key, Type: histories.OK, Token: h.token, Fence: s.fence}
	a.fenced = a.fenced || s.fence.Known
	if s.until.Known {
		a.deadline = true
		e.Until = histories.At(time.Duration(max(0, s.until.N-a.off-a.base)))
	}
	h.grant = e
	a.open[at] = h
	if s.is == hold {
		a.letGo(at, h, s.at)
	}
}

// asked is when an acquire was invoked at the earliest: a span says so; else it is
// after its worker was seen at the lock before.
func (a *assembly) asked(at place, s *sighting) int64 {
	if s.is != hold && s.from < s.at {
		return s.from
	}
	if last, seen := a.last[at]; seen {
		return min(last, s.from)
	}
	return a.base + a.off
}

// letGo ends a hold at a moment until which its worker certainly believed in it. That
// a release took effect is never taken for certain. A hold of which the clock error
// leaves nothing is left out.
func (a *assembly) letGo(at place, h *held, when int64) {
	delete(a.open, at)
	if when-a.off <= h.granted+a.off {
		return
	}
	a.operation(at.worker, h.asked, h.granted, h.grant)
	a.ops++
	a.event(when-a.off, histories.Event{F: histories.Release, Op: a.ops, Process: at.worker, Type: histories.Invoke, Key: at.key, Token: h.token})
}

// worked takes a write or a purchase: a sign of the lock that it names, and of no
// other, whose release may be missing. That a write came too late is never said: the
// grant that it came under may be missing too.
func (a *assembly) worked(worker histories.Process, h *held, s *sighting) {
	if h != nil {
		h.sign = max(h.sign, s.at)
	}
	if s.is == sold {
		a.operation(worker, s.from, s.at, histories.Event{F: histories.Sell, Key: cmp.Or(s.stock, s.key), Qty: s.qty, Order: s.order, Type: histories.OK, Left: s.left})
	}
}

// operation adds an invocation and its completion.
func (a *assembly) operation(worker histories.Process, from, to int64, done histories.Event) {
	a.ops++
	done.Op, done.Process = a.ops, worker
	call := done
	call.Type, call.Token, call.Error = histories.Invoke, "", ""
	call.Fence, call.Until, call.Left = histories.Num{}, histories.Num{}, histories.Num{}
	a.event(from-a.off, call)
	done.Key, done.Qty, done.Order = "", 0, ""
	a.event(to+a.off, done)
}

func (a *assembly) event(at int64, e histories.Event) {
	e.Time = max(0, at-a.base)
	a.events = append(a.events, e)
}

func (a *assembly) number(name string) histories.Process {
	n, known := a.numbers[name]
	if !known {
		n = histories.Process(len(a.numbers))
		a.numbers[name] = n
	}
	return n
}

// header says what was read, and the name of each worker in the record.
func (a *assembly) header(clockError time.Duration) histories.Header {
	settings := map[string]string{"clock-error": clockError.String()}
	for name, n := range a.numbers {
		settings["worker "+n.String()] = name
	}
	return histories.Header{
		Source: a.kind, Settings: settings, Initial: a.rules.Initial, Stock: a.rules.Stock, MaxDelay: 2 * clockError, Passive: true,
		Lock: histories.LockSpec{Reentrant: a.rules.Reentrant, Deadline: a.deadline, Fenced: a.fenced},
	}
}
