package command

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/report"
	"github.com/lockcheck/lockcheck/workload"
)

// claim is what an article says of a design's speed, as a ratio to another.
type claim struct {
	design, than string
	ratio        float64
	text         string
}

// articleClaims stand beside what was measured. The articles give no absolute
// figures.
var articleClaims = []claim{
	{"spin-lock", "row-lock", 15, "article 1: the coroutine lock is 15 times the MySQL row lock"},
	{"spin-lock", "redis-lock", 1.89, "article 1: the coroutine lock is 89 % above the plain Redis lock"},
	{"redis-lock", "row-lock", 15, "article 1, in another place: the Redis lock is 15 times the row lock"},
}

// benchRow is the speed of one design.
type benchRow struct {
	design        string
	sells         int // ok
	tries         int
	oversold      int64
	perSecond     float64
	p50, p95, p99 time.Duration
	na            string
}

// benchDefaults are the articles' setting.
var benchDefaults = map[string]string{
	"nemesis": nemesis.None, "concurrency": "1000", "per-host": "100", "skus": "1", "stock": "10000",
	"work": "100us", "think": "0s", "qty": "1", "cluster": "docker",
}

var benchFormats = []string{"text", "json"}

const (
	benchHasNoFaults = "bench measures speed without faults"
	benchRunsOnce    = "bench makes one run of each design"
)

// notOfBench are the flags of run that mean nothing here.
var notOfBench = unheeded{
	"nemesis": benchHasNoFaults, "variant": benchHasNoFaults, "schedule": benchHasNoFaults,
	"interval": benchHasNoFaults, "down-after": benchHasNoFaults,
	"expect": "bench compares speed with the articles, not verdicts with claims",
	"runs":   benchRunsOnce, "all-runs": benchRunsOnce,
}

// runBench measures the designs side by side, without faults: the articles'
// comparison.
func runBench(ctx context.Context, a *app, args []string) (int, error) {
	f := newRunFlags(a, "bench")
	notOfBench.hide(f.set)
	f.set.Lookup("format").Usage = "output format: text or json"
	f.set.Lookup("time-limit").Usage = "time that each design sells"
	if err := setDefaults(f.set, benchDefaults); err != nil {
		return 0, err
	}
	if err := a.parse(f.set, args, 0, 0); err != nil {
		return 0, err
	}
	if err := notOfBench.refuse(f.set); err != nil {
		return 0, err
	}
	if !slices.Contains(benchFormats, f.format) {
		return 0, unknownName("format of bench", f.format, benchFormats)
	}
	f.spec.Batches = 1
	f.runs = 1
	cells, err := f.cells(ctx)
	if err != nil {
		return 0, err
	}
	all, err := f.runTable(ctx, cells, func(r *tableResult) { r.speed = measure(r.design, r.shown) })
	if err != nil {
		return exitBroken, err
	}
	return a.concludeBench(ctx, f.format, all)
}

func (a *app) concludeBench(ctx context.Context, format string, all []tableResult) (int, error) {
	var rows []benchRow
	var errs []error
	var sources []string
	for _, r := range all {
		row := benchRow{design: r.design.Name, na: r.na}
		switch {
		case r.err != nil:
			row.na = "could not be run"
			errs = append(errs, r.err)
		case r.shown != nil && r.shown.Interrupted:
			row.na = "interrupted"
		case r.shown == nil && r.na == "":
			row.na = "not run"
		case r.speed != nil:
			row = *r.speed
			if s := r.shown.Header.Source; !slices.Contains(sources, s) {
				sources = append(sources, s)
			}
		}
		rows = append(rows, row)
	}
	if format == "json" {
		errs = append(errs, benchJSON(a.stdout, rows, strings.Join(sources, "; ")))
	} else {
		a.printBench(rows, strings.Join(sources, "; "))
	}
	if err := errors.Join(errs...); err != nil {
		return exitBroken, err
	}
	if ctx.Err() != nil {
		return exitInterrupted, nil
	}
	return exitValid, nil
}

// measure computes the speed of one run from its history.
func measure(d workload.Design, j *judged) *benchRow {
	row := &benchRow{design: d.Name, oversold: j.Verdict.Counts.Oversold}
	var latencies []time.Duration
	var first, last int64
	for _, op := range j.History.Ops {
		if op.F != histories.Sell || op.Final || op.Return == histories.Never {
			continue
		}
		if row.tries == 0 {
			first = op.Call
		}
		row.tries++
		latencies = append(latencies, time.Duration(op.Return-op.Call))
		if op.Outcome == histories.OK {
			row.sells++
			last = max(last, op.Return)
		}
	}
	if last > first {
		row.perSecond = float64(row.sells) / time.Duration(last-first).Seconds()
	}
	slices.Sort(latencies)
	row.p50, row.p95, row.p99 = report.Quantile(latencies, 0.5), report.Quantile(latencies, 0.95), report.Quantile(latencies, 0.99)
	return row
}
