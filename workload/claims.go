package workload

import "strings"

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
	"none", "kill", "restart", "failover", "switchover", "partition", "pause", "clock", "loss", "crash", "evict",
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
	for n, c := range m {
		all[n] = c
	}
	for n, c := range o {
		all[n] = c
	}
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
	"crash":      {Holds, Holds, MayBreak},    // the ttl frees the lock; units without an order leak
	"evict":      {MayBreak, Holds, MayBreak}, // the key is thrown away before its time
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
	"clock":      allHold,                  // stock has no ttl
	"loss":       allHold,
	"crash":      allHold,
	"evict":      {Holds, Holds, MayBreak},
}
