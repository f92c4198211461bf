package main

import (
	"errors"
	"fmt"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/workload"
)

// conclude prints the results and answers the exit code.
func (a *app) conclude(f *runFlags, all []tableResult) (int, error) {
	var errs []error
	worst := checker.Outcome("")
	for _, r := range all {
		errs = append(errs, r.err)
		worst = worse(worst, r.outcome)
	}
	if err := a.print(f, all); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return exitBroken, err
	}
	if f.expect == "claims" {
		return a.compareClaims(all), nil
	}
	if worst == "" {
		return exitUnknown, nil // nothing ran
	}
	return exitOf(worst), nil
}

// print shows one run in full, or a table of cells.
func (a *app) print(f *runFlags, all []tableResult) error {
	if len(all) == 1 {
		if all[0].shown == nil {
			return nil
		}
		if all[0].runs > 1 && f.format == "text" {
			fmt.Fprintf(a.stdout, "run %d of %d; %d of them invalid\n\n", shownRun(all[0]), all[0].runs, all[0].invalid)
		}
		return a.show(all[0].shown.Run, f.format)
	}
	m := f.matrix(all)
	if err := f.saveMatrix(m); err != nil {
		return err
	}
	return showMatrix(a.stdout, f.format, m, a.style(a.stdout))
}

// shownRun is the number of the run that is shown: runs stop at the first
// violation on the simulated cluster, and go on on the real one.
func shownRun(r tableResult) int {
	if r.invalid == 0 {
		return r.runs
	}
	return int(r.shown.Header.Seed-r.firstSeed) + 1
}

// compareClaims prints each level whose verdict is not what the design
// claims: a known-bad design that was not caught is as red as a safe one that
// failed.
func (a *app) compareClaims(all []tableResult) int {
	wrong := 0
	for _, r := range all {
		if r.na != "" || r.runs == 0 {
			continue
		}
		for _, text := range surprises(r) {
			wrong++
			fmt.Fprintf(a.stdout, "%s × %s: %s\n", r.design.Name, r.nemesis, text)
		}
	}
	if wrong > 0 {
		fmt.Fprintf(a.stdout, "%d verdicts are not what the designs claim\n", wrong)
		return exitInvalid
	}
	fmt.Fprintln(a.stdout, "every verdict is what the design claims")
	return exitValid
}

var levelsInOrder = []checker.Level{checker.LockLevel, checker.UseLevel, checker.BusinessLevel}

// surprises lists where a cell's verdict and the design's claim differ.
func surprises(r tableResult) []string {
	var texts []string
	claim := promises(claimOf(r.design, r.nemesis))
	for _, level := range levelsInOrder {
		switch got := r.levels[level]; claim[level] {
		case workload.Holds:
			if got == checker.Invalid {
				texts = append(texts, fmt.Sprintf("%s level claims to hold, and broke (seed %d)", level, r.shown.Header.Seed))
			}
		case workload.Breaks:
			if got != checker.Invalid {
				texts = append(texts, fmt.Sprintf("%s level claims to break, and was not caught in %d runs", level, r.runs))
			}
		}
	}
	return texts
}
