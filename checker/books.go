package checker

import (
	"math"

	"github.com/lockcheck/lockcheck/histories"
)

// books are the accounts of one stock key: what its operations say on the one
// side, what the audit found in the store on the other.
type books struct {
	audited  int64 // when the audit looked; Never if none did
	had      int64 // initial units and ok restocks …
	hadThen  int64 // … and those of them that the audit must have seen
	maybeHad int64 // units of restocks of unknown outcome
	orders   []order
	byID     orderIndex
	nameless []*histories.Op // accepted sells without an order id
	sells    int             // of any outcome
	listed   bool            // the audit lists orders, if it has any
	whole    bool            // some cancel is of its whole order …
	vague    *histories.Op   // … and it is not known how many units that is
	early    []*histories.Op // cancels that were called before any sell of their order
	clipped  bool            // a quantity was larger than sums can take

	inRows  int64 // units in rows of the audit
	noID    int64 // of these, in rows without an order id
	covered int64 // of these, in rows that are those of nameless sells
	rowless int64 // units of nameless sells for which there is no row
	doubt   int64 // units that left the stock without an order, as they may

	settled, open int // unknown sells that the audit settled, and that it did not
}

// maxUnits bounds quantities, so that no sum of them overflows: a history may
// say anything. Where something was cut off, the books decide nothing.
const maxUnits = 1 << 40

func units(n int64) int64 { return min(max(n, -maxUnits), maxUnits) }

// clip notes quantities that are beyond it.
func (b *books) clip(n int64) { b.clipped = b.clipped || n != units(n) }

// undecided answers unknown to a property of a key whose books were clipped.
func (k *keyed) undecided(p Property) bool {
	if k.books.clipped {
		k.of(p).unknown = sprintf("%s: no shop has so many units (more than %d)", k.name, int64(maxUnits))
	}
	return k.books.clipped
}

// order is what is known of one order id.
type order struct {
	id      string
	tag     uint32 // of its id's hash
	qty     int64  // units of one sell, as its operation says
	rowQty  int64  // units of one row, of several the least
	net     int64  // units that certain sells took before the audit, less those that certain cancels gave back …
	spare   int64  // … and what these gave back beyond that
	open    int64  // units of sells that the audit may have seen
	rows    int32  // in the audit
	took    int32  // sells that said ok and were no replay
	ok      int32  // sells that said ok, replays included
	unknown int32  // sells of unknown outcome
	cancels int32  // that said ok or may have acted
	undone  int32  // of these, what the audit may have seen
	first   int32  // into keyed.stock: the first accepted sell, else the first unknown one; -1: none
	last    int32  // into keyed.stock: the last sell that was accepted or is unknown
	mixed   bool   // its sells were of several quantities
	kept    int32  // into keyed.stock: the first sell that was accepted before the audit; -1: none
}

// accepted reports whether the shop has promised the units of this order.
func (o *order) accepted() bool { return (o.ok > 0 || o.rows > 0) && o.cancels == 0 }

// rowAlone reports whether no operation tells of the order, only a row does.
func (o *order) rowAlone() bool { return o.rows > 0 && o.ok+o.unknown+o.cancels == 0 }

// units are those that one order is for, however often it took effect. What
// the store wrote down decides.
func (o *order) units() int64 {
	if o.rows > 0 {
		return o.rowQty
	}
	return o.qty
}

// keepBooks reads the operations and the audit of a key.
func (r *run) keepBooks(k *keyed) *books {
	b := &books{audited: histories.Never, listed: r.listsOrders}
	if k.audit != nil {
		b.audited = k.audit.Time
	}
	b.makeRoom(k)
	b.had = units(r.h.Header.StockOf(k.name))
	b.hadThen = b.had
	b.clip(r.h.Header.StockOf(k.name))
	for i, op := range k.stock {
		if op.Outcome != histories.Fail && op.F != histories.Read {
			b.clip(op.Qty)
		}
		switch {
		case op.F == histories.Sell:
			b.sell(op, int32(i))
		case op.Outcome == histories.Fail:
		case op.F == histories.Restock, op.F == histories.Cancel && op.Order == "":
			b.restock(op)
		case op.F == histories.Cancel:
			b.cancel(op)
		}
	}
	if k.audit != nil {
		b.clip(k.audit.Value.N)
		b.readRows(k.audit.Orders)
	}
	for _, op := range b.early {
		o := b.find(op.Order)
		o.spare += o.back(op)
	}
	b.cover()
	b.findVague(k)
	r.settleSells(k, b)
	return b
}

func bump(n int32) int32 { return min(n, math.MaxInt32-1) + 1 }

// seen reports whether the audit must have seen what op did: only what had
// been answered by then. What was called by then it may have seen.
func (b *books) seen(op *histories.Op) bool {
	return op.Outcome == histories.OK && op.Return < b.audited
}

func (b *books) sell(op *histories.Op, at int32) {
	b.sells++
	switch {
	case op.Outcome == histories.Fail:
		return
	case op.Order != "":
	case op.Outcome == histories.OK && !op.Replay:
		b.nameless = append(b.nameless, op)
		return
	default:
		return
	}
	o := b.order(op.Order)
	o.sell(op, at)
	if b.seen(op) {
		if o.kept < 0 {
			o.kept = at
		}
		if !op.Replay {
			o.net += units(op.Qty)
		}
	} else if !op.Replay && op.Call <= b.audited {
		o.open += units(op.Qty)
	}
}

// sell adds a sell to its order. For how many units an order is, the sell
// that took them says. Until there is one it may be any: the least counts.
func (o *order) sell(op *histories.Op, at int32) {
	took, qty := op.Outcome == histories.OK && !op.Replay, units(op.Qty)
	o.mixed = o.mixed || o.ok+o.unknown > 0 && qty != o.qty
	switch {
	case took && o.took > 0:
		o.qty = max(o.qty, qty)
	case took, o.took == 0 && (o.ok+o.unknown == 0 || qty < o.qty):
		o.qty = qty
	}
	o.last = at
	if op.Outcome == histories.Info {
		o.unknown = bump(o.unknown)
		if o.first < 0 {
			o.first = at
		}
		return
	}
	if o.ok == 0 {
		o.first = at
	}
	o.ok = bump(o.ok)
	if took {
		o.took = bump(o.took)
	}
}

// restock puts units in. So does a cancel that names no order.
func (b *books) restock(op *histories.Op) {
	qty := units(op.Qty)
	if op.Outcome != histories.OK {
		b.maybeHad += qty
		return
	}
	b.had += qty
	if b.seen(op) {
		b.hadThen += qty
	}
}

func (b *books) cancel(op *histories.Op) {
	o := b.order(op.Order)
	o.cancels = bump(o.cancels)
	if op.Call <= b.audited {
		o.undone = bump(o.undone)
	}
	b.whole = b.whole || op.Whole
	switch {
	case !b.seen(op):
	case o.ok+o.unknown == 0: // called before what it undid
		b.early = append(b.early, op)
	default:
		back := min(o.back(op), o.net)
		o.net -= back
		o.spare += o.back(op) - back
	}
}

// back is how many units a cancel of the order gives back.
func (o *order) back(op *histories.Op) int64 {
	if op.Whole && o.units() > 0 {
		return o.units()
	}
	return units(op.Qty)
}

// mayGiveBack is how many units a cancel that the audit may have seen can have
// given back by right: no more than the order has taken. Of one that no sell
// asked for, nothing tells that.
func (o *order) mayGiveBack(op *histories.Op) int64 {
	qty := max(o.back(op), o.units())
	if o.ok+o.unknown == 0 {
		return qty
	}
	return min(qty, o.net+o.open)
}

// findVague looks for a cancel of a whole order that nobody asked for, or
// asked for in several quantities.
func (b *books) findVague(k *keyed) {
	if !b.whole {
		return
	}
	for _, op := range k.stock {
		if op.F != histories.Cancel || !op.Whole || op.Order == "" || op.Outcome == histories.Fail {
			continue
		}
		if o := b.find(op.Order); o.mixed || o.units() == 0 {
			b.vague = op
			return
		}
	}
}

func (b *books) readRows(rows []histories.Order) {
	for _, row := range rows {
		b.clip(row.Qty)
		if row.ID == "" {
			b.noID += units(max(row.Qty, 1))
			b.inRows += units(max(row.Qty, 1))
			continue
		}
		o := b.order(row.ID)
		qty := units(row.Qty)
		if qty <= 0 { // the row does not say
			qty = max(o.qty, 1)
		}
		if o.rows == 0 || qty < o.rowQty {
			o.rowQty = qty
		}
		o.rows = bump(o.rows)
		b.inRows += qty
	}
}

// cover matches sells without an order id with rows that no operation names:
// a store gives such orders ids of its own, or none. Counted twice, each
// would be two sales.
func (b *books) cover() {
	if len(b.nameless) == 0 {
		return
	}
	alone := b.noID
	for i := range b.orders {
		if o := &b.orders[i]; o.rowAlone() {
			alone += o.units()
		}
	}
	var asked, seen int64
	for _, op := range b.nameless {
		if op.Call <= b.audited {
			asked += units(op.Qty)
		}
		if b.seen(op) {
			seen += units(op.Qty)
		}
	}
	b.covered, b.rowless = min(alone, asked), max(seen-alone, 0)
}
