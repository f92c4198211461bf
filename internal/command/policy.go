package command

import (
	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/report"
	"github.com/lockcheck/lockcheck/workload"
)

// policy says how often a cell is run, and when it has shown what it has to show.
type policy struct {
	runs     int  // --runs; 0: by what the design claims
	all      bool // --all-runs: however many are invalid
	byClaims bool // --expect=claims
	virtual  bool // runs cost little
}

// repeats is how often a cell is run at most: often enough to find what the
// design claims to suffer, which some faults show in few runs only.
func (p policy) repeats(c workload.Claim) int {
	switch {
	case p.runs > 0:
		return p.runs
	case !p.virtual:
		return 1
	case c.Lock == workload.Breaks || c.Use == workload.Breaks || c.Business == workload.Breaks:
		return 20
	}
	return 3
}

// enough reports whether more runs of the cell would show nothing new: a
// violation was found, or, where claims are compared, every level that is
// claimed to break has broken. In real time --runs is a count.
func (p policy) enough(c report.Cell) bool {
	switch {
	case p.all || !p.virtual:
		return false
	case !p.byClaims:
		return c.Invalid > 0
	}
	breaks := false
	for level, promise := range c.Claims {
		if promise == report.Breaks {
			breaks = true
			if c.Levels[level] != checker.Invalid {
				return false
			}
		}
	}
	return breaks
}

// policy is what the flags say of it.
func (f *runFlags) policy() policy {
	return policy{runs: f.runs, all: f.allRuns, byClaims: f.expect == "claims", virtual: f.driver.Virtual}
}
