package histories

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Keys of histories that name none.
const (
	ednLockKey  = "lock"
	ednStockKey = "stock"
)

// ReadEDN reads a Jepsen history: one map an operation, in a vector or one
// after the other, with or without the tag jepsen.history.Op.
//
// A process has one operation at a time, so its next event completes it. What
// each :f becomes is said in docs/checking.md; one that means nothing for a
// lock or a stock is an error. Stock starts at 0, locks have no lease.
func ReadEDN(r io.Reader) (*History, error) {
	e := newEDNReader(r)
	in := ednHistory{reader: e, pairer: newPairer(), open: map[int64]ednOpen{}}
	in.pairer.h.Header = Header{Format: Format, Source: "Jepsen history"}
	if err := in.top(); err != nil {
		return nil, err
	}
	if in.events == 0 {
		return nil, ErrEmpty
	}
	return in.pairer.history()
}

// ednHistory makes events of the operations of a Jepsen history.
type ednHistory struct {
	reader *ednReader
	pairer *pairer
	open   map[int64]ednOpen // by process
	events int
	ops    int64
	timed  bool
}

// ednOpen is an operation that is not completed.
type ednOpen struct {
	op   int64
	f    string // as Jepsen says it
	ours string // as we say it
	left Num    // what a :cas leaves if it succeeds
	qty  int64  // units asked for
}

// top reads operations at the top and in vectors at the top, one at a time.
func (in *ednHistory) top() error {
	inVector := false
	for {
		in.reader.size = 0
		c, err := in.reader.space()
		switch {
		case err == io.EOF && inVector:
			return in.reader.fail("it ends inside the vector of operations")
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case (c == '[' || c == '(') && !inVector:
			inVector = true
			continue
		case (c == ']' || c == ')') && inVector:
			inVector = false
			continue
		}
		in.reader.back(c)
		line := in.reader.line
		v, err := in.reader.form()
		if err == io.EOF {
			continue // a discarded form was the last
		}
		if err != nil {
			return err
		}
		if _, ok := v.(ednEnd); ok && inVector { // behind a discarded form
			inVector = false
			continue
		}
		if err := in.take(v, line); err != nil {
			var inner *LineError
			if errors.As(err, &inner) {
				return err
			}
			return &LineError{line, err}
		}
	}
}

// take adds one operation.
func (in *ednHistory) take(v any, line int) error {
	m, ok := v.(ednMap)
	if !ok {
		return fmt.Errorf("%w: %.40q is no operation: want a map with :type, :f and :process", ErrEvent, ednText(v))
	}
	e, err := in.event(m)
	if err != nil {
		return err
	}
	for _, text := range [...]string{e.Key, e.Token, e.Error, e.Note, e.F} {
		if !utf8.ValidString(text) {
			return wrong("text that is not UTF-8")
		}
	}
	if err := e.numbers(0); err != nil {
		return err
	}
	in.events++
	return in.pairer.add(e, line)
}

func (in *ednHistory) event(m ednMap) (*Event, error) {
	e := &Event{Type: Type(ednText(m[ednKeyword("type")])), F: ednText(m[ednKeyword("f")])}
	if err := in.time(e, m); err != nil {
		return nil, err
	}
	process, worker := m[ednKeyword("process")].(int64)
	if !worker {
		if name := ednText(m[ednKeyword("process")]); name != Nemesis.String() {
			return nil, fmt.Errorf("%w: process is %.40q", ErrEvent, name)
		}
		e.Process, e.Type = Nemesis, Info
		e.Note = ednText(m[ednKeyword("value")])
		return e, nil
	}
	if process < 0 || process > 1<<31-1 {
		return nil, fmt.Errorf("%w: process is %d", ErrEvent, process)
	}
	e.Process = Process(process)
	return e, in.pair(e, process, m)
}

// time is :time, or the place in the file if the first event has none.
func (in *ednHistory) time(e *Event, m ednMap) error {
	at := m[ednKeyword("time")]
	t, ok := at.(int64)
	if !ok && at != nil {
		return wrong(":time is %.40q: want whole nanoseconds", ednText(at))
	}
	if in.events == 0 {
		in.timed = ok
	}
	switch {
	case ok && in.timed:
		e.Time = t
	case in.timed:
		return fmt.Errorf("%w: no :time, though events before have one", ErrEvent)
	default:
		e.Time = int64(in.events)
	}
	return nil
}

// pair gives an event its op and our words.
func (in *ednHistory) pair(e *Event, process int64, m ednMap) error {
	open, isOpen := in.open[process]
	switch {
	case e.Type == Invoke && isOpen:
		return fmt.Errorf("%w: process %d invokes :%s before its :%s completed", ErrEvent, process, e.F, open.f)
	case e.Type != Invoke && !isOpen:
		return fmt.Errorf("%w: %s of :%s by process %d", ErrUnpaired, e.Type, e.F, process)
	case e.Type != Invoke && open.f != e.F:
		return fmt.Errorf("%w: process %d completes :%s, but invoked :%s", ErrEvent, process, e.F, open.f)
	}
	if e.Type == Invoke {
		in.ops++
		open = ednOpen{op: in.ops, f: e.F}
	}
	e.Op = open.op
	if err := open.words(e, m[ednKeyword("value")]); err != nil {
		return err
	}
	e.Error = ednError(e, m[ednKeyword("error")])
	if e.Type == Invoke {
		open.ours, open.qty = e.F, e.Qty
	}
	if in.open[process] = open; e.Type != Invoke {
		delete(in.open, process)
	}
	return nil
}

// ednError is :error in our words, if we have one for it.
func ednError(e *Event, v any) string {
	if list, ok := v.(ednList); ok && len(list) > 0 {
		v = list[0]
	}
	text := ednText(v)
	if near := nearReason(text, reasons[e.F]); near != "" {
		return near
	}
	return text
}

// ednFunctions are the words for :f that have a meaning here.
var ednFunctions = map[string]string{
	"acquire": Acquire, "lock": Acquire, "release": Release, "unlock": Release, "read": Read,
	"dec": Sell, "decr": Sell, "decrement": Sell, "sell": Sell,
	"inc": Restock, "incr": Restock, "increment": Restock, "restock": Restock,
	"add": Restock, "cas": Restock, // or Sell, as the number says
}

// words turns :f and :value into ours.
func (o *ednOpen) words(e *Event, value any) error {
	f, ok := ednFunctions[e.F]
	if !ok {
		return fmt.Errorf("%w: :f :%.40s means nothing for a lock or a stock", ErrEvent, e.F)
	}
	e.Key, value = ednKeyed(e.F, value)
	jepsen := e.F
	e.F = f
	key := ednStockKey
	switch {
	case f == Acquire || f == Release:
		key = ednLockKey
		if err := ednToken(e, value); err != nil {
			return err
		}
	case f == Read:
		n, ok := value.(int64)
		if !ok && value != nil && e.Type == OK {
			return wrong(":%.40s of %.40q: want a whole number", jepsen, ednText(value))
		}
		if ok && e.Type == OK {
			e.Value = N(n)
		}
	default:
		if err := o.change(e, jepsen, value); err != nil {
			return err
		}
	}
	if e.Type == Invoke {
		e.Key = cmp.Or(e.Key, key) // a completion that names none is of the same
	}
	return nil
}

// ednKeyed splits [k v]. The value of a :cas is a pair by itself.
func ednKeyed(f string, value any) (key string, rest any) {
	pair, ok := value.(ednList)
	if !ok || len(pair) != 2 {
		return "", value
	}
	if _, inner := pair[1].(ednList); f == "cas" && !inner {
		return "", value
	}
	return ednText(pair[0]), pair[1]
}

func ednToken(e *Event, value any) error {
	m, ok := value.(ednMap)
	if !ok {
		e.Token = ednText(value)
		return nil
	}
	e.Token = ednText(m[ednKeyword("token")])
	fence := m[ednKeyword("fence")]
	n, ok := fence.(int64)
	if !ok && fence != nil {
		return wrong(":fence is %.40q: want a whole number", ednText(fence))
	}
	if ok {
		e.Fence = N(n)
	}
	return nil
}

// change makes a sell or a restock of what changes a number. A completion may
// say again by how much.
func (o *ednOpen) change(e *Event, jepsen string, value any) error {
	if e.Type != Invoke && value == nil {
		e.F = o.ours
	} else if err := o.ask(e, jepsen, value); err != nil {
		return err
	}
	if e.Type == Invoke {
		return nil
	}
	if e.F != o.ours || e.Qty != 0 && e.Qty != o.qty {
		return wrong(":%s completes as %s of %d, but was invoked as %s of %d", jepsen, e.F, e.Qty, o.ours, o.qty)
	}
	if e.Qty = 0; e.Type == OK {
		e.Left = o.left
	}
	return nil
}

// ask reads by how much a number is to change.
func (o *ednOpen) ask(e *Event, jepsen string, value any) error {
	by, ok := value.(int64)
	left := o.left
	switch {
	case jepsen == "cas":
		var from int64
		from, by, ok = ednPair(value)
		left = N(by)
		by -= from
	case value == nil:
		by, ok = 1, true
	}
	if e.F == Sell {
		by = -by
	}
	if !ok || by == 0 || by == -by {
		return wrong(":%s of %.40q", jepsen, ednText(value))
	}
	if e.F, e.Qty = Restock, by; by < 0 {
		e.F, e.Qty = Sell, -by
	}
	if e.Type != Invoke && left != o.left {
		return wrong(":%s completes with %.40q, but was invoked to leave %s", jepsen, ednText(value), o.left)
	}
	o.left = left
	return nil
}

func ednPair(value any) (a, b int64, ok bool) {
	list, _ := value.(ednList)
	if len(list) != 2 {
		return 0, 0, false
	}
	a, ok1 := list[0].(int64)
	b, ok2 := list[1].(int64)
	return a, b, ok1 && ok2
}
