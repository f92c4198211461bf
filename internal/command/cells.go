package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/report"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

// tableCell is one cell of the table designs × nemeses.
type tableCell struct {
	design   workload.Design
	nemesis  string
	spec     workload.Resolved // but for the seed
	schedule *nemesis.Schedule
	na       string // why the cell cannot be had
}

// cells are what the flags name, in order, or the mistake in them.
func (f *runFlags) cells() ([]tableCell, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	designs, err := pickDesigns(f.design)
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
			all := namesOf(workload.Designs(), heeds)
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

// impossible says why the only cell cannot be had, and what can.
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
	return mine, nil
}

// pickDesigns turns a list of names into designs.
func pickDesigns(list string) ([]workload.Design, error) {
	var picked []workload.Design
	for name := range strings.SplitSeq(list, ",") {
		switch d, ok := workload.Find(name); {
		case ok:
			picked = append(picked, d)
		case name == "all" || name == "controls" || name == "known-bad":
			for _, d := range workload.Designs() {
				if name == "all" || d.Control && name == "controls" || d.KnownBad && name == "known-bad" {
					picked = append(picked, d)
				}
			}
		default:
			return nil, unknownName("design", name, append(designNames(), "all", "controls", "known-bad"))
		}
	}
	return picked, nil
}

func designNames() []string {
	var names []string
	for _, d := range workload.Designs() {
		names = append(names, d.Name)
	}
	return names
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

// tableResult is what became of one cell.
type tableResult struct {
	tableCell
	cell  report.Cell // over all runs
	shown *judged     // the first invalid run, else the last
	speed *benchRow   // of the shown run; bench only
	err   error       // lockcheck or its environment broke
}

// runCells runs all cells: side by side where the cluster is simulated, one
// after another where it is real. The results come in the order of the cells.
func (f *runFlags) runCells(ctx context.Context, p cluster.Provider, cells []tableCell, progress *progress) []tableResult {
	results := make([]tableResult, len(cells))
	lanes := 1
	if f.cluster == onSim {
		lanes = cores()
	}
	var wg sync.WaitGroup
	next := make(chan int)
	for range lanes {
		wg.Go(func() {
			for i := range next {
				results[i] = f.runCell(ctx, p, cells[i], progress)
				if r := &results[i]; f.measure && r.shown != nil {
					r.speed = measure(r.design, r.shown)
				}
				if len(cells) > 1 {
					results[i].forget()
				}
				progress.cell(results[i])
			}
		})
	}
	for i := range cells {
		next <- i
	}
	close(next)
	wg.Wait()
	return results
}

// forget drops the history of a run that is saved: of a whole table only the
// verdicts are printed.
func (r *tableResult) forget() {
	if r.shown != nil {
		r.shown.History, r.shown.raw = nil, nil
	}
}

// brokenRuns is how many runs of a cell lockcheck or its environment may break
// before the cell is given up: a night's other runs are worth having.
const brokenRuns = 3

// runCell runs one cell until it has shown what it has to show.
func (f *runFlags) runCell(ctx context.Context, p cluster.Provider, c tableCell, progress *progress) tableResult {
	r := tableResult{tableCell: c}
	r.cell = report.Cell{Design: c.design.Name, Nemesis: c.nemesis, Skipped: c.na, Claims: promises(f.claimOf(c))}
	broke := 0
	for n := range f.repeats(c) {
		if ctx.Err() != nil || c.na != "" {
			break
		}
		seed := f.seed + uint64(n)
		progress.begin(c, n+1, f.repeats(c), seed)
		j, err := f.once(ctx, p, c, n, progress)
		if j != nil && j.Verdict != nil {
			r.take(j)
		}
		if interrupted(ctx, err) {
			break
		}
		if err != nil {
			r.err = errors.Join(r.err, fmt.Errorf("%s × %s, seed %d: %w", c.design.Name, c.nemesis, seed, err))
			r.cell.Error = oneLine(err)
			if broke++; broke == brokenRuns || f.cluster == onSim {
				break
			}
			continue
		}
		if f.enough(r.cell) {
			r.cell.Stopped = true
			break
		}
	}
	if r.shown != nil {
		r.err = errors.Join(r.err, r.keep(f))
	}
	return r
}

// interrupted reports whether a run ended with err because ctx did.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// keep saves the run that is shown, judged once more with all that a single
// run may cost.
func (r *tableResult) keep(f *runFlags) error {
	if f.cluster == onSim {
		r.shown.Verdict = checker.Check(context.Background(), r.shown.History, checker.Options{})
	}
	err := r.shown.save(f.store)
	r.cell.Folder = r.shown.Folder
	return err
}

func (f *runFlags) once(ctx context.Context, p cluster.Provider, c tableCell, n int, progress *progress) (*judged, error) {
	replay := f.replay(c, f.seed+uint64(n))
	if f.cluster == onSim {
		j, err := runInMemory(ctx, p, f.plan(c, n))
		j.Replay = replay
		return j, err
	}
	j, err := runInFolder(ctx, p, f.plan(c, n), f.store, progress.event)
	if j == nil {
		return nil, err
	}
	j.Replay = replay
	return j, errors.Join(err, j.save(f.store))
}

// take adds one run to the cell's result.
func (r *tableResult) take(j *judged) {
	if r.cell.Invalid == 0 {
		r.shown = j
	}
	claims := r.cell.Claims
	r.cell = r.cell.Join(j.Cell())
	r.cell.Claims = claims
}

// enough reports whether more runs of the cell would show nothing new: a
// violation was found, or, where claims are compared, every level that is
// claimed to break has broken. On the real cluster --runs is a count.
func (f *runFlags) enough(c report.Cell) bool {
	switch {
	case f.allRuns || f.cluster == onDocker:
		return false
	case f.expect == "":
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

// promises are a claim by level, in the words of reports.
func promises(c workload.Claim) map[checker.Level]report.Promise {
	return map[checker.Level]report.Promise{
		checker.LockLevel:     report.Promise(c.Lock.String()),
		checker.UseLevel:      report.Promise(c.Use.String()),
		checker.BusinessLevel: report.Promise(c.Business.String()),
	}
}
