package checker

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// DefaultBudget is some ten seconds of search, and 256 MiB.
const DefaultBudget = 1 << 24

// Options of Check. The zero value means the documented defaults.
type Options struct {
	// MaxListed is how many violations of one property are listed; all are
	// counted. Default 20.
	MaxListed int
	// Budget is how many steps the searches for a legal order may take, over
	// all keys that the exact checks do not cover. They keep 16 bytes for each
	// at most. Default DefaultBudget.
	Budget int64
	// RecheckTime is what porcupine may take, over all keys, to decide again
	// what the exact checks have decided. Default 500 ms; below 0: nothing is
	// decided twice.
	RecheckTime time.Duration
	// Trust accepts a run that meant little: no grants around a fault, no
	// proof that it bit. Histories without a nemesis in their header are
	// always trusted.
	Trust bool
	// MaxHold and MaxZombie take the place of those in the header. Default: what
	// the header says.
	MaxHold   time.Duration
	MaxZombie time.Duration
}

func (o Options) withDefaults() Options {
	o.MaxListed = cmp.Or(o.MaxListed, 20)
	o.Budget = cmp.Or(o.Budget, DefaultBudget)
	o.RecheckTime = cmp.Or(o.RecheckTime, 500*time.Millisecond)
	return o
}

// Check judges a history. It never changes h, and gives the same verdict for
// the same history and options, on any machine.
// When ctx ends, searches by porcupine that have not begun are left out.
func Check(ctx context.Context, h *histories.History, o Options) *Verdict {
	r := prepare(h, o.withDefaults())
	each(r.keys, func(k *keyed) {
		if !r.spec.None {
			r.judgeLock(ctx, k)
		}
	})
	r.linkHolds()
	r.deadlocks()
	each(r.keys, func(k *keyed) { r.judgeStock(ctx, k) })
	r.unlockedWrites()
	r.search(ctx)
	return r.verdict()
}

// judgeLock looks at all lock properties of one key.
func (r *run) judgeLock(ctx context.Context, k *keyed) {
	if len(k.locks) == 0 {
		return
	}
	k.holds = r.beliefs(k)
	k.believed = heldBy(k.holds)
	r.doubleHolds(k)
	r.foreignReleases(k)
	if r.renews {
		r.leaseGaps(k)
	}
	r.leasesLost(k)
	r.grantFences(k)
	r.stuckLocks(k)
	r.selfLocks(k)
	r.longHolds(k)
	r.zombies(k)
	r.linearLock(ctx, k)
}

// judgeStock looks at all properties of the use and the business of one key.
func (r *run) judgeStock(ctx context.Context, k *keyed) {
	if len(k.stock) == 0 && len(k.writes) == 0 && k.audit == nil {
		return
	}
	k.books = r.keepBooks(k)
	r.staleWrites(k)
	r.writeFences(k)
	r.duplicateOrders(k)
	r.oversell(k)
	r.mismatch(k)
	r.linearStock(ctx, k)
}

// each calls f on every key, on all cores if there is much to do. Keys with most
// operations come first, so that no core ends alone with the largest.
func each(keys []*keyed, f func(*keyed)) {
	const few = 256 // operations, which take less time than a goroutine to begin
	all := 0
	for _, k := range keys {
		all += k.size()
	}
	if all < few {
		for _, k := range keys {
			f(k)
		}
		return
	}
	eachByCore(keys, f)
}

func eachByCore(keys []*keyed, f func(*keyed)) {
	order := slices.Clone(keys)
	slices.SortStableFunc(order, func(a, b *keyed) int { return cmp.Compare(b.size(), a.size()) })
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(order)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(order)); i = next.Add(1) - 1 {
				f(order[i])
			}
		})
	}
	all.Wait()
}
