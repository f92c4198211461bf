// Package needles has lock designs with one subtle mistake each, which a plain
// search rarely meets: once in a thousand runs, or in ten thousand, or less. They
// measure how good a search is. The known-bad designs of the catalogue fall at the
// first seed and cannot do that.
//
// A needle is no design for users: it stands in no list and in no table. Its file
// says what the mistake is and what must come together for it to show. Its twin is
// the same design without the mistake, and survives the same seeds.
//
// Start with All. `go test ./workload/needles -run xxx -bench Searches -benchtime 1x -needles.searches=20` compares
// plain and guided search by them (docs/scale.md), and `go run
// ./workload/needles/cmd/needles` is lockcheck with them beside the catalogue, which
// replays what was found.
package needles

import (
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// Needle is a design with a mistake, and the search that is to find it.
type Needle struct {
	Name     string
	Mistake  string           // one line
	Property checker.Property // that it breaks, and its twin does not
	Meets    bool             // it takes two rare events that meet
	// Rate is the share of runs that a plain search breaks, as it was last measured.
	Rate float64

	Nemesis, Variant string        // of the search; no Variant: all in turn
	Interval         time.Duration // between two faults

	kind     env.Kind
	defaults workload.Spec
	spec     histories.LockSpec
	renews   bool
	lock     func(mistaken bool) lock.Maker
	sale     func(mistaken bool) stock.Sale // nil: stock.Attentive
}

// All are the needles, those of two rare events last.
var All = []Needle{
	stealsAfterThree, plentyNeedsNoLock, shortToken, wrappedFence, driftAfterRetry,
	busyIsMine, twoErrors, doubledNode, forcedRelease, bluntUndo, deadSession, quarantineOnce, optimisticRenewal,
}

// Find finds a needle by its name.
func Find(name string) (Needle, bool) {
	i := slices.IndexFunc(All, func(n Needle) bool { return n.Name == name })
	if i < 0 {
		return Needle{}, false
	}
	return All[i], true
}

// Designs are all needles and their twins.
func Designs() (all []workload.Design) {
	for _, n := range All {
		all = append(all, n.Design(), n.Twin())
	}
	return all
}

// Design is the needle at work in its shop.
func (n Needle) Design() workload.Design { return n.design(n.Name, true) }

// Twin is the same without the mistake.
func (n Needle) Twin() workload.Design { return n.design(n.Name+"-twin", false) }

func (n Needle) design(name string, mistaken bool) workload.Design {
	d := workload.Design{
		Name: name, Summary: n.Mistake, Origin: "needles",
		Topology: env.Topology{Lock: n.kind}, Defaults: n.defaults.Or(scene),
		LockSpec: n.spec, Renews: n.renews, KnownBad: mistaken, Sale: stock.Attentive,
	}
	if !mistaken {
		d.Summary = "the twin without the mistake: " + n.Mistake
	}
	if n.lock != nil {
		d.Lock = n.lock(mistaken)
	}
	if n.sale != nil {
		d.Sale = n.sale(mistaken)
	}
	return d
}

// Plan is the run of the needle's design, or of its twin, with a seed.
func (n Needle) Plan(d workload.Design, seed uint64) (run.Plan, error) {
	spec, err := d.Resolve(workload.Spec{Seed: seed})
	return run.Plan{Spec: spec, Nemesis: n.Nemesis, Variant: n.Variant, Interval: n.Interval}, err
}

// Broken reports whether a verdict has what the needle breaks.
func (n Needle) Broken(v *checker.Verdict) bool {
	return slices.ContainsFunc(v.Violations, func(v checker.Violation) bool { return v.Property == n.Property })
}

// scene is a small shop, so that runs cost little: what a needle does not set
// otherwise.
var scene = workload.Spec{
	Workers: 3, SKUs: 2, TimeLimit: 8 * time.Second,
	TTL: 3 * time.Second, Grace: 500 * time.Millisecond, MaxDelay: 2 * time.Second,
	Wait: time.Second, RetryDelay: 50 * time.Millisecond,
	Work: "1ms-20ms,3%:65%ttl-85%ttl", Think: "50ms-150ms",
}
