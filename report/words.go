package report

import (
	"fmt"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// meaning says what a broken property means, for somebody who meets the word
// for the first time.
func meaning(p checker.Property) string {
	for _, known := range checker.Properties {
		if known.Name == p {
			return known.Broken
		}
	}
	return string(p) // of a verdict of another version
}

// guards says what a level protects when nothing is wrong.
var guards = map[checker.Level]string{
	checker.LockLevel:     "one worker at a time held each lock",
	checker.UseLevel:      "nobody wrote without the lock that others take, or when it knew, or could know, that it was over",
	checker.BusinessLevel: "sales, orders and stock add up",
}

// advice answers the reader's next question about a cause: is it my design
// or are it my settings?
var advice = map[checker.Cause]string{
	checker.LeaseRanOut:       "The work took longer than the lease. A longer TTL or a renewal makes it rarer; only a store that refuses stale writes (fencing, or a conditional update) makes it harmless.",
	checker.LostAtFailover:    "Design, not settings: Redis replicates asynchronously, so a replica can be promoted without the newest locks. WAIT narrows the window; a store that refuses stale writes makes it harmless.",
	checker.SplitBrain:        "Design, not settings: for a while two masters answered. min-replicas-to-write shortens it; a quorum of independent servers or fencing at the store closes it.",
	checker.ReleasedByAnother: "Design: a release must compare the owner and delete in one step (a script), or a late finisher frees the lock of the next holder.",
	checker.OwnLateRelease:    "Design: a release had got no answer, and the worker took the lock again under the same owner, so the first release deleted the second lock. Use a fresh random token for every acquire.",
	checker.DeletedByAnother:  "Design: somebody who does not hold the lock deletes it by its age, or because its holder seems to be gone. Let the lock end by its TTL instead, or let a store refuse stale writes: a worker that was wrongly taken for dead is never told.",
	checker.ClockJumped:       "Design: a deadline was taken from a wall clock that can jump. Use the monotonic clock, and let the store refuse stale writes.",
	checker.RestartedEmpty:    "Settings and design: the server came back without the lock. appendfsync always keeps it; with several servers, delay the restart by one TTL.",
	checker.BeforeCommit:      "Design: the lock was released before the transaction was committed, so the next holder read the old row. Commit first, then release.",
	checker.NeverReleased:     "Design: a path leaves without releasing, and the lock stays until its TTL, or forever without one. Release in a defer; always set a TTL, in the same command.",
	checker.RenewalStopped:    "Design: the renewal ended while the work went on, and the worker was not told. A failed renewal must stop the work.",
	checker.RenewedReleased:   "Design: the renewal outlived the release and took the lock again, or prolonged another's. Stop the renewal before releasing, and renew only what is still one's own.",
	checker.NotAtomic:         "Design: the stock was checked in one step and changed in another, and others came between. Check and change in one command, script or conditional update.",
	checker.SharedOwner:       "Design: two workers used the same owner id, so each took the other's lock for its own. Use a fresh random token for every acquire.",
	checker.FailedOpen:        "Design: when the lock service could not be reached, the worker went on without a lock. Refuse the sale instead.",
	checker.OldStock:          "Design: the deciding read saw a stock that was no longer true: from a replica, an old snapshot, or before the lock was had. Read after the lock, from the master, in the statement that decides.",
	checker.RetriedBlind:      "Design: a request that had got no answer was sent again, and both took effect. Give each attempt an id that the store takes once.",
	checker.DiedHalfway:       "Design: a worker died after it had taken units and before it wrote the order. Take both in one script or transaction, or give back what no order came for.",
	checker.NeverAsked:        "Design: a path to the stock leaves the lock out. Either every writer takes it, or the store must decide alone whether a write may be.",
	checker.Crosswise:         "Design: two locks are taken in different orders. Take them in one order everywhere, or give back what is held as soon as one is refused.",
	checker.AskedAgain:        "Design: a step inside asks for the lock that its sale holds. Pass the lease down, or use a re-entrant lock.",
	checker.ConnectionGone:    "Design: the lock lasts as long as a connection, and a connection can end without its holder. Give the lock a lease and an owner, and let the store refuse stale writes.",
	checker.Evicted:           "Settings: the server threw the lock away to free memory. Use maxmemory-policy noeviction for locks, or a server of their own.",
}

// describe says in one line what an operation asked for and got. It is text
// of any content; the caller escapes it for where it goes.
func describe(op *histories.Op) string {
	var b strings.Builder
	b.WriteString(op.F)
	if op.Key != "" {
		b.WriteString(" " + op.Key)
	}
	if op.Qty > 1 {
		fmt.Fprintf(&b, " ×%d", op.Qty)
	}
	if op.Order != "" {
		b.WriteString(" for order " + op.Order)
	}
	b.WriteString(": " + outcome(op))
	for _, fact := range facts(op) {
		b.WriteString(", " + fact)
	}
	return b.String()
}

// outcome says how an operation ended.
func outcome(op *histories.Op) string {
	switch {
	case op.Return == histories.Never:
		return "never answered"
	case op.Outcome == histories.Info && op.Error != "":
		return "unknown (" + op.Error + ")"
	case op.Outcome == histories.Info:
		return "unknown"
	case op.Outcome == histories.Fail && op.Error != "":
		return "refused (" + op.Error + ")"
	case op.Outcome == histories.Fail:
		return "refused"
	case op.Replay:
		return "ok (had been done before)"
	}
	return "ok"
}

// facts are the answers that an operation carries.
func facts(op *histories.Op) []string {
	var list []string
	number := func(n histories.Num, format string) {
		if n.Known {
			list = append(list, fmt.Sprintf(format, n.N))
		}
	}
	number(op.Value, "value %d")
	number(op.Seen, "saw %d")
	number(op.Left, "%d left")
	number(op.Fence, "fence %d")
	if op.Until.Known {
		list = append(list, "until "+clock(op.Until.N))
	}
	if op.Token != "" {
		list = append(list, "token "+shorten(op.Token, 12))
	}
	return list
}

// markText says what a mark is: "kill redis-1", "promoted redis-2".
func markText(e histories.Event) string {
	parts := []string{e.F}
	switch {
	case e.F == histories.Kill && e.Fault != nil && e.Fault.Mode == "connection":
		parts = append(parts, "connections")
		if len(e.Fault.To) > 0 {
			parts = append(parts, "of", shorten(strings.Join(e.Fault.To, ", "), 44))
		}
		parts = append(parts, "to", shorten(strings.Join(e.Targets, ", "), 60))
	case e.Fault != nil && len(e.Fault.From) > 0:
		parts = append(parts, cutText(*e.Fault))
	case len(e.Targets) > 0:
		parts = append(parts, shorten(strings.Join(e.Targets, ", "), 60))
	case e.F == histories.Phase:
		return e.Note
	}
	if e.Fault != nil && e.Fault.Offset != 0 {
		parts = append(parts, "by "+signed(int64(e.Fault.Offset)))
	}
	if e.Fault != nil && e.Fault.Drift != 0 {
		parts = append(parts, fmt.Sprintf("drifting %+.3g %%", 100*e.Fault.Drift))
	}
	if e.F == histories.Lost {
		parts = append(parts, e.Key)
	}
	return strings.Join(parts, " ")
}

// cutText says which links a partition cuts.
func cutText(f histories.Fault) string {
	arrow := " from "
	if f.OneWay {
		arrow = " → "
	}
	return shorten(strings.Join(f.From, ", "), 44) + arrow + shorten(strings.Join(f.To, ", "), 44)
}

// who names a process as reports do.
func who(p histories.Process) string {
	if p >= 0 {
		return "worker " + p.String()
	}
	return p.String()
}

// units says how many: "1 unit", "3 units".
func units(n int64) string { return plural(n, "unit") }

// plural puts a number before a word.
func plural[T ~int | ~int64](n T, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return count(n) + " " + word + "s"
}

// balance says what was sold against what there was: "Sold 103 of 100 units:
// 3 more than there were." It is empty if nothing is known of stock.
//
// The sums over all keys can look well although one key is oversold.
func balance(c checker.Counts) string {
	s := fmt.Sprintf("Sold %s of %s", count(c.Sold), units(c.Had))
	switch {
	case c.Had == 0 && c.Sold == 0:
		return ""
	case c.Oversold > 0 && c.Sold-c.Had == c.Oversold:
		return fmt.Sprintf("%s: %s more than there were.", s, count(c.Oversold))
	case c.Oversold > 0:
		return fmt.Sprintf("%s: single keys sold %s more than they had, others kept %s.", s, count(c.Oversold), count(c.Had-c.Sold+c.Oversold))
	}
	return s + "."
}

// levelOutcome is how a level came out; false if it was not judged. In a run that
// meant too little nothing is valid, however little was seen to break.
func levelOutcome(level checker.Level, v *checker.Verdict) (checker.Outcome, bool) {
	o, judged := v.Levels[level]
	if v.Outcome == checker.Unknown && o == checker.Valid {
		o = checker.Unknown
	}
	return o, judged
}

// levelText says in plain words how a level came out.
func levelText(level checker.Level, v *checker.Verdict) string {
	var broken, open []string
	for _, r := range v.Results {
		if r.Level != level {
			continue
		}
		switch r.Outcome {
		case checker.Invalid:
			broken = append(broken, meaning(r.Property)+times(r.Count))
		case checker.Unknown:
			open = append(open, string(r.Property)+": "+r.Reason)
		}
	}
	switch {
	case len(broken) > 0:
		return strings.Join(broken, "; ")
	case len(open) > 0:
		return strings.Join(open, "; ")
	case v.Levels[level] == checker.NotLooked:
		return whyNotLooked(level, v)
	case v.Levels[level] == checker.Valid && level != checker.BusinessLevel && v.Counts.Grants == 0:
		return "no lock was taken"
	case v.Levels[level] == checker.Valid && v.Outcome == checker.Unknown:
		return "nothing was seen to break"
	case v.Levels[level] == checker.Valid:
		return guards[level]
	}
	return "not decided"
}

// whyNotLooked says what a level would have been about.
func whyNotLooked(level checker.Level, v *checker.Verdict) string {
	for _, r := range v.Results {
		if r.Level == level && r.Outcome == checker.NotLooked && r.Reason != "" {
			return r.Reason
		}
	}
	return "there was nothing to look at"
}

// times says how often, if more than once.
func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (%s times)", count(n))
}
