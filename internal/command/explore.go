package command

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/explore"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/report"
	"github.com/lockcheck/lockcheck/workload"
)

// exploreFlags are the flags of explore.
type exploreFlags struct {
	app       *app
	set       *pflag.FlagSet
	design    string
	kinds     string
	aims      string
	shard     string
	store     string
	format    string
	schedule  string
	expect    string
	timeLimit time.Duration
	search    explore.Search // Deviations, Shard, Shards
	size      explore.Size
	which     sim.Kinds // that --kinds names
}

func newExploreFlags(a *app) *exploreFlags {
	f := &exploreFlags{app: a, set: a.flags("explore")}
	s := f.set
	standard := "all"
	if len(a.Own) > 0 {
		standard = strings.Join(a.Own.Names(), ",")
	}
	s.StringVar(&f.design, "design", standard, "designs, separated by commas; also all, controls, known-bad")
	s.IntVar(&f.search.Deviations, "deviations", 1, "most deviations in a schedule; each more takes some hundred times as long")
	s.StringVar(&f.kinds, "kinds", "", "the only kinds of deviations to try, separated by commas: "+strings.Join(kindNames(), ", ")+" (default: all)")
	s.StringVar(&f.aims, "levels", "", "the only levels to break: lock, use, business; once these are broken, fewer schedules are played (default: all)")
	s.IntVar(&f.size.Workers, "workers", 2, "workers in the scene")
	s.Int64Var(&f.size.Units, "units", 1, "units of the article on sale")
	s.IntVar(&f.size.Sales, "sales", 1, "purchases that each worker makes")
	s.DurationVar(&f.timeLimit, "time-limit", 0, "longest time to explore one design; it then says how far it came (default: no limit)")
	s.StringVar(&f.shard, "shard", "", "i/n: judge only the i-th of n parts of the schedules")
	s.StringVar(&f.schedule, "schedule", "", "play one schedule again, which explore has saved as "+exploredFile)
	s.StringVar(&f.expect, "expect", "", "claims: exit 0 if every distance is what the design claims")
	s.StringVar(&f.store, "store", "store", "folder for histories and reports")
	s.StringVar(&f.format, "format", "text", "output format: text or json")
	return f
}

// kindNames are the kinds of deviations, in the order of tables.
func kindNames() (names []string) {
	for _, k := range sim.AllKinds {
		names = append(names, k.Name)
	}
	return names
}

// check finds mistakes in the flags.
func (f *exploreFlags) check() error {
	switch {
	case f.search.Deviations < 0 || f.search.Deviations > 9:
		return usagef("--deviations=%d: want 0 to 9", f.search.Deviations)
	case f.size.Workers < 2 || f.size.Workers > mostWorkers:
		return usagef("--workers=%d: want 2 to %d", f.size.Workers, mostWorkers)
	case f.size.Units < 1 || f.size.Units > 100:
		return usagef("--units=%d: want 1 to 100", f.size.Units)
	case f.size.Sales < 1 || f.size.Sales > 100:
		return usagef("--sales=%d: want 1 to 100", f.size.Sales)
	case f.timeLimit < 0:
		return usagef("--time-limit=%v: must not be negative", f.timeLimit)
	case f.expect != "" && f.expect != "claims":
		return usagef("--expect=%s: the only thing to expect is claims", f.expect)
	case f.format != "text" && f.format != "json":
		return unknownName("format", f.format, []string{"text", "json"})
	}
	var err error
	if f.which, err = pickKinds(f.kinds); err != nil {
		return err
	}
	return errors.Join(f.pickLevels(), f.pickShard())
}

// pickLevels reads --levels.
func (f *exploreFlags) pickLevels() error {
	if f.aims == "" {
		return nil
	}
	for name := range strings.SplitSeq(f.aims, ",") {
		if !slices.Contains(explore.Levels[:], checker.Level(name)) {
			return unknownName("level", name, []string{"lock", "use", "business"})
		}
		f.search.Aims = append(f.search.Aims, checker.Level(name))
	}
	return nil
}

// pickShard reads --shard.
func (f *exploreFlags) pickShard() error {
	if f.shard == "" {
		return nil
	}
	is, ns, _ := strings.Cut(f.shard, "/")
	i, err1 := strconv.Atoi(is)
	n, err2 := strconv.Atoi(ns)
	if err1 != nil || err2 != nil || i < 1 || i > n {
		return usagef("--shard=%s: want i/n with 1 ≤ i ≤ n", f.shard)
	}
	f.search.Shard, f.search.Shards = i-1, n
	return nil
}

// mostWorkers bounds a scene: what is told of a preemption has room for so many.
const mostWorkers = 9

// pickKinds turns a list of names into a set; "" is all.
func pickKinds(list string) (sim.Kinds, error) {
	if list == "" {
		return sim.EveryKind, nil
	}
	var set sim.Kinds
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(kindNames(), name)
		if i < 0 {
			return 0, unknownName("kind of deviation", name, kindNames())
		}
		set = set.With(sim.Kind(i))
	}
	return set, nil
}

// runExplore plays every placement of few faults.
func runExplore(ctx context.Context, a *app, args []string) (int, error) {
	f := newExploreFlags(a)
	if err := a.parse(f.set, args, 0, 0); err != nil {
		return 0, err
	}
	if err := f.check(); err != nil {
		return 0, err
	}
	if err := histories.MakeStore(f.store); err != nil {
		return 0, err
	}
	collectLess()
	if f.schedule != "" {
		return f.replay(ctx)
	}
	designs, err := pickDesigns(a.designs(), f.design)
	if err != nil {
		return 0, err
	}
	t := f.table()
	var errs []error
	for i, d := range designs {
		if ctx.Err() != nil {
			break
		}
		row, err := f.explore(ctx, d, fmt.Sprintf("%d of %d, ", i+1, len(designs)))
		errs = append(errs, err)
		t.Rows = append(t.Rows, row)
	}
	t.Took, t.CPU, t.Interrupted = time.Since(t.Started), cpuSeconds(), ctx.Err() != nil
	if err := errors.Join(errs...); err != nil {
		return exitBroken, err
	}
	return f.conclude(ctx, t)
}

// table is the table without its rows.
func (f *exploreFlags) table() report.Distances {
	t := report.Distances{
		Version: version(), Workers: f.size.Workers, Units: f.size.Units, Sales: f.size.Sales, Bound: f.search.Deviations,
		Shard: f.shard, Started: time.Now(), ByClaims: f.expect == "claims",
	}
	for i, name := range kindNames() {
		if f.which.Has(sim.Kind(i)) {
			t.Kinds = append(t.Kinds, name)
		}
	}
	return t
}

// explore explores one design.
func (f *exploreFlags) explore(ctx context.Context, d workload.Design, which string) (report.Distance, error) {
	scene, err := explore.NewScene(d, f.size)
	if err != nil {
		return report.Distance{Design: d.Name, Error: oneLine(err)}, err
	}
	scene.Kinds = f.which
	if f.timeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeLimit)
		defer cancel()
	}
	search := f.search
	said := newExploreProgress(f.app.stderr, which+d.Name)
	search.Scene, search.Lanes, search.Said = scene, runtime.GOMAXPROCS(0), said.say
	began, used := time.Now(), cpuSeconds()
	r, err := search.Run(ctx)
	said.done()
	if err != nil {
		return report.Distance{Design: d.Name, Error: oneLine(err)}, err
	}
	row, err := f.row(r)
	row.Seconds = cpuSeconds() - used
	if row.Seconds == 0 {
		row.Seconds = time.Since(began).Seconds()
	}
	if f.kinds == "" && f.size.Units == 1 && f.size.Sales == 1 {
		row.Surprises = surprises(d, r)
	}
	fmt.Fprintf(f.app.stderr, "%s%s: %d schedules, %.1f s\n", which, d.Name, r.Schedules(), time.Since(began).Seconds())
	return row, err
}

// conclude prints and keeps the table.
func (f *exploreFlags) conclude(ctx context.Context, t report.Distances) (int, error) {
	if f.format == "json" {
		if err := t.JSON(f.app.stdout); err != nil {
			return exitBroken, err
		}
	} else if err := t.Text(f.app.stdout, f.app.style(f.app.stdout)); err != nil {
		return exitBroken, err
	}
	if len(t.Rows) > 1 {
		folder, err := f.keepTable(t)
		if err != nil {
			return exitBroken, err
		}
		if f.format == "text" {
			fmt.Fprintf(f.app.stdout, "\nReports:  %s links to them\n", folder.Path(indexFile))
		}
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupted, nil
	case t.ByClaims && slices.ContainsFunc(t.Rows, func(d report.Distance) bool { return len(d.Surprises) > 0 }):
		return exitInvalid, nil
	case t.ByClaims:
		return exitValid, nil
	}
	return exitOf(t.Outcome()), nil
}

// surprises are the levels whose distance is not what the design claims.
func surprises(d workload.Design, r *explore.Result) (list []string) {
	claim, claims := workload.DistanceOf(d.Name)
	if !claims {
		return nil
	}
	for i, level := range explore.Levels {
		broken := 0
		if b := r.Broken[i]; b != nil {
			broken = b.Deviations()
		}
		if s := claim[i].Surprise(r.Broken[i] != nil, broken, r.Bears()); s != "" {
			list = append(list, fmt.Sprintf("the %s level claims %s", level, s))
		}
	}
	return list
}
