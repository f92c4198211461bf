package command

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/report"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

// tableResult is what became of one cell.
type tableResult struct {
	tableCell
	cell  report.Cell // over all runs
	shown *judged     // the first invalid run, else the last
	speed *benchRow   // of the shown run; bench only
	err   error       // lockcheck or its environment broke

	findings []error // what is wrong with a program under test, of the first run that had any
}

// runner runs the cells of a table.
type runner struct {
	*runFlags // what a cell's plan is made of
	policy
	cluster.Provider
	progress *progress
	each     func(*tableResult) // sees each result while it has its history; may be nil
}

// runTable borrows a cluster, runs the cells and gives the cluster back. The
// results are nil if there was no cluster; an error beside results is one of
// giving it back.
func (f *runFlags) runTable(ctx context.Context, cells []tableCell, each func(*tableResult)) ([]tableResult, error) {
	if err := f.begin(); err != nil {
		return nil, err
	}
	shown := newProgress(f.app.stderr, len(cells))
	provider, err := f.provider(ctx, shown.say)
	if err != nil {
		return nil, err
	}
	r := runner{f, f.policy(), provider, shown, each}
	all := r.runCells(ctx, cells)
	r.progress.done()
	for _, result := range all {
		for _, finding := range result.findings {
			fmt.Fprintf(f.app.stderr, "warning: %s × %s, %v\n", result.design.Name, result.nemesis, finding)
		}
	}
	// Whatever happened, nothing is left running.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return all, provider.Close(closing)
}

// runCells runs all cells: side by side where the provider is parallel, one
// after another where it is not. The results come in the order of the cells.
func (r *runner) runCells(ctx context.Context, cells []tableCell) []tableResult {
	results := make([]tableResult, len(cells))
	var wg sync.WaitGroup
	next := make(chan int)
	for range run.Lanes(r.Provider) {
		wg.Go(func() {
			for i := range next {
				results[i] = r.runCell(ctx, cells[i])
				if r.each != nil && results[i].shown != nil {
					r.each(&results[i])
				}
				if len(cells) > 1 {
					results[i].forget()
				}
				r.progress.cell(results[i])
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
func (r *runner) runCell(ctx context.Context, c tableCell) tableResult {
	claim := r.claimOf(c)
	result := tableResult{tableCell: c}
	result.cell = report.Cell{Design: c.design.Name, Nemesis: c.nemesis, Skipped: c.na}
	if c.design.Claims != nil || c.design.Own == nil {
		result.cell.Claims = promises(claim)
	}
	broke := 0
	repeats := r.repeats(claim)
	for n := range repeats {
		if ctx.Err() != nil || c.na != "" {
			break
		}
		seed := r.seed + uint64(n)
		r.progress.begin(c, n+1, repeats, seed)
		j, err := r.once(ctx, c, n)
		if j != nil && j.Verdict != nil {
			result.take(j)
		}
		if j != nil && result.findings == nil {
			result.findings = j.result.Findings
		}
		if interrupted(ctx, err) {
			break
		}
		if err != nil {
			result.err = errors.Join(result.err, fmt.Errorf("%s × %s, seed %d: %w", c.design.Name, c.nemesis, seed, err))
			result.cell.Error = oneLine(err)
			if broke++; broke == brokenRuns || r.virtual {
				break
			}
			continue
		}
		if r.enough(result.cell) {
			result.cell.Stopped = true
			break
		}
	}
	if result.shown != nil {
		result.err = errors.Join(result.err, r.keep(&result))
	}
	return result
}

// interrupted reports whether a run ended with err because ctx did.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// keep saves the run that is shown, judged once more with all that a single
// run may cost.
func (r *runner) keep(result *tableResult) error {
	shown := result.shown
	if r.virtual {
		shown.Verdict = checker.Check(context.Background(), shown.History, checker.Options{})
	}
	err := shown.save(r.store)
	result.cell.Folder = shown.Folder
	return err
}

// once makes one run of a cell. Of the many that virtual time allows only few are
// worth keeping; one that took real time is kept as it happens.
func (r *runner) once(ctx context.Context, c tableCell, n int) (j *judged, err error) {
	plan := r.plan(c, n)
	if r.virtual {
		var made *run.Judged
		made, err = run.Run(ctx, r.Provider, plan, run.Quick)
		j = reported(made)
	} else if j, err = runInFolder(ctx, r.Provider, plan, r.store, r.progress.event); j == nil {
		return nil, err
	}
	j.Replay = r.replay(c, plan.Spec.Seed)
	if !r.virtual {
		err = errors.Join(err, j.save(r.store))
	}
	return j, err
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

// promises are a claim by level, in the words of reports.
func promises(c workload.Claim) map[checker.Level]report.Promise {
	return map[checker.Level]report.Promise{
		checker.LockLevel:     report.Promise(c.Lock.String()),
		checker.UseLevel:      report.Promise(c.Use.String()),
		checker.BusinessLevel: report.Promise(c.Business.String()),
	}
}
