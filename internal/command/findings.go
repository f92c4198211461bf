package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/run/guide"
	"github.com/lockcheck/lockcheck/triage"
)

// survey makes all runs of its shard and groups what they found by signature.
func (s *searcher) survey(ctx context.Context) (int, error) {
	seeds, err := s.f.seedsOfShard()
	if err != nil {
		return 0, err
	}
	part := triage.Part{
		Version: version(), Design: s.cell.design.Name, Nemesis: s.cell.nemesis, Args: s.f.argsOf(s.cell),
		Seed: s.f.seed, Runs: s.f.runs, Shard: s.f.shard,
	}
	var mu sync.Mutex
	begun := cpuSeconds()
	o := guide.Options{Runs: seeds.count, Plain: true}
	r, err := guide.Search(ctx, s.provider, func(i int) run.Plan { return s.f.plan(s.cell, seeds.first+i*seeds.step) }, o, func(j *run.Judged) bool {
		mu.Lock()
		defer mu.Unlock()
		part.Source = j.Source
		s.note(&part, j)
		return false
	})
	if err != nil {
		return 0, err
	}
	part.Tried, part.States, part.CPU = r.Tried, r.States, cpuSeconds()-begun
	folder, err := histories.NewFolder(s.f.store, "findings", time.Now())
	if err != nil {
		return 0, err
	}
	file := triage.Merge(triage.File{Parts: []triage.Part{part}})
	if err := histories.WriteFile(folder.Path(triage.FindingsFile), file.Write); err != nil {
		return 0, err
	}
	s.a.printTotals(file, file.Totals())
	fmt.Fprintf(s.a.stdout, "\nFindings: %s\n", folder.Path(triage.FindingsFile))
	if ctx.Err() != nil {
		return exitInterrupted, nil
	}
	return exitOfFindings(part.Findings), nil
}

func exitOfFindings[T any](findings []T) int {
	if len(findings) > 0 {
		return exitInvalid
	}
	return exitValid
}

// note counts a run under each signature that it has.
func (s *searcher) note(part *triage.Part, j *run.Judged) {
	had := map[triage.Signature]bool{}
	for _, v := range j.Verdict.Violations {
		sign := triage.Of(j.History, v)
		if had[sign] || s.property != "" && v.Property != s.property {
			continue
		}
		had[sign] = true
		part.Add(sign, triage.Best{Seed: j.Plan.Spec.Seed, At: v.To, Summary: v.Summary})
	}
}

// stride is every step-th of some numbers.
type stride struct{ first, step, count int }

// seedsOfShard are the seeds of the shard, counted from the first of the search.
func (f *runFlags) seedsOfShard() (stride, error) {
	if f.shard == "" {
		return stride{0, 1, f.runs}, nil
	}
	var i, n int
	if _, err := fmt.Sscanf(f.shard, "%d/%d", &i, &n); err != nil || i < 1 || i > n || f.shard != fmt.Sprintf("%d/%d", i, n) {
		return stride{}, usagef("--shard=%s: want i/n with 1 ≤ i ≤ n", f.shard)
	}
	return stride{i - 1, n, max(0, (f.runs-i+n)/n)}, nil
}

// argsOf are the flags that make a run of the cell again, but for its seed.
func (f *runFlags) argsOf(c tableCell) []string {
	var args []string
	if c.design.Own == nil {
		args = append(args, "--design="+c.design.Name)
	}
	if f.schedule == "" {
		args = append(args, "--nemesis="+c.nemesis)
	}
	for name, value := range f.settingsOf(c.design) {
		switch name {
		case "property", "shrink-time", "guided":
		default:
			args = append(args, "--"+name+"="+value)
		}
	}
	slices.Sort(args)
	return args
}

// mergeFindings joins the findings of shards, plays the best runs again and says what has
// become of each finding since an earlier night.
func (a *app) mergeFindings(ctx context.Context, names []string, out, before string, confirm bool) (int, error) {
	var files []triage.File
	for _, name := range names {
		f, err := readFindings(name)
		if err != nil {
			return 0, err
		}
		files = append(files, f)
	}
	m := triage.Merge(files...)
	all := m.Totals()
	found := len(all)
	if before != "" {
		earlier, err := readFindings(before)
		if err != nil {
			return 0, err
		}
		m, all = m.Since(earlier)
	}
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return 0, err
		}
		if err := histories.WriteFile(filepath.Join(out, triage.FindingsFile), m.Write); err != nil {
			return 0, err
		}
	}
	a.printTotals(m, all)
	if confirm {
		if err := a.confirm(ctx, all); err != nil {
			return exitBroken, err
		}
	}
	return exitOfFindings(make([]struct{}, found)), nil
}

// confirm plays the best runs of each finding again. One that does not show it again is a
// mistake of lockcheck: a seed decides a run.
func (a *app) confirm(ctx context.Context, all []triage.Total) error {
	var errs []error
	runs := 0
	for _, t := range all {
		for _, b := range t.Best {
			if ctx.Err() != nil {
				return errors.Join(append(errs, ctx.Err())...)
			}
			runs++
			if err := a.again(ctx, t, b); err != nil {
				errs = append(errs, fmt.Errorf("%s × %s, seed %d: %w", t.Design, t.Nemesis, b.Seed, err))
			}
		}
	}
	if len(errs) == 0 && runs > 0 {
		fmt.Fprintf(a.stdout, "\nEach of the %d best runs was made again and showed its finding again.\n", runs)
	}
	return errors.Join(errs...)
}

// again plays one run and wants its finding.
func (a *app) again(ctx context.Context, t triage.Total, b triage.Best) error {
	f := newRunFlags(a, "search")
	if err := f.set.Parse(slices.Concat(t.Args, []string{fmt.Sprintf("--seed=%d", b.Seed)})); err != nil {
		return err
	}
	cells, err := f.cells(ctx)
	if err != nil {
		return err
	}
	if len(cells) != 1 {
		return fmt.Errorf("its flags name %d cells", len(cells))
	}
	provider, err := f.driver.New(ctx, cluster.Config{})
	if err != nil {
		return err
	}
	j, err := run.Run(ctx, provider, f.plan(cells[0], 0), run.Quick)
	if err != nil {
		return err
	}
	for _, v := range j.Verdict.Violations {
		if triage.Of(j.History, v) == t.Signature {
			return nil
		}
	}
	return fmt.Errorf("the run was made again by lockcheck %s and does not show %s any more (found by %s)", version(), t.Signature, t.Version)
}

// printTotals prints a table of findings.
func (a *app) printTotals(f triage.File, all []triage.Total) {
	runs, seconds, found := 0, 0.0, 0
	for _, t := range all {
		found += min(t.Count, 1)
	}
	for _, p := range f.Parts {
		runs, seconds = runs+p.Tried, seconds+p.CPU
	}
	fmt.Fprintf(a.stdout, "%d findings in %d runs, %.1f CPU seconds\n", found, runs, seconds)
	for _, t := range all {
		state := ""
		if t.State != "" {
			state = fmt.Sprintf("  %s", t.State)
		}
		fmt.Fprintf(a.stdout, "\n%s × %s%s\n  %s\n", t.Design, t.Nemesis, state, t.Signature)
		if t.State == triage.Gone || t.State == triage.Ongoing || t.State == triage.Back {
			fmt.Fprintf(a.stdout, "  first on night %d, seed %d, lockcheck %s, %.2g of the runs\n", t.First.Night, t.First.Seed, t.First.Version, t.First.Rate)
		}
		if t.Count > 0 {
			var seeds []string
			for _, b := range t.Best {
				seeds = append(seeds, fmt.Sprint(b.Seed))
			}
			fmt.Fprintf(a.stdout, "  %d of %d runs, best seeds %s: %s\n", t.Count, t.Runs, strings.Join(seeds, ", "), t.Best[0].Summary)
		}
	}
}

func readFindings(name string) (triage.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return triage.File{}, usageError{trimPath(err)}
	}
	defer file.Close()
	f, err := triage.Read(io.LimitReader(file, maxMatrix))
	if err != nil {
		return triage.File{}, usageError{fmt.Errorf("%s: %w", name, err)}
	}
	return f, nil
}
