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

// Design is a lock, a way of selling, what they need, and what they claim
// together. The catalogue has one row for each of this module's; one of another
// module is a value like them, with a lock and a sale of its own. Name and Lock
// or Sale must be set, everything else has a default.
type Design struct {
	Name    string
	Summary string // one line
	Origin  string // where it comes from
	Doc     string // for `lockcheck list NAME`; see Design.Document

	Topology env.Topology // what it needs; Resolved.Topology has what a run needs
	StockOn  []string     // the places where it can have its stock, its default first; none: OnOwn
	Defaults Spec         // its source's settings, where they are not the standard ones

	Lock  lock.Maker // nil: none
	Sale  stock.Sale // nil: stock.Locked
	Books Books      // where stock and orders are; nil: by Spec.StockOn
	// Idle is what workers do besides selling, for limit at most, and says
	// whether there was anything to do; nil: nothing.
	Idle func(ctx context.Context, t *stock.Till, limit time.Duration) (did bool, err error)

	LockSpec histories.LockSpec // what the lock promises; TTL and grace come from the Spec
	Claims   map[string]Claim   // by nemesis, see Design.Claim
	Renews   bool               // its lock is renewed in the background
	NoLease  bool               // its lock has no TTL
	// Unreplicated: its lock is nothing that a replica has, such as who listens.
	Unreplicated bool
	Waits        bool     // a grant waits for a replica, or seems to
	Steps        []string // places between its commands where a crash tells most
	Marks        []string // places between its commands that its sales pass; none: see Design.CrashSteps
	KnownBad     bool     // wrong on purpose
	CaughtBy     string   // the nemesis that shows a known-bad design
	Control      bool     // must hold under every fault that it claims to bear

	// Own is the command of a program beside each worker, env.Env.Own; nil: none.
	Own []string

	docs []string // names of the Go declarations whose comments document a design of this module
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
	return []string{histories.StepBeforeWrite, histories.StepBeforeOrder, histories.StepBeforeRelease}
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

// complete is the design with what may be left out.
func (d Design) complete() Design {
	if d.Sale == nil && d.Lock != nil {
		d.Sale = stock.Locked
	}
	if len(d.StockOn) == 0 {
		d.StockOn = onOwnOnly
	}
	d.LockSpec.None = d.Lock == nil
	d.Defaults.StockOn = d.StockOn[0]
	return d
}

// Catalogue is a choice of designs, each with a name of its own.
type Catalogue []Design

// catalogue has all designs of this module, in the order in which they are
// listed.
var catalogue = Catalogue(slices.Concat(ofArticles, grains, lockFree, highAvailability, inSQL, beyond, knownBad, ofReports))

// Designs are all designs of this module, in the order in which they are listed.
func Designs() Catalogue { return slices.Clone(catalogue) }

// Find finds a design of this module by its name.
func Find(name string) (Design, bool) { return catalogue.Find(name) }

// Find finds a design by its name.
func (c Catalogue) Find(name string) (Design, bool) {
	i := slices.IndexFunc(c, func(d Design) bool { return d.Name == name })
	if i < 0 {
		return Design{}, false
	}
	return c[i].complete(), true
}

// Names are the names of all designs, in their order.
func (c Catalogue) Names() []string {
	var names []string
	for _, d := range c {
		names = append(names, d.Name)
	}
	return names
}
