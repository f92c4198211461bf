package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/workload"
)

// mechanism is what shows that a known-bad design was caught for what is wrong
// with it, and not for something else.
type mechanism struct {
	property checker.Property
	because  string // part of the cause, in words; "": any
}

// mechanisms of the designs whose mistake has a cause of its own. The others
// are to be caught, whatever for.
var mechanisms = map[string]mechanism{
	"fair-queue":       {checker.StuckLock, "was killed"},
	"own-duration":     {checker.DoubleHold, "no fault was in force, and the lease of worker"},
	"reaped":           {checker.DoubleHold, "deleted by another"},
	"stale-unlock":     {checker.DoubleHold, "a late release of its own"},
	"presence":         {checker.DoubleHold, "gone with its connection"},
	"half-locked":      {checker.UnlockedWrite, "never asked for the lock"},
	"two-keys":         {checker.Deadlock, ""},
	"wrong-key":        {checker.LeaseLost, "the release looks elsewhere"},
	"renew-forever":    {checker.StuckLock, "goes on renewing it"},
	"clocked-del":      {checker.DoubleHold, "released by another"},
	"fence-write-only": {checker.Oversell, "lease ran out while working"},
}

// TestEveryKnownBadDesignIsCaught plays each under the nemesis that it names,
// until it is caught.
func TestEveryKnownBadDesignIsCaught(t *testing.T) {
	const seeds = 40
	for _, d := range workload.Designs() {
		if !d.KnownBad {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			want, some := mechanisms[d.Name]
			for seed := range uint64(seeds) {
				v := judge(t, play(t, plan(t, d.Name, d.CaughtBy, seed+1, 30*time.Second)))
				for _, w := range v.Violations {
					if !some || w.Property == want.property && strings.Contains(string(w.Cause)+" "+w.Because, want.because) {
						t.Logf("seed %d: %s: %s: %s %s", seed+1, w.Property, w.Summary, w.Cause, w.Because)
						return
					}
				}
			}
			t.Errorf("not caught by %s in %d runs", d.CaughtBy, seeds)
		})
	}
}
