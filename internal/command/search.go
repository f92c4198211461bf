package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/run/guide"
	"github.com/lockcheck/lockcheck/run/shrink"
)

// notOfSearch are the flags of run that mean nothing here.
var notOfSearch = unheeded{
	"expect": "search looks for one violation, not for what the design claims",
	"image":  "search runs on the simulated cluster only",
}

// runSearch looks for a violation with many seeds and makes it small.
func runSearch(ctx context.Context, a *app, args []string) (int, error) {
	f := newRunFlags(a, "search")
	property := f.set.String("property", "", "the only property to look for")
	shrinkTime := f.set.Duration("shrink-time", time.Minute, "longest time to spend on shrinking; 0 for none")
	guided := f.set.String("guided", "off", "on: branch off earlier runs at rare moments and draw settings that no flag gives; off: one seed after the other")
	f.set.Lookup("runs").Usage = "number of seeds to try (default 1000)"
	f.set.Lookup("all-runs").Usage = "make all runs and group what they find by signature, instead of ending at the first violation"
	f.set.Lookup("shard").Usage = "i/n, with --all-runs: only every n-th seed, from the i-th on"
	notOfSearch.hide(f.set)
	if err := a.parse(f.set, args, 0, 0); err != nil {
		return 0, err
	}
	if err := notOfSearch.refuse(f.set); err != nil {
		return 0, err
	}
	if *guided != "on" && *guided != "off" {
		return 0, unknownName("--guided", *guided, []string{"on", "off"})
	}
	if *property != "" && !slices.Contains(propertyNames(), *property) {
		return 0, unknownName("property", *property, propertyNames())
	}
	for flag, p := range map[string]checker.Property{"max-hold": checker.MaxHold, "max-zombie": checker.ZombieTime} {
		if *property == string(p) && !f.set.Changed(flag) {
			return 0, hint(usagef("--property=%s: nothing bounds it", p), "--%s=1s, for instance", flag)
		}
	}
	if !f.set.Changed("runs") {
		f.runs = 1000
	}
	if f.shard != "" && !f.allRuns {
		return 0, usagef("--shard needs --all-runs")
	}
	if f.allRuns && *guided == "on" {
		return 0, usagef("--all-runs and --guided=on contradict each other: counts of a guided search are no rates")
	}
	shard := f.shard
	f.shard = "" // of seeds, not of cells
	cells, err := f.cells(ctx)
	f.shard = shard
	if err == nil && !f.driver.Virtual {
		err = usagef("search runs on the simulated cluster only")
	}
	if err != nil {
		return 0, err
	}
	if len(cells) != 1 {
		return 0, usagef("search takes one --design and one --nemesis, not %d cells", len(cells))
	}
	if err := f.begin(); err != nil {
		return exitBroken, err
	}
	provider, err := f.driver.New(ctx, cluster.Config{})
	if err != nil {
		return 0, err
	}
	collectLess()
	s := searcher{a: a, f: f, cell: cells[0], provider: provider, property: checker.Property(*property), guided: *guided == "on"}
	if f.allRuns {
		return s.survey(ctx)
	}
	return s.search(ctx, *shrinkTime)
}

// searcher is one search under way.
type searcher struct {
	a        *app
	f        *runFlags
	cell     tableCell
	provider cluster.Provider
	property checker.Property // that is to be broken; "": any
	guided   bool
	source   atomic.Pointer[string] // of the runs: "simulated Redis"
}

func (s *searcher) search(ctx context.Context, shrinkTime time.Duration) (int, error) {
	o := guide.Options{Runs: s.f.runs, Plain: !s.guided, Fixed: s.f.set.Changed}
	r, err := guide.Search(ctx, s.provider, func(i int) run.Plan { return s.f.plan(s.cell, i) }, o, s.broken)
	if err != nil {
		return 0, err
	}
	if r.Found == nil {
		return s.nothing(ctx, r), nil
	}
	found := reported(r.Found)
	fmt.Fprintf(s.a.stderr, "found in run %d of %d, seed %d%s, after %d distinct states: %s\n",
		r.Tried, s.f.runs, found.plan.Spec.Seed, turnedAt(found.plan), r.States, found.Verdict.First().Summary)
	if s.property == "" {
		s.property = found.Verdict.First().Property
	}
	if shrinkTime > 0 && ctx.Err() == nil {
		found = s.shrink(ctx, found, shrinkTime)
	}
	code, err := s.conclude(found)
	if ctx.Err() != nil && err == nil {
		code = exitInterrupted
	}
	return code, err
}

// nothing says that no run broke, and whether that was all of them.
func (s *searcher) nothing(ctx context.Context, r guide.Result) int {
	what := "violation"
	if s.property != "" {
		what = string(s.property)
	}
	source := ""
	if of := s.source.Load(); of != nil {
		source = " (" + *of + ")"
	}
	what += " of " + s.cell.design.Name + " × " + s.cell.nemesis
	if ctx.Err() != nil {
		fmt.Fprintf(s.a.stdout, "interrupted after %d of %d runs: no %s in them, %d distinct states, seeds from %d on%s\n", r.Tried, s.f.runs, what, r.States, s.f.seed, source)
		return exitInterrupted
	}
	fmt.Fprintf(s.a.stdout, "no %s in %d runs, %d distinct states, seeds %d to %d%s\n", what, r.Tried, r.States, s.f.seed, s.f.seed+uint64(max(r.Seeds, 1))-1, source)
	return exitValid
}

// turnedAt names the turns of a plan, if it has any.
func turnedAt(p run.Plan) string {
	if len(p.Turns) == 0 {
		return ""
	}
	return ", turns " + p.Turns.String()
}

// broken reports whether a run breaks what is looked for, and puts that first
// where it does.
func (s *searcher) broken(j *run.Judged) bool {
	s.source.Store(&j.Source)
	v := j.Verdict.Violations
	if s.property == "" {
		return len(v) > 0
	}
	slices.SortStableFunc(v, func(a, b checker.Violation) int {
		return cmp.Compare(btoi(a.Property != s.property), btoi(b.Property != s.property))
	})
	return len(v) > 0 && v[0].Property == s.property
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// seedsPerTry is how many seeds a smaller plan gets to break again: other
// settings mean other random numbers.
const seedsPerTry = 12

// shrink makes the plan small, for a bounded time.
func (s *searcher) shrink(ctx context.Context, found *judged, limit time.Duration) *judged {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found.plan.Schedule = &found.result.Schedule
	found.plan = untilBroken(found)
	best := found
	try := func(ctx context.Context, p run.Plan) (run.Plan, bool) {
		smaller := s.anySeed(ctx, p)
		if smaller == nil {
			return p, false
		}
		best = smaller
		return smaller.plan, true
	}
	last := ""
	shrink.Plan(ctx, found.plan, try, func(what string, p run.Plan) {
		size := fmt.Sprintf("faults %d, workers %d, SKUs %d, operations %d",
			len(p.Schedule.Episodes), p.Spec.Workers, p.Spec.SKUs, len(best.History.Ops))
		if size != last { // smaller in a way that shows
			fmt.Fprintf(s.a.stderr, "%s: %s\n", what, size)
		}
		last = size
	})
	return best
}

// untilBroken ends the run soon after the violation: what comes later does
// not matter, and until then the seed decides the same.
func untilBroken(p *judged) run.Plan {
	plan := p.plan
	if v := p.Verdict.First(); v != nil {
		end := time.Duration(v.To) + time.Second
		plan.TimeLimit = min(plan.TimeLimit, end.Round(100*time.Millisecond))
	}
	return plan
}

// anySeed tries a plan under several seeds; the lowest that breaks counts, so
// that the result does not depend on the machine.
func (s *searcher) anySeed(ctx context.Context, p run.Plan) *judged {
	found, _, _ := run.Search(ctx, s.provider, seedsPerTry, func(i int) run.Plan {
		q := p
		if last := len(q.Turns) - 1; last >= 0 && i < seedsPerTry/2 {
			q.Turns = slices.Clone(q.Turns)
			q.Turns[last].Seed += uint64(i) // up to there the run is the same
			return q
		}
		q.Spec.Seed += uint64(i)
		return q
	}, s.broken)
	if found == nil {
		return nil
	}
	return reported(found)
}

// conclude saves and prints what was found.
func (s *searcher) conclude(p *judged) (int, error) {
	if err := p.save(s.f.store); err != nil {
		return 0, err
	}
	p.Replay = s.replaySmall(p)
	if err := p.save(s.f.store); err != nil {
		return 0, err
	}
	if err := s.a.show(p.Run, s.f.format); err != nil {
		return 0, err
	}
	return exitOf(p.Verdict.Outcome), nil
}

// replaySmall is the command that runs the small example again: its settings
// in full, its faults from the saved schedule.
func (s *searcher) replaySmall(p *judged) string {
	spec := p.plan.Spec
	cmd := s.a.called("lockcheck run")
	if spec.Of.Own == nil {
		cmd += " --design=" + spec.Design
	}
	cmd += fmt.Sprintf(" --schedule=%s --seed=%d --runs=1 --time-limit=%v --concurrency=%d --skus=%d --max-ops=%d --work=%s --think=%s",
		p.folder.Path(histories.ScheduleFile), spec.Seed, p.plan.TimeLimit, spec.Workers, spec.SKUs, spec.MaxOps, quote(spec.Work), quote(spec.Think))
	if len(p.plan.Turns) > 0 {
		cmd += " --turns=" + p.plan.Turns.String()
	}
	if drawn := s.cell.spec; spec.TTL != drawn.TTL || spec.Renew != drawn.Renew {
		cmd += fmt.Sprintf(" --ttl=%v --renew=%v", spec.TTL, spec.Renew)
	}
	for _, name := range slices.Sorted(maps.Keys(p.plan.Settings)) {
		switch name {
		case "time-limit", "concurrency", "work", "think", "skus", "max-ops", "schedule", "shrink-time", "property", "interval", "variant", "guided", "turns":
		default:
			cmd += " --" + name + "=" + quote(p.plan.Settings[name])
		}
	}
	return cmd
}
