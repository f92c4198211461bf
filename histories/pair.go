package histories

import (
	"cmp"
	"fmt"
	"slices"
)

// maxDisorder bounds how many completions may wait for an invocation that
// stands further down. Merging the streams of workers displaces a line by a
// few places; a file whose invocations are missing must not fill the memory.
const maxDisorder = 1 << 16

// pairer makes a History of events that come in roughly in order of time.
type pairer struct {
	h     History
	index opIndex
	early map[int64]earlyEvent // completions read before their invocations
	sized bool
}

type earlyEvent struct {
	e    Event
	line int
}

func newPairer() *pairer { return &pairer{early: map[int64]earlyEvent{}} }

// Pair makes a history of events in the order in which they were recorded. It is
// what ReadJSON makes of their lines.
func Pair(h Header, events []Event) (*History, error) {
	p := newPairer()
	p.h.Header = h
	p.h.Ops = make([]Op, 0, len(events)/2)
	for i := range events {
		if err := p.add(&events[i], i+2); err != nil {
			return nil, &LineError{i + 2, err}
		}
	}
	return p.history()
}

func (p *pairer) note(s string) { p.h.Notes = append(p.h.Notes, s) }

// expect makes room for all operations once the first block tells how long
// lines are: growing a large slice step by step would copy it several times.
func (p *pairer) expect(size int64, b *block) {
	if p.sized || b.count == 0 || len(b.data) == 0 {
		return
	}
	p.sized = true
	lines := max(size, int64(len(b.data))) * int64(b.count) / int64(len(b.data))
	p.h.Ops = make([]Op, 0, lines/2+lines/16+64)
	p.index.dense = make([]int32, lines/2+lines/16+64)
}

// add takes in one event, which stands at line.
func (p *pairer) add(e *Event, line int) error {
	if err := e.check(); err != nil {
		return err
	}
	p.h.End = max(p.h.End, e.Time)
	switch {
	case e.Process == Nemesis || e.F == Lost:
		p.h.Marks = append(p.h.Marks, *e)
	case e.F == Audit:
		if e.Type == OK {
			p.h.Audits = append(p.h.Audits, *e)
		}
	case e.Type == Invoke:
		return p.invoke(e, line)
	default:
		return p.complete(e, line)
	}
	return nil
}

func (p *pairer) invoke(e *Event, line int) error {
	if i, ok := p.index.get(e.Op); ok {
		return fmt.Errorf("%w: op %d was invoked at line %d already", ErrDuplicate, max(e.Op, 0), p.h.Ops[i].CallLine)
	}
	p.index.put(e.Op, len(p.h.Ops))
	p.h.Ops = append(p.h.Ops, Op{
		ID: e.Op, Parent: e.Parent, Process: e.Process, F: e.F, Key: e.Key,
		Call: e.Time, Return: Never, CallLine: line, Outcome: Info,
		Qty: max(e.Qty, 1), Work: e.Work,
		Order: e.Order, Customer: e.Customer, Token: e.Token, Mode: e.Mode, TTL: e.TTL, Error: e.Error,
		Fence: e.Fence, Until: e.Until, Left: e.Left, Seen: e.Seen, Value: e.Value,
		Replay: e.Replay, Final: e.Final, Whole: e.F == Cancel && e.Qty == 0,
	})
	if len(p.early) == 0 {
		return nil
	}
	if early, ok := p.early[e.Op]; ok {
		delete(p.early, e.Op)
		return completeOp(&p.h.Ops[len(p.h.Ops)-1], &early.e, early.line)
	}
	return nil
}

func (p *pairer) complete(e *Event, line int) error {
	if i, ok := p.index.get(e.Op); ok {
		return completeOp(&p.h.Ops[i], e, line)
	}
	if other, ok := p.early[e.Op]; ok {
		return fmt.Errorf("%w: op %d was completed at line %d already", ErrDuplicate, max(e.Op, 0), other.line)
	}
	if len(p.early) >= maxDisorder {
		return fmt.Errorf("%w: op %d, and %d before it", ErrUnpaired, max(e.Op, 0), len(p.early))
	}
	p.early[e.Op] = earlyEvent{*e, line}
	return nil
}

// completeOp adds a completion to its invocation. What the completion says
// counts; what it leaves out stays as invoked.
func completeOp(op *Op, e *Event, line int) error {
	if err := op.contradicted(e); err != nil {
		return err
	}
	op.Return, op.ReturnLine, op.Outcome = e.Time, line, e.Type
	op.Replay, op.Final = op.Replay || e.Replay, op.Final || e.Final
	takeString(&op.Key, e.Key)
	takeString(&op.Order, e.Order)
	takeString(&op.Customer, e.Customer)
	takeString(&op.Token, e.Token)
	takeString(&op.Mode, e.Mode)
	takeString(&op.Error, e.Error)
	takeNum(&op.Fence, e.Fence)
	takeNum(&op.Until, e.Until)
	takeNum(&op.Left, e.Left)
	takeNum(&op.Seen, e.Seen)
	takeNum(&op.Value, e.Value)
	return nil
}

func takeString(to *string, from string) {
	if from != "" {
		*to = from
	}
}

func takeNum(to *Num, from Num) {
	if from.Known {
		*to = from
	}
}

// history is the result, in order.
func (p *pairer) history() (*History, error) {
	if len(p.early) > 0 {
		first := earlyEvent{line: int(^uint(0) >> 1)}
		for _, early := range p.early {
			if early.line < first.line {
				first = early
			}
		}
		return nil, &LineError{first.line, fmt.Errorf("%w: op %d", ErrUnpaired, max(first.e.Op, 0))}
	}
	if len(p.h.Ops)+len(p.h.Marks)+len(p.h.Audits) == 0 {
		return nil, ErrNoEvent
	}
	if err := p.parents(); err != nil {
		return nil, err
	}
	p.numberZero()
	sortOps(p.h.Ops)
	byTime := func(a, b Event) int { return cmp.Compare(a.Time, b.Time) }
	slices.SortStableFunc(p.h.Marks, byTime)
	slices.SortStableFunc(p.h.Audits, byTime)
	return &p.h, nil
}

// sortOps sorts by Call, equal times by line. An Op is large, so it sorts
// places first and then moves each Op once; most histories are in order.
func sortOps(ops []Op) {
	if slices.IsSortedFunc(ops, func(a, b Op) int { return cmp.Compare(a.Call, b.Call) }) {
		return
	}
	places := make([]int32, len(ops))
	for i := range places {
		places[i] = int32(i)
	}
	slices.SortFunc(places, func(a, b int32) int {
		return cmp.Or(cmp.Compare(ops[a].Call, ops[b].Call), cmp.Compare(ops[a].CallLine, ops[b].CallLine))
	})
	for start := range places {
		i := start
		first := ops[start]
		for places[i] != int32(start) && places[i] >= 0 {
			from := places[i]
			ops[i], places[i] = ops[from], -1
			i = int(from)
		}
		if places[i] >= 0 {
			ops[i], places[i] = first, -1
		}
	}
}

// opIndex finds operations by id. Ids count from 1 and are mostly dense: a
// slice serves them at a tenth of a map's time and memory. Others go to a map.
type opIndex struct {
	dense  []int32 // place + 1, by id
	sparse map[int64]int32
	n      int
}

func (x *opIndex) get(id int64) (int, bool) {
	if id >= 0 && id < int64(len(x.dense)) && x.dense[id] != 0 {
		return int(x.dense[id]) - 1, true
	}
	if len(x.sparse) > 0 {
		i, ok := x.sparse[id]
		return int(i), ok
	}
	return 0, false
}

func (x *opIndex) put(id int64, place int) {
	x.n++
	if id >= 0 && id < int64(len(x.dense)) {
		x.dense[id] = int32(place) + 1
		return
	}
	if id >= 0 && id < 1<<16+4*int64(x.n) {
		x.dense = append(x.dense, make([]int32, id+int64(len(x.dense))/2+1024-int64(len(x.dense)))...)
		x.dense[id] = int32(place) + 1
		return
	}
	if x.sparse == nil {
		x.sparse = map[int64]int32{}
	}
	x.sparse[id] = int32(place)
}

// check reports what no event may be, whatever it was read from.
func (e *Event) check() error {
	switch e.Type {
	case Invoke, OK, Fail, Info:
	default:
		return wrong("type %.20q is none of invoke, ok, fail, info", e.Type)
	}
	switch {
	case e.Time < 0:
		return wrong("time %d is before the start of the run", e.Time)
	case e.Time > MaxTime:
		return wrong("time %d is more than 104 days after the start of the run: want nanoseconds since its start", e.Time)
	case e.Qty < 0:
		return wrong("qty %d is negative", e.Qty)
	}
	return nil
}
