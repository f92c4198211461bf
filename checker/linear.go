package checker

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/checker/linear"
	"github.com/lockcheck/lockcheck/histories"
)

// method says how linearizability of one key was decided.
type method struct {
	exact    bool   // by the exact check
	search   bool   // by porcupine, because the exact check does not cover it
	agrees   bool   // porcupine decided it again, the same way
	disagree string // porcupine decided it again, another way
}

// errDisagree reports that an exact check and porcupine answer differently
// on the same operations: an error of lockcheck, never of the history.
var errDisagree = errors.New("the exact check and porcupine disagree: an error of lockcheck")

// linearity is one question of linearizability about one key, with both ways
// to answer it.
type linearity struct {
	property Property
	ops      int
	exact    func(steps int) (*linear.Contradiction, error)
	search   func(linear.Bounds) (linear.Answer, string)
}

// Tests replace these to make the two ways disagree.
var (
	exactLock   = linear.Lock
	exactStock  = linear.Stock
	searchLock  = linear.SearchLock
	searchStock = linear.SearchStock
)

func (r *run) linearLock(ctx context.Context, k *keyed) {
	locks, end := exclusively(namedReleases(k)), r.endOr(k, beliefEnds(k.holds))
	r.linear(ctx, k, linearity{
		property: LockNotLinearizable,
		ops:      len(locks),
		exact:    func(int) (*linear.Contradiction, error) { return exactLock(locks, r.spec, end) },
		search:   func(b linear.Bounds) (linear.Answer, string) { return searchLock(locks, r.spec, end, b) },
	})
}

// namedReleases gives releases the token of the grant that they may have
// ended, in copies, where their own would mislead.
//
// Histories of others name tokens at the grant only, or at the release only: such
// a release is about its worker's last grant, unless an acquire of its worker has the
// token, or it was refused: then it may have been another's. And a worker that writes the same owner each time
// (the recorder adds "#op" to tell acquires apart) and cleans up after an
// acquire of unknown outcome may delete, with that, the lock that it held
// already.
func namedReleases(k *keyed) []*histories.Op {
	ops, copied := k.locks, false
	asked := map[owner]bool{}
	for i, op := range k.locks {
		if op.F == histories.Acquire {
			asked[owner{op.Process, op.Token}] = true
		}
		if op.F != histories.Release {
			continue
		}
		h := k.believed.last(op.Process, op.Call)
		if h == nil || h.acquire.Token == op.Token {
			continue
		}
		misleads := op.Token == "" || ownerOf(op) == ownerOf(h.acquire) && h.release == op
		if h.acquire.Token == "" {
			misleads = op.Outcome != histories.Fail && !asked[owner{op.Process, op.Token}]
		}
		if misleads {
			if !copied {
				ops, copied = slices.Clone(k.locks), true
			}
			named := *op
			named.Token = h.acquire.Token
			ops[i] = &named
		}
	}
	return ops
}

func (r *run) linearStock(ctx context.Context, k *keyed) {
	if len(k.stock) == 0 {
		return
	}
	if op := k.books.vague; op != nil {
		k.of(StockNotLinearizable).unknown = sprintf("%s: op %d cancels order %s, and nothing says of how many units", k.name, op.ID, op.Order)
		return
	}
	ops, initial := r.patched(k), r.h.Header.StockOf(k.name)
	if tooLarge(ops, initial) {
		k.of(StockNotLinearizable).unknown = sprintf("%s: no shop has so many units (more than %d)", k.name, maxJudged)
		return
	}
	ops, stretch := apart(ops)
	r.linear(ctx, k, linearity{
		property: StockNotLinearizable,
		ops:      len(ops),
		exact: func(steps int) (*linear.Contradiction, error) {
			c, uncovered := exactStock(ops, initial, steps)
			if c != nil {
				c.From, c.To = c.From/stretch, c.To/stretch
			}
			return c, uncovered
		},
		search: func(b linear.Bounds) (linear.Answer, string) { return searchStock(ops, initial, b) },
	})
}

// maxJudged bounds the units of one operation whose order is judged: the
// checks step from unit to unit.
const maxJudged = 1 << 31

func tooLarge(ops []*histories.Op, initial int64) bool {
	if initial > maxJudged {
		return true
	}
	for _, op := range ops {
		if op.Qty > maxJudged || max(op.Left.N, op.Seen.N, op.Value.N) > maxJudged || min(op.Left.N, op.Seen.N, op.Value.N) < -maxJudged {
			return true
		}
	}
	return false
}

// linear decides by the exact check where that covers the key, and lets porcupine
// decide again what is small enough. Else the key waits for its share of the budget.
func (r *run) linear(ctx context.Context, k *keyed, q linearity) {
	c, uncovered := q.exact(r.firstSteps(q.ops))
	if uncovered != nil {
		k.waiting = append(k.waiting, undecided{q, uncovered})
		return
	}
	r.decided(k, q, c)
	r.again(ctx, k, q, c)
}

// decided takes the exact check's answer.
func (r *run) decided(k *keyed, q linearity, c *linear.Contradiction) {
	k.of(q.property).method.exact = true
	if c != nil {
		r.notLinearizable(k, q.property, c)
	}
}

// again lets porcupine decide a second time, if the key is small and there is
// time left.
func (r *run) again(ctx context.Context, k *keyed, q linearity, c *linear.Contradiction) {
	spent := time.Duration(r.rechecked.Load())
	if q.ops > recheckOps || r.recheck <= 0 || spent > r.opt.RecheckTime*time.Duration(cores()) || ctx.Err() != nil {
		return
	}
	began := time.Now()
	answer, _ := q.search(linear.Bounds{Time: r.recheck, Memory: recheckMemory})
	r.rechecked.Add(int64(time.Since(began)))
	f := k.of(q.property)
	switch {
	case answer == linear.Unknown:
	case (answer == linear.Illegal) == (c != nil):
		f.method.agrees = true
	default:
		exact, other := Valid, Invalid
		if c != nil {
			exact, other = other, exact
		}
		f.method.disagree = sprintf("%s of %s: the exact check says %s, porcupine %s", q.property, k.name, exact, other)
	}
}

func (r *run) notLinearizable(k *keyed, p Property, c *linear.Contradiction) {
	if p == LockNotLinearizable && k.toldAlready(c.Ops) {
		k.of(p).same++
		return
	}
	v := Violation{
		Property: p, From: c.From, To: c.To, Evidence: c.Ops, Ops: c.Ops[:min(len(c.Ops), maxCulprits)],
		Summary: sprintf("no legal order fits the operations on %s: %s", k.name, c.Why),
	}
	r.add(k, v, func(v *Violation) {
		v.Faults = r.during(v.From, v.To)
		var sells []*histories.Op
		for _, id := range v.Ops {
			op := r.op(id)
			if op != nil && !slices.Contains(v.Workers, op.Process) {
				v.Workers = append(v.Workers, op.Process)
			}
			if op != nil && op.F == histories.Sell {
				sells = append(sells, op)
			}
		}
		switch {
		case p == LockNotLinearizable:
			v.Cause, v.Because = r.whyForgotten("the lock", r.firstCall(v), v.To)
			return
		case c.Vanished:
			v.Cause, v.Because = r.whyVanished(v.To)
			return
		case len(sells) == 2:
			v.Cause, v.Because = r.whyOversold(k, sells[0], sells[1])
		}
		if v.Cause == CauseUnknown {
			v.Cause, v.Because = r.whySameUnit(k)
		}
		if v.Cause == CauseUnknown && !r.neverThere(k, c) {
			v.Cause, v.Because = r.whyLost(firstChange(k.stock), v.To)
		}
	})
}

// neverThere reports whether some operation of a contradiction tells of a stock that
// no sales that were forgotten can give: one below zero, or above all units there
// can have been.
func (r *run) neverThere(k *keyed, c *linear.Contradiction) bool {
	most := r.h.Header.StockOf(k.name)
	for _, op := range k.stock {
		if linear.Change(op) > 0 && op.Call <= c.To {
			most += linear.Change(op)
		}
	}
	return slices.ContainsFunc(c.Ops, func(id int64) bool {
		op := r.op(id)
		return op != nil && linear.Change(op) <= 0 && linear.Impossible(op, most) != ""
	})
}

// firstCall is when the first of a violation's operations was invoked.
func (r *run) firstCall(v *Violation) int64 {
	first := v.From
	for _, id := range v.Ops {
		if op := r.op(id); op != nil {
			first = min(first, op.Call)
		}
	}
	return first
}

// toldAlready reports whether a contradiction among acquires and releases is
// the same fact as a violation of another lock property: its culprits are
// among the operations.
func (k *keyed) toldAlready(ops []int64) bool {
	for _, p := range []Property{DoubleHold, ForeignRelease, FenceRegression} {
		list, count := k.broken(p)
		if count > len(list) {
			return true
		}
		for _, v := range list {
			if !slices.ContainsFunc(v.Ops, func(id int64) bool { return !slices.Contains(ops, id) }) {
				return true
			}
		}
	}
	return false
}

// recheckOps is the largest key that porcupine decides a second time, and
// recheckMemory what it may take for it, in bytes. Its time and memory grow with
// the square of the operations.
const (
	recheckOps    = 2000
	recheckMemory = 16 << 20
)

// shareRecheck divides the time for second decisions among the keys that get
// one; 0 if none does. Both cores work on keys at once.
func (r *run) shareRecheck() time.Duration {
	n := 0
	for _, k := range r.keys {
		for _, ops := range [][]*histories.Op{k.locks, k.stock} {
			if len(ops) > 0 && len(ops) <= recheckOps {
				n++
			}
		}
	}
	if n == 0 || r.opt.RecheckTime < 0 {
		return 0
	}
	return max(r.opt.RecheckTime*time.Duration(min(cores(), n))/time.Duration(n), time.Millisecond)
}

func cores() int { return runtime.GOMAXPROCS(0) }
