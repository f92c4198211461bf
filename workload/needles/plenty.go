package needles

import (
	"context"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// plentyNeedsNoLock sells without the lock while there is plenty: it breaks when as
// many customers as there are units pass the look at the same time.
var plentyNeedsNoLock = Needle{
	Name:     "plenty-needs-no-lock",
	Mistake:  "leaves the lock out while at least three units are left",
	Rate:     3.0e-3, // 6 of 1992 runs, seeds as in BenchmarkSearches
	Property: checker.Oversell, Nemesis: "none", kind: env.Single,
	defaults: workload.Spec{Workers: 4, SKUs: 4, Work: "5ms-30ms", Qty: "1", TimeLimit: 10 * time.Second, Think: "100ms-300ms"},
	spec:     histories.LockSpec{Deadline: true},
	lock:     func(bool) lock.Maker { return newTimed },
	sale: func(mistaken bool) stock.Sale {
		if !mistaken {
			return stock.Attentive
		}
		return func(ctx context.Context, t *stock.Till, p stock.Purchase) (stock.Receipt, error) {
			units, err := t.Env.Stock.Do(ctx, "GET", p.Key)
			if n, ok := units.(string); err == nil && ok && len(n) == 1 && n >= "3" {
				return stock.Unlocked(ctx, t, p)
			}
			return stock.Attentive(ctx, t, p)
		}
	},
}

// timed is the plain lease lock with a deadline that is looked at.
type timed struct {
	e *env.Env
	o lock.Options
}

func newTimed(e *env.Env, o lock.Options) env.Lock { return &timed{e, o} }

func (l *timed) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := newLease(l.e, key)
	return s, acquired(ctx, l.e, l.o, s)
}
