package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/run/shrink"
)

// notOfSearch are the flags of run that mean nothing here.
var notOfSearch = unheeded{
	"expect":   "search looks for one violation, not for what the design claims",
	"all-runs": "search ends at the first violation",
	"shard":    "search has one cell",
	"image":    "search runs on the simulated cluster only",
}

// runSearch looks for a violation with many seeds and makes it small.
func runSearch(ctx context.Context, a *app, args []string) (int, error) {
	f := newRunFlags(a, "search")
	property := f.set.String("property", "", "look for this property only")
	shrinkTime := f.set.Duration("shrink-time", time.Minute, "how long to shrink at most; 0: not at all")
	f.set.Lookup("runs").Usage = "seeds to try (default 1000)"
	notOfSearch.hide(f.set)
	if err := parse(f.set, args, 0, 0); err != nil {
		return 0, err
	}
	if err := notOfSearch.refuse(f.set); err != nil {
		return 0, err
	}
	if *property != "" && !slices.Contains(propertyNames(), *property) {
		return 0, unknownName("property", *property, propertyNames())
	}
	for flag, p := range map[string]checker.Property{"max-hold": checker.MaxHold, "max-zombie": checker.ZombieTime} {
		if *property == string(p) && !f.set.Changed(flag) {
			return 0, hint(usagef("--property=%s: nothing bounds it", p), "--%s=1s, for instance", flag)
		}
	}
	if f.cluster != onSim {
		return 0, usagef("search runs on the simulated cluster only")
	}
	if !f.set.Changed("runs") {
		f.runs = 1000
	}
	cells, err := f.cells()
	if err != nil {
		return 0, err
	}
	if len(cells) != 1 {
		return 0, usagef("search takes one --design and one --nemesis, not %d cells", len(cells))
	}
	if err := f.begin(a); err != nil {
		return exitBroken, err
	}
	collectLess()
	s := searcher{a: a, f: f, cell: cells[0], provider: sim.New(sim.Config{}), property: checker.Property(*property)}
	return s.search(ctx, *shrinkTime)
}

// searcher is one search under way.
type searcher struct {
	a        *app
	f        *runFlags
	cell     tableCell
	provider cluster.Provider
	property checker.Property // that is to be broken; "": any
	source   string           // of the runs: "simulated Redis"
}

func (s *searcher) search(ctx context.Context, shrinkTime time.Duration) (int, error) {
	found, tried, err := s.firstBroken(ctx)
	if err != nil {
		return 0, err
	}
	if found == nil {
		return s.nothing(ctx, tried), nil
	}
	fmt.Fprintf(s.a.stderr, "found in run %d of %d, seed %d: %s\n", tried, s.f.runs, found.plan.Spec.Seed, found.Verdict.First().Summary)
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
func (s *searcher) nothing(ctx context.Context, tried int) int {
	what := "violation"
	if s.property != "" {
		what = string(s.property)
	}
	source := ""
	if s.source != "" {
		source = " (" + s.source + ")"
	}
	what += " of " + s.cell.design.Name + " × " + s.cell.nemesis
	if ctx.Err() != nil {
		fmt.Fprintf(s.a.stdout, "interrupted after %d of %d runs: no %s in them, seeds from %d on%s\n", tried, s.f.runs, what, s.f.seed, source)
		return exitInterrupted
	}
	fmt.Fprintf(s.a.stdout, "no %s in %d runs, seeds %d to %d%s\n", what, tried, s.f.seed, s.f.seed+uint64(max(tried, 1))-1, source)
	return exitValid
}

// planned is a judged run with the plan that made it.
type planned struct {
	*judged
	plan run.Plan
}

// one runs a plan; nil if it breaks nothing that is looked for.
func (s *searcher) one(ctx context.Context, p run.Plan) (*planned, error) {
	found, _, err := s.try(ctx, p)
	return found, err
}

// try is one, and says what the run was made on.
func (s *searcher) try(ctx context.Context, p run.Plan) (*planned, string, error) {
	j, err := runInMemory(ctx, s.provider, p)
	if err != nil {
		return nil, "", fmt.Errorf("seed %d: %w", p.Spec.Seed, err)
	}
	v := j.Verdict.Violations
	if s.property != "" { // what is looked for is shown first
		slices.SortStableFunc(v, func(a, b checker.Violation) int {
			return cmp.Compare(btoi(a.Property != s.property), btoi(b.Property != s.property))
		})
	}
	if len(v) == 0 || s.property != "" && v[0].Property != s.property {
		return nil, j.result.Source, nil
	}
	return &planned{j, p}, j.result.Source, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// firstBroken tries the seeds in order, on all cores, and answers the broken
// run of the lowest seed and its number; without one, how many runs were whole.
func (s *searcher) firstBroken(ctx context.Context) (*planned, int, error) {
	var (
		next, best, whole atomic.Int64
		mu                sync.Mutex
		found             *planned
		failed            error
		wg                sync.WaitGroup
	)
	best.Store(int64(s.f.runs))
	for range cores() {
		wg.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= best.Load() || ctx.Err() != nil {
					return
				}
				p, source, err := s.try(ctx, s.f.plan(s.cell, int(n)))
				if ctx.Err() == nil {
					whole.Add(1)
				}
				mu.Lock()
				if s.source == "" {
					s.source = source
				}
				if p != nil && n < best.Load() {
					found = p
					best.Store(n)
				}
				if err != nil && failed == nil && !interrupted(ctx, err) {
					failed = err
					best.Store(min(n, best.Load()))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if found != nil {
		return found, int(best.Load()) + 1, nil
	}
	return nil, int(whole.Load()), failed
}

// seedsPerTry is how many seeds a smaller plan gets to break again: other
// settings mean other random numbers.
const seedsPerTry = 12

// shrink makes the plan small, for a bounded time.
func (s *searcher) shrink(ctx context.Context, found *planned, limit time.Duration) *planned {
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
func untilBroken(p *planned) run.Plan {
	plan := p.plan
	if v := p.Verdict.First(); v != nil {
		end := time.Duration(v.To) + time.Second
		plan.TimeLimit = min(plan.TimeLimit, end.Round(100*time.Millisecond))
	}
	return plan
}

// anySeed tries a plan under several seeds, on all cores; the lowest that
// breaks counts, so that the result does not depend on the machine.
func (s *searcher) anySeed(ctx context.Context, p run.Plan) *planned {
	for base := 0; base < seedsPerTry; base += cores() {
		batch := make([]*planned, cores())
		var wg sync.WaitGroup
		for i := range batch {
			q := p
			q.Spec.Seed += uint64(base + i)
			wg.Go(func() { batch[i], _ = s.one(ctx, q) })
		}
		wg.Wait()
		if i := slices.IndexFunc(batch, func(p *planned) bool { return p != nil }); i >= 0 {
			return batch[i]
		}
	}
	return nil
}

// conclude saves and prints what was found.
func (s *searcher) conclude(p *planned) (int, error) {
	if err := p.save(s.f.store); err != nil {
		return 0, err
	}
	p.Replay = replaySmall(p)
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
func replaySmall(p *planned) string {
	spec := p.plan.Spec
	cmd := fmt.Sprintf("lockcheck run --design=%s --schedule=%s --seed=%d --runs=1 --time-limit=%v --concurrency=%d --skus=%d --max-ops=%d --work=%s",
		spec.Design, p.folder.Path(histories.ScheduleFile), spec.Seed, p.plan.TimeLimit, spec.Workers, spec.SKUs, spec.MaxOps, quote(spec.Work))
	for _, name := range slices.Sorted(maps.Keys(p.plan.Settings)) {
		switch name {
		case "time-limit", "concurrency", "work", "skus", "max-ops", "schedule", "shrink-time", "property", "interval", "variant":
		default:
			cmd += " --" + name + "=" + quote(p.plan.Settings[name])
		}
	}
	return cmd
}
