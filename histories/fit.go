package histories

import (
	"fmt"
	"math"
)

// contradicted reports what a completion says otherwise than its invocation.
// What decides a verdict must not depend on which of the two is believed.
func (op *Op) contradicted(e *Event) error {
	id := max(op.ID, 0)
	switch {
	case op.ReturnLine != 0:
		return fmt.Errorf("%w: op %d was completed at line %d already", ErrDuplicate, id, op.ReturnLine)
	case e.F != op.F:
		return wrong("op %d is completed as %s, but was invoked as %s at line %d", id, e.F, op.F, op.CallLine)
	case e.Process != op.Process:
		return wrong("op %d is completed by worker %s, but was invoked by %s at line %d", id, e.Process, op.Process, op.CallLine)
	case e.Time < op.Call:
		return wrong("op %d is completed at %d ns, before its invocation at %d ns (line %d)", id, e.Time, op.Call, op.CallLine)
	case e.Qty != 0 && (e.Qty != op.Qty || op.Whole):
		asked := fmt.Sprint(op.Qty)
		if op.Whole {
			asked = "the whole order"
		}
		return wrong("op %d is completed with qty %d, but was invoked for %s at line %d", id, e.Qty, asked, op.CallLine)
	case e.Parent != 0 && e.Parent != op.Parent:
		return wrong("op %d is completed with parent %d, but was invoked with %d at line %d", id, max(e.Parent, 0), max(op.Parent, 0), op.CallLine)
	case e.TTL != 0 && e.TTL != op.TTL:
		return wrong("op %d is completed with ttl %d, but was invoked with %d at line %d", id, e.TTL, op.TTL, op.CallLine)
	case e.Work != 0 && e.Work != op.Work:
		return wrong("op %d is completed with work %d, but was invoked with %d at line %d", id, e.Work, op.Work, op.CallLine)
	}
	for _, said := range [...]struct{ name, before, now string }{
		{"key", op.Key, e.Key}, {"order", op.Order, e.Order}, {"customer", op.Customer, e.Customer}, {"token", op.Token, e.Token},
		{"mode", op.Mode, e.Mode}, {"fence", known(op.Fence), known(e.Fence)}, {"value", known(op.Value), known(e.Value)},
	} {
		if said.now != "" && said.before != "" && said.now != said.before {
			return wrong("op %d is completed with %s %.60q, but was invoked with %.60q at line %d", id, said.name, said.now, said.before, op.CallLine)
		}
	}
	return nil
}

// known is a number as a word, "" if it is absent.
func known(n Num) string {
	if !n.Known {
		return ""
	}
	return n.String()
}

// parents reports a step whose parent is no sale of its worker.
func (p *pairer) parents() error {
	for i := range p.h.Ops {
		op := &p.h.Ops[i]
		if op.Parent == 0 {
			continue
		}
		at, ok := p.index.get(op.Parent)
		if !ok && op.Parent == zeroOp {
			continue // a writer without op 0 means none by it
		}
		var err error
		switch {
		case !ok:
			err = wrong("parent %d is no operation of this history", op.Parent)
		case p.h.Ops[at].Process != op.Process:
			err = wrong("parent %d is of worker %s, not of %s (line %d)", max(op.Parent, 0), p.h.Ops[at].Process, op.Process, p.h.Ops[at].CallLine)
		case p.h.Ops[at].F != Sell && p.h.Ops[at].F != Restock && p.h.Ops[at].F != Cancel:
			err = wrong("parent %d is no sell, but %s: want the sell that this step belongs to (line %d)", max(op.Parent, 0), p.h.Ops[at].F, p.h.Ops[at].CallLine)
		}
		if err != nil {
			return &LineError{op.CallLine, err}
		}
	}
	return nil
}

// numberZero gives op 0 a number that is not taken: 0 means "none" wherever
// operations are named.
func (p *pairer) numberZero() {
	at, ok := p.index.get(zeroOp)
	if !ok {
		p.renumber(0)
		return
	}
	free := int64(0)
	for i := range p.h.Ops {
		free = max(free, p.h.Ops[i].ID)
	}
	if free == math.MaxInt64 {
		free = int64(len(p.h.Ops)) + 1
		for _, taken := p.index.get(free); taken; _, taken = p.index.get(free) {
			free++
		}
	} else {
		free++
	}
	p.note(fmt.Sprintf("op 0 (line %d) is called op %d here", p.h.Ops[at].CallLine, free))
	p.h.Ops[at].ID = free
	p.renumber(free)
}

// renumber names op 0 in what belongs to it.
func (p *pairer) renumber(to int64) {
	for i := range p.h.Ops {
		if p.h.Ops[i].Parent == zeroOp {
			p.h.Ops[i].Parent = to
		}
	}
	for i := range p.h.Marks {
		if p.h.Marks[i].Parent == zeroOp {
			p.h.Marks[i].Parent = to
		}
	}
}
