package checker_test

import (
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// What the physical world knows, held against what the checker reports.

// doubt says why a reported violation cannot have happened; "" if it did.
func (w *world) doubt(x *checker.Violation) string {
	if w.flaw == honest {
		return "nothing was wrong in this world"
	}
	switch x.Property {
	case checker.DoubleHold:
		return w.doubtHold(x)
	case checker.ForeignRelease:
		if d := w.did[x.Ops[0]]; d.of == nil || d.of.end != deleted {
			return "that release did not delete another's lock"
		}
	case checker.LeaseGap:
		return w.doubtGap(x)
	case checker.FenceRegression:
		if w.flaw != repeatsNumber {
			return "no number was repeated"
		}
	case checker.StaleWrite:
		return w.doubtStale(x)
	case checker.Oversell:
		if w.sold(x.Key) <= w.stock+w.restocked[x.Key] {
			return "the orders do not exceed the stock"
		}
	case checker.DuplicateOrder:
		if w.flaw != sellsDouble || !w.struck[x.Key] {
			return "no order was written twice"
		}
	case checker.StockMismatch:
		return w.doubtMismatch(x)
	case checker.StuckLock:
		return w.doubtStuck(x)
	case checker.LockNotLinearizable, checker.StockNotLinearizable:
		if !w.struck[x.Key] && w.flaw != outlivesLease && w.flaw != halfSale && w.anyExpired(x.Key) == nil {
			return "nothing went wrong with this key"
		}
	case checker.UnlockedWrite:
		if w.asked[w.sellOf[x.Ops[0]]] {
			return "that sell had asked for the lock"
		}
	case checker.LeaseLost:
		return w.doubtLost(x)
	case checker.ZombieTime:
		if x.To-x.From <= w.maxZombie {
			return "it was no longer than it may be"
		}
		return w.doubtZombie(x.Key, x.From, x.To)
	default:
		return "the world knows nothing of this property"
	}
	return ""
}

// accuses are the causes that name an event; each fits the endings beside it.
var accuses = map[checker.Cause][]ending{
	checker.LeaseRanOut:       {expired},
	checker.RenewalStopped:    {expired},
	checker.ReleasedByAnother: {deleted},
	checker.LostAtFailover:    {lostAtFail},
	checker.SplitBrain:        {},
	checker.RestartedEmpty:    {lostAtBoot},
	checker.ClockJumped:       {},
	checker.Evicted:           {},
	checker.SharedOwner:       {},
	checker.FailedOpen:        {},
}

func (w *world) doubtHold(x *checker.Violation) string {
	a, b := w.holdOf(x.Ops[0]), w.holdOf(x.Ops[1])
	if a == nil || b == nil {
		return "one of the two never believed"
	}
	if a.process == b.process || min(a.end(), b.end()) <= max(a.from, b.from) {
		return fmt.Sprintf("they did not believe at once: %d-%d and %d-%d", a.from, a.end(), b.from, b.end())
	}
	may, accused := accuses[x.Cause]
	if !accused {
		return ""
	}
	first, second := w.did[x.Ops[0]].of, w.did[x.Ops[1]].of
	if first == nil || second != nil && second.at < first.at {
		first, second = second, first
	}
	// Its lease was over by then, whatever else had happened to it. From a
	// history that is known to the length of two messages.
	if first != nil && second != nil && slices.Contains(may, expired) && first.expires <= second.at+10*ms {
		return ""
	}
	if first == nil || !slices.Contains(may, w.fate(first)) {
		return fmt.Sprintf("the earlier grant %+v ended otherwise", first)
	}
	return ""
}

// fate is how a grant that another followed left the service for the last time.
func (w *world) fate(g *granted) ending {
	last := g
	for _, other := range w.all {
		if other.token == g.token && other.op == g.op && other != g && other.end != inForce && other.endAt >= last.endAt {
			last = other
		}
	}
	return last.end
}

func (b *belief) end() int64 {
	end := b.to
	if end == 0 {
		end = histories.Never
	}
	if b.until > 0 {
		end = min(end, b.until)
	}
	return max(end, b.from)
}

func (w *world) holdOf(op int64) *belief { return w.holds[w.sellOf[op]] }

// overlap names two sells whose workers believed at once; "" if none did. The
// lease of a renewing worker is left out: an answer that came too late may
// have moved its deadline.
func (w *world) overlap() string {
	if w.renew || w.reentrant {
		return ""
	}
	var all []*belief
	for sell, b := range w.holds {
		if b.end() > b.from {
			b.sell = sell
			all = append(all, b)
		}
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.process != b.process && w.keyOf(a.sell) == w.keyOf(b.sell) && min(a.end(), b.end()) > max(a.from, b.from) {
				return fmt.Sprintf("sells %d and %d believed at once", a.sell, b.sell)
			}
		}
	}
	return ""
}

func (w *world) keyOf(sell int64) string { return w.keys[sell] }

func (w *world) doubtGap(x *checker.Violation) string {
	d := w.did[x.Ops[0]]
	if d.of == nil {
		return "that renewal did nothing"
	}
	for _, g := range w.all {
		if g.process != d.of.process && g.at <= d.at && g.at >= w.firstGrant(d.of.owner) {
			return ""
		}
	}
	return "nobody else was granted the lock in between"
}

func (w *world) firstGrant(owner string) int64 {
	first := int64(histories.Never)
	for _, g := range w.all {
		if g.owner == owner {
			first = min(first, g.at)
		}
	}
	return first
}

func (w *world) doubtStale(x *checker.Violation) string {
	op := x.Ops[0]
	if !w.did[op].took && !w.retries { // a second try finds its order taken
		return "that write had no effect"
	}
	b := w.holds[w.sellOf[op]]
	if b != nil && slices.Contains(b.lapsed, x.From) {
		return "" // renewed too late: nothing was believed in between
	}
	if b == nil || b.end() > x.To && b.end() > w.did[op].at {
		return "its worker still believed"
	}
	return ""
}

func (w *world) sold(key string) (units int64) {
	counted := map[string]bool{}
	for _, o := range w.orders[key] {
		if !counted[o.ID] {
			units += o.Qty
		}
		counted[o.ID] = true
	}
	return units
}

func (w *world) doubtMismatch(x *checker.Violation) string {
	if !w.listsOrders && w.struck[x.Key] {
		return "" // what customers were told is all that the history has
	}
	var rows int64
	for _, o := range w.orders[x.Key] {
		rows += o.Qty
	}
	if gone := w.stock + w.restocked[x.Key] - w.left[x.Key]; gone != rows {
		return ""
	}
	for order := range w.accepted[x.Key] {
		if !slices.ContainsFunc(w.orders[x.Key], func(o histories.Order) bool { return o.ID == order }) {
			return ""
		}
	}
	return "the books balance, and no promised order is missing"
}

// doubtStuck: a key is stuck only where the service kept it for nobody, or
// for a worker that died holding a lock without a lease.
func (w *world) doubtStuck(x *checker.Violation) string {
	for _, g := range w.all {
		if g.owner == "nobody" || g.expires == 0 || w.flaw == losesWrites {
			return ""
		}
	}
	return "no key was kept for nobody"
}

func (w *world) anyExpired(key string) *granted {
	for _, g := range w.all {
		if g.end == expired {
			return g
		}
	}
	return nil
}
