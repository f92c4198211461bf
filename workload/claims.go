package workload

import (
	"maps"
	"strings"
)

// Promise says what a design claims about one level of properties under one
// nemesis. Claims are reasoned from the design, not read off a run.
type Promise int

// The promises. The zero Promise is the honest answer where it depends on
// chance, on settings, or on how hard the fault hits.
const (
	MayBreak Promise = iota
	Holds            // must never be violated
	Breaks           // is violated, and must be caught
)

// String is the word that lists and reports use.
func (p Promise) String() string {
	switch p {
	case Holds:
		return "holds"
	case Breaks:
		return "breaks"
	}
	return "may break"
}

// Claim is what a design promises under one nemesis, level by level.
type Claim struct {
	Lock     Promise // no double hold, no foreign release, no stuck lock …
	Use      Promise // no write after the hold was over
	Business Promise // no oversell, no order twice, books balance
}

// Nemeses are the names that claims are made about.
var Nemeses = []string{
	"none", "failover", "kill", "restart", "switchover", "partition", "pause", "clock", "loss", "crash", "evict",
	"delay", "cut-connection",
}

// Claim is what the design promises under a nemesis. Faults joined by "+"
// hold together only if each does, and break if one does; "mixed" is all of
// them.
func (d Design) Claim(nemesis string) Claim {
	faults := strings.Split(nemesis, "+")
	if nemesis == "mixed" || nemesis == "all" {
		faults = Nemeses
	}
	c := d.Claims[faults[0]]
	for _, f := range faults[1:] {
		c = c.and(d.Claims[f])
	}
	return c
}

// SellsRight says that the design claims to sell nothing wrongly under any fault,
// whatever becomes of its lock: what the lists mark.
func (d Design) SellsRight() bool {
	for _, n := range Nemeses {
		if d.Claims[n].Business != Holds {
			return false
		}
	}
	return true
}

func (c Claim) and(o Claim) Claim {
	return Claim{c.Lock.and(o.Lock), c.Use.and(o.Use), c.Business.and(o.Business)}
}

func (p Promise) and(o Promise) Promise {
	switch {
	case p == Breaks || o == Breaks:
		return Breaks
	case p == Holds && o == Holds:
		return Holds
	}
	return MayBreak
}

// everywhere makes the same claim under each nemesis.
func everywhere(c Claim) map[string]Claim {
	m := make(map[string]Claim, len(Nemeses))
	for _, n := range Nemeses {
		m[n] = c
	}
	return m
}

// but is m with the claims of o in place of its own.
func but(m, o map[string]Claim) map[string]Claim {
	all := make(map[string]Claim, len(m))
	maps.Copy(all, m)
	maps.Copy(all, o)
	return all
}

// allHold is the claim of a control.
var allHold = Claim{Holds, Holds, Holds}

// blindLease are the claims of a correct lease lock that shows its worker no
// deadline and gives no notice, on a Redis master with asynchronous replicas,
// around read, check and DECRBY with the stock elsewhere. Its worker believes
// until it releases, so nothing it writes is stale by its own lights; what the
// lease does meanwhile is a matter of the lock level.
var blindLease = map[string]Claim{
	"none":       allHold,
	"kill":       {MayBreak, Holds, MayBreak}, // an unreplicated grant dies with its master
	"restart":    {Breaks, Holds, MayBreak},   // the server comes back without the key
	"failover":   {Breaks, Holds, MayBreak},   // the new master never had the key
	"switchover": {MayBreak, Holds, MayBreak}, // grants in the window of the hand-over are lost
	"partition":  {MayBreak, Holds, MayBreak}, // two masters, while clients differ on which
	"pause":      {Breaks, Holds, MayBreak},   // the lease ends in its holder's sleep
	"clock":      {Breaks, Holds, MayBreak},   // the server's clock ends leases early
	"loss":       {MayBreak, Holds, MayBreak}, // lost answers: sales in doubt, late releases
	"crash":      {Holds, Holds, MayBreak},    // the TTL frees the lock; units without an order leak
	"evict":      {Breaks, Holds, MayBreak},   // the key is thrown away before its time

	"cut-connection": {MayBreak, Holds, MayBreak}, // answers that are lost with their connection

	"delay": allHold,
}

// briefLease are the claims of a blind lease of which a failover loses
// nothing that matters, more often than not: because its holds are over before
// the new master grants again, or because its keys are hardly ever free at the
// moment of the cut, so that the replicas know them to be taken.
var briefLease = but(blindLease, map[string]Claim{
	"failover": {MayBreak, Holds, MayBreak},
})

// sellsNothing are the claims of a design whose runs show nothing for want of a
// sale: what is claimed to hold cannot be seen to.
func sellsNothing(m map[string]Claim) map[string]Claim {
	all := map[string]Claim{}
	for n, c := range m {
		for _, p := range []*Promise{&c.Lock, &c.Use, &c.Business} {
			if *p == Holds {
				*p = MayBreak
			}
		}
		all[n] = c
	}
	return all
}

// noticedLease are the claims of a lease lock that is renewed and tells its
// worker of a loss: until then its worker believes.
var noticedLease = but(blindLease, map[string]Claim{
	"restart":  {MayBreak, Holds, MayBreak}, // until the next renewal
	"failover": {MayBreak, Holds, MayBreak},
	"pause":    {MayBreak, Holds, MayBreak}, // a sleeper hears nothing
	"clock":    {MayBreak, Holds, MayBreak},
	"evict":    {MayBreak, Holds, MayBreak},
})

// shownLease are the claims of a lease lock that shows its worker a deadline:
// it bears pauses of workers, but a lease can still end before it.
var shownLease = but(blindLease, map[string]Claim{
	"pause": {MayBreak, Holds, MayBreak}, // a frozen master is replaced by one that lacks the last grants
})

// ofMajority are the claims of Redlock with its stock elsewhere.
var ofMajority = map[string]Claim{
	"none":      allHold,
	"kill":      {MayBreak, Holds, MayBreak}, // one server of five, back without the key: enough where it was a bare majority
	"restart":   {Breaks, Holds, MayBreak},   // a majority comes back without the key
	"partition": allHold,                     // workers cut off get no majority
	"pause":     {Holds, Breaks, Breaks},     // between the look at the deadline and the write
	"clock":     {Breaks, Holds, MayBreak},   // a majority ends leases early
	"loss":      {Holds, Holds, MayBreak},    // a write whose answer is lost leaves units without an order
	"crash":     {Holds, Holds, MayBreak},    // units without an order leak
	"evict":     {MayBreak, Holds, MayBreak}, // one server of a bare majority is enough

	// It has neither replicas nor SQL.
	"failover": allHold, "switchover": allHold, "delay": allHold, "cut-connection": allHold,
}

// businessHolds are the claims of a design whose store checks for itself:
// what the lock does is its own affair.
func businessHolds(m map[string]Claim) map[string]Claim {
	all := map[string]Claim{}
	for n, c := range m {
		all[n] = Claim{c.Lock, Holds, Holds}
	}
	return all
}

// soldWrong are the claims of a design that sells wrongly under a good lock.
func soldWrong(m map[string]Claim, use Promise) map[string]Claim {
	all := map[string]Claim{}
	for n, c := range m {
		all[n] = Claim{c.Lock, use, Breaks}
	}
	return all
}

// waitsForever are the claims of a design whose workers wait for each other, or
// for themselves, whatever befalls them: a deadlock breaks the lock level.
func waitsForever(m map[string]Claim) map[string]Claim {
	all := map[string]Claim{}
	for n, c := range m {
		all[n] = Claim{Breaks, c.Use, c.Business}
	}
	return all
}

// noLockOnMaster are the claims of an atomic sale without a lock, whose stock
// is on a Redis master with asynchronous replicas.
var noLockOnMaster = map[string]Claim{
	"none":       allHold,
	"kill":       {Holds, Holds, MayBreak}, // sales that were not replicated are forgotten
	"restart":    {Holds, Holds, Breaks},   // all sales are forgotten
	"failover":   {Holds, Holds, Breaks},   // sales since the cut are forgotten
	"switchover": {Holds, Holds, MayBreak},
	"partition":  {Holds, Holds, MayBreak}, // sales on the minority's master are forgotten
	"pause":      {Holds, Holds, MayBreak}, // a frozen master is replaced: as failover
	"clock":      allHold,                  // stock has no TTL
	"loss":       allHold,
	"crash":      allHold,
	"evict":      {Holds, Holds, MayBreak},

	"delay": allHold, "cut-connection": allHold,
}
