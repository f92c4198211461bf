package workload

import (
	"context"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// Design is one row of the catalogue: a lock, a way of selling, what they
// need, and what they claim together.
type Design struct {
	Name    string
	Summary string // one line
	Origin  string // where it comes from
	Doc     string // the doc comments of its lock and its sale

	Topology env.Topology       // what it needs; Spec.Topology has what a run needs
	Defaults Spec               // its source's settings, where they are not the standard ones
	Lock     histories.LockSpec // what the lock promises; ttl and grace come from the Spec
	Claims   map[string]Claim   // by nemesis, see Design.Claim
	Renews   bool               // its lock is renewed in the background
	NoLease  bool               // its lock has no ttl
	Steps    []string           // places between its commands where a crash tells most
	Marks    []string           // places between its commands that its sales pass; none: see Design.CrashSteps
	KnownBad bool               // wrong on purpose
	Waits    bool               // a grant waits for a replica, or seems to
	CaughtBy string             // the nemesis that shows a known-bad design
	Control  bool               // must hold under every fault that it claims to bear

	lock  lock.Maker // nil: none
	sale  stock.Sale
	idle  func(ctx context.Context, t *stock.Till, limit time.Duration) (did bool, err error) // what workers do besides selling
	books books                                                                               // where stock and orders are; nil: by Spec.StockOn
	on    []string                                                                            // the places where it can have its stock, its default first
	docs  []string                                                                            // names of the Go declarations that Doc is made of
}

// CrashSteps are the places between its commands (env.Env.Step) where a
// design is to be crashed: those that tell most, else all that its sales pass.
func (d Design) CrashSteps() []string {
	if d.Steps != nil {
		return d.Steps
	}
	return d.SalesPass()
}

// SalesPass are the places between its commands that a design's sales pass.
// Most take a lock, write and then append their order.
func (d Design) SalesPass() []string {
	if d.Marks != nil {
		return d.Marks
	}
	return []string{"before-write", "before-order", "before-release"}
}

// The places where stock can be. Independent servers have no master to put
// it on.
var (
	onOwnOrLock = []string{OnOwn, OnLock}
	onLockOrOwn = []string{OnLock, OnOwn}
	onOwnOnly   = []string{OnOwn}
	onLockOnly  = []string{OnLock}
	onSQLOnly   = []string{OnSQL}
)

// onSentinel is a master with two replicas and three sentinels: where lease
// locks live in production, and what a failover needs.
var onSentinel = env.Topology{Lock: env.Sentinel}

// noLock is what a design without a lock promises of it.
var noLock = histories.LockSpec{None: true}

// catalogue has all designs, in the order in which they are listed.
var catalogue = slices.Concat(ofArticles, grains, lockFree, highAvailability, inSQL, beyond, knownBad, ofReports)

// Designs are all designs, in the order in which they are listed.
func Designs() []Design {
	all := make([]Design, len(catalogue))
	for i := range catalogue {
		all[i], _ = Find(catalogue[i].Name)
	}
	return all
}

// Find finds a design by its name.
func Find(name string) (Design, bool) {
	for _, d := range catalogue {
		if d.Name == name {
			d.Doc = document(d.docs)
			d.Defaults.StockOn = d.on[0]
			return d, true
		}
	}
	return Design{}, false
}
