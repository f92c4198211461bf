package checker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/lockcheck/lockcheck/checker/linear"
)

// The exact checks take time with n log n. Where they do not cover a key, the
// answer is searched for, and a search can take any time. All searches of one
// check have one budget, Options.Budget, counted in steps: a verdict must not
// depend on the machine.
//
//	each key, at once:       exact check ──▶ decided
//	                           │ not covered, or its search needs more than firstSteps()
//	                           ▼
//	then one key by one:     exact search, then porcupine, within a share of the budget ──▶ decided, or unknown
//
// One key at a time has all memory there is, on any number of cores, and what one
// leaves of its share the next ones have.

// stepBytes is what a search may keep for each step of the budget.
const stepBytes = 16

// undecided is a question about a key that the exact check left open.
type undecided struct {
	linearity
	why error
}

// firstSteps is how far the search for a stock key of n operations goes before the key
// has to wait for the others: all the way if it is alone.
func (r *run) firstSteps(n int) int {
	return max(64*n+1024, linear.MaxSteps/max(len(r.keys), 1))
}

// search decides what the exact checks left open, within the budget.
func (r *run) search(ctx context.Context) {
	waiting := int64(0)
	for _, k := range r.keys {
		waiting += int64(len(k.waiting))
	}
	left := r.opt.Budget
	for _, k := range r.keys {
		for _, q := range k.waiting {
			left -= r.searchOne(ctx, k, q, max(left, 0)/waiting)
			waiting--
		}
	}
}

// searchOne decides one question within a share of the budget, and answers how
// much of it that took.
func (r *run) searchOne(ctx context.Context, k *keyed, q undecided, share int64) (taken int64) {
	if ctx.Err() != nil {
		r.open(k, q, "interrupted")
		return 0
	}
	var ways linear.TooManyWays
	if errors.As(q.why, &ways) && ways.OfSteps {
		// Steps are counted whole: where a search stops exactly is not the same twice.
		taken = min(share/2, linear.MaxSteps)
		c, why := q.exact(int(taken))
		if why == nil {
			r.decided(k, q.linearity, c)
			return taken
		}
	}
	if share-taken < 1 {
		r.open(k, q, r.outOf(share))
		return taken
	}
	var steps atomic.Int64
	answer, why := q.search(linear.Bounds{Steps: share - taken, Memory: r.opt.Budget * stepBytes, Taken: &steps})
	switch answer {
	case linear.Unknown:
		if share < r.opt.Budget {
			why += fmt.Sprintf(", its share of %d for all keys", r.opt.Budget)
		}
		r.open(k, q, why)
	case linear.Illegal:
		k.of(q.property).method.search = true
		r.add(k, Violation{
			Property: q.property, To: r.h.End,
			Summary: sprintf("no legal order fits the %d operations on %s", q.ops, k.name),
			Because: why,
		}, nil)
	default:
		k.of(q.property).method.search = true
	}
	return taken + min(steps.Load(), share-taken)
}

func (r *run) outOf(share int64) string {
	return fmt.Sprintf("its share of the budget of %d steps is %d", r.opt.Budget, share)
}

// open leaves a question undecided.
func (r *run) open(k *keyed, q undecided, why string) {
	f := k.of(q.property)
	f.advice = adviseSearch
	f.unknown = sprintf("%s: %v, and porcupine did not decide it either (%s)", k.name, q.why, why)
}
