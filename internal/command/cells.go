package command

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

// tableCell is one cell of the table designs × nemeses.
type tableCell struct {
	design   workload.Design
	nemesis  string
	spec     workload.Resolved // but for the seed
	schedule *nemesis.Schedule
	na       string // why the cell cannot be run
}

// cells are what the flags name, in order, or the mistake in them.
func (f *runFlags) cells(ctx context.Context) ([]tableCell, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	designs, err := f.designs(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.heeded(designs); err != nil {
		return nil, err
	}
	names, err := pickNemeses(f.nemesis)
	if err != nil {
		return nil, err
	}
	if err := checkVariant(f.variant, names); err != nil {
		return nil, err
	}
	schedule, err := f.readSchedule()
	if err != nil {
		return nil, err
	}
	if schedule != nil {
		names = []string{schedule.Nemesis}
	}
	var all []tableCell
	for _, d := range designs {
		for _, name := range names {
			c, err := f.cell(d, name, schedule)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	if len(all) == 1 && all[0].na != "" {
		return nil, f.impossible(all[0])
	}
	return f.take(all)
}

// designs are those that the flags name: a program of one's own, and others.
func (f *runFlags) designs(ctx context.Context) ([]workload.Design, error) {
	var all []workload.Design
	if f.exec.command != "" {
		d, err := f.subject(ctx)
		if err != nil {
			return nil, err
		}
		if all = append(all, d); f.exec.beside != "" {
			others, err := pickDesigns(f.app.designs(), f.exec.beside)
			if err != nil {
				return nil, err
			}
			all = append(all, others...)
		}
		if !f.set.Changed("design") {
			return all, nil
		}
	}
	for _, name := range ofExec[1:] {
		if f.exec.command == "" && f.set.Changed(name) {
			return nil, usagef("--%s needs --exec", name)
		}
	}
	others, err := pickDesigns(f.app.designs(), f.design)
	return append(all, others...), err
}

// heeded finds settings that were given and that no design named looks at. Of
// those that only some look at it warns.
func (f *runFlags) heeded(designs []workload.Design) error {
	for _, flag := range workload.LockFlags {
		if !f.set.Changed(flag) {
			continue
		}
		heeds := func(d workload.Design) bool { return d.Heeds(flag) }
		switch yes := namesOf(designs, heeds); len(yes) {
		case len(designs):
		case 0:
			all := namesOf(f.app.designs(), heeds)
			return hint(usagef("--%s: %s does not look at it", flag, f.design), "these do: %s", strings.Join(all, ", "))
		default:
			f.warnings = append(f.warnings, fmt.Sprintf("of the designs named only these look at --%s: %s", flag, strings.Join(yes, ", ")))
		}
	}
	return nil
}

func namesOf(designs []workload.Design, which func(workload.Design) bool) []string {
	var names []string
	for _, d := range designs {
		if which(d) {
			names = append(names, d.Name)
		}
	}
	return names
}

// impossible says why the only cell cannot be run, and what can.
func (f *runFlags) impossible(c tableCell) error {
	if c.schedule != nil {
		return usagef("--schedule=%s: %s", f.schedule, c.na)
	}
	var fitting []string
	for _, name := range nemesis.Names() {
		plan := f.plan(c, 0)
		plan.Nemesis, plan.Variant = name, ""
		if run.Feasible(plan) == nil {
			fitting = append(fitting, name)
		}
	}
	return hint(usagef("--design=%s: %s", c.design.Name, c.na), "it can have --nemesis=%s", strings.Join(fitting, ","))
}

// cell makes one cell. A nemesis that the design's topology cannot have makes
// a cell that says so.
func (f *runFlags) cell(d workload.Design, name string, schedule *nemesis.Schedule) (tableCell, error) {
	given := f.spec
	given.TimeLimit = f.timeLimit
	spec, err := d.Resolve(given)
	if err != nil {
		return tableCell{}, usageError{err}
	}
	c := tableCell{design: d, nemesis: name, spec: spec, schedule: schedule}
	if err := run.Feasible(f.plan(c, 0)); err != nil {
		c.na = err.Error()
	}
	if err := run.CheckSchedule(f.plan(c, 0)); err != nil {
		c.na = strings.TrimPrefix(err.Error(), "schedule: ")
	}
	return c, nil
}

func (f *runFlags) readSchedule() (*nemesis.Schedule, error) {
	if f.schedule == "" {
		return nil, nil
	}
	file, err := os.Open(f.schedule)
	if err != nil {
		return nil, usageError{trimPath(err)}
	}
	defer file.Close()
	s, err := nemesis.ReadSchedule(file)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", f.schedule, err)}
	}
	if err := s.Fits(f.timeLimit); err != nil {
		return nil, hint(usagef("%s: %w", f.schedule, err), "--time-limit says how long a run is")
	}
	return &s, nil
}

// take keeps the cells of the shard.
func (f *runFlags) take(all []tableCell) ([]tableCell, error) {
	if f.shard == "" {
		return all, nil
	}
	is, ns, _ := strings.Cut(f.shard, "/")
	i, err1 := strconv.Atoi(is)
	n, err2 := strconv.Atoi(ns)
	if err1 != nil || err2 != nil || i < 1 || i > n {
		return nil, usagef("--shard=%s: want i/n with 1 ≤ i ≤ n", f.shard)
	}
	var mine []tableCell
	for j, c := range all {
		if j%n == i-1 {
			mine = append(mine, c)
		}
	}
	if len(mine) == 0 && len(all) > 0 {
		return nil, usagef("--shard=%s is empty: cells to share out are only %d", f.shard, len(all))
	}
	return mine, nil
}

// pickDesigns turns a list of names into designs.
func pickDesigns(known workload.Catalogue, list string) ([]workload.Design, error) {
	var picked []workload.Design
	for name := range strings.SplitSeq(list, ",") {
		switch d, ok := known.Find(name); {
		case ok:
			picked = append(picked, d)
		case name == "all" || name == "controls" || name == "known-bad":
			for _, d := range known {
				if name == "all" || d.Control && name == "controls" || d.KnownBad && name == "known-bad" {
					picked = append(picked, d)
				}
			}
		default:
			return nil, unknownName("design", name, append(known.Names(), "all", "controls", "known-bad"))
		}
	}
	return picked, nil
}

// pickNemeses turns "a,b+c,all" into the nemeses of the columns.
func pickNemeses(list string) ([]string, error) {
	known := append(nemesis.Names(), "all", nemesis.Mixed)
	var picked []string
	for name := range strings.SplitSeq(list, ",") {
		if name == "all" {
			picked = append(picked, nemesis.Names()...)
			continue
		}
		if strings.Contains(name, "+") {
			if err := checkSum(name); err != nil {
				return nil, err
			}
		}
		for part := range strings.SplitSeq(name, "+") {
			if _, ok := nemesis.Find(part); !ok && name != nemesis.Mixed {
				if n := nemesis.OfVariant(part); n != "" {
					return nil, hint(usagef("unknown nemesis %q", part), "it is a variant: --nemesis=%s --variant=%s", n, part)
				}
				return nil, unknownName("nemesis", part, known)
			}
		}
		picked = append(picked, name)
	}
	return picked, nil
}

// checkSum refuses words among faults joined by + that are no fault.
func checkSum(sum string) error {
	for part := range strings.SplitSeq(sum, "+") {
		switch part {
		case nemesis.None:
			return usagef("--nemesis=%s: %s is no fault that others could be added to; use a comma", sum, part)
		case "all", nemesis.Mixed:
			return hint(usagef("--nemesis=%s: %q cannot be joined with others by +", sum, part),
				"all is each in turn, mixed all in one run; name the faults to join: failover+clock")
		}
	}
	return nil
}

// checkVariant finds a variant that none of the nemeses has.
func checkVariant(variant string, names []string) error {
	if variant == "" {
		return nil
	}
	var known []string
	for _, name := range names {
		for part := range strings.SplitSeq(name, "+") {
			n, _ := nemesis.Find(part)
			for _, v := range n.Variants {
				known = append(known, v.Name)
			}
		}
	}
	if !slices.Contains(known, variant) {
		return hint(usagef("--variant=%s: %s has no such variant", variant, strings.Join(names, ",")), "it has %s", strings.Join(known, ", "))
	}
	return nil
}

// plan is the plan of one run of a cell.
func (f *runFlags) plan(c tableCell, n int) run.Plan {
	spec := c.spec
	spec.Seed = f.seed + uint64(n)
	return run.Plan{
		Spec: spec, Nemesis: c.nemesis, Variant: f.variant, Schedule: c.schedule, Turns: f.turns, TimeLimit: f.timeLimit,
		Interval: f.interval, DownAfter: f.downAfter, Version: version(), Settings: f.settingsOf(c.design),
	}
}

// claimOf is what the design promises under the nemesis. One run of all nemeses
// has no time for each, and one variant may not be the one that tells: what
// breaks then may break.
func (f *runFlags) claimOf(c tableCell) workload.Claim {
	claim := c.design.Claim(c.nemesis)
	if c.nemesis == nemesis.Mixed || f.variant != "" {
		for _, p := range []*workload.Promise{&claim.Lock, &claim.Use, &claim.Business} {
			if *p == workload.Breaks {
				*p = workload.MayBreak
			}
		}
	}
	return claim
}
