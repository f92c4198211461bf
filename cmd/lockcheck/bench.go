package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/nemesis"
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

// runBench measures the designs side by side, without faults: the articles'
// comparison.
func runBench(ctx context.Context, a *app, args []string) (int, error) {
	f := newRunFlags(a, "bench")
	for name, value := range map[string]string{
		"nemesis": nemesis.None, "concurrency": "1000", "per-host": "100", "skus": "1", "stock": "10000",
		"work": "100us", "think": "0s", "qty": "1", "cluster": onDocker,
	} {
		flag := f.set.Lookup(name)
		flag.DefValue = value
		if err := flag.Value.Set(value); err != nil {
			return 0, err
		}
	}
	if err := parse(f.set, args, 0, 0); err != nil {
		return 0, err
	}
	f.spec.Batches = 1
	f.runs = max(f.runs, 1)
	f.measure = true
	cells, err := f.cells()
	if err != nil {
		return 0, err
	}
	if err := f.begin(a); err != nil {
		return exitBroken, err
	}
	provider, err := f.provider(ctx)
	if err != nil {
		return 0, err
	}
	progress := newProgress(a.stderr, len(cells))
	all := f.runCells(ctx, provider, cells, progress)
	progress.done()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := provider.Close(closing); err != nil {
		return 0, err
	}
	return a.concludeBench(all)
}

func (a *app) concludeBench(all []tableResult) (int, error) {
	var rows []benchRow
	var errs []error
	var sources []string
	for _, r := range all {
		row := benchRow{design: r.design.Name, na: r.na}
		switch {
		case r.err != nil:
			row.na = "could not be run"
			errs = append(errs, r.err)
		case r.speed != nil:
			row = *r.speed
			if s := r.shown.Header.Source; !slices.Contains(sources, s) {
				sources = append(sources, s)
			}
		}
		rows = append(rows, row)
	}
	a.printBench(rows, strings.Join(sources, "; "))
	if err := errors.Join(errs...); err != nil {
		return exitBroken, err
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
	row.p50, row.p95, row.p99 = quantile(latencies, 50), quantile(latencies, 95), quantile(latencies, 99)
	return row
}

// quantile is the percent quantile of sorted durations, 0 of none.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

func (a *app) printBench(rows []benchRow, source string) {
	base := speedOf(rows, "row-lock")
	fmt.Fprintf(a.stdout, "no faults, on %s\n\n", source)
	fmt.Fprintf(a.stdout, "%-20s %7s %9s %7s %7s %7s %6s %8s\n", "design", "sells/s", "×row-lock", "p50", "p95", "p99", "sold %", "oversold")
	for _, r := range rows {
		if r.na != "" {
			fmt.Fprintf(a.stdout, "%-20s %s\n", r.design, r.na)
			continue
		}
		ratio := "-"
		if base > 0 {
			ratio = fmt.Sprintf("%.2f", r.perSecond/base)
		}
		sold := 0.0
		if r.tries > 0 {
			sold = 100 * float64(r.sells) / float64(r.tries)
		}
		fmt.Fprintf(a.stdout, "%-20s %7.0f %9s %7s %7s %7s %6.1f %8d\n", r.design, r.perSecond, ratio,
			short(r.p50), short(r.p95), short(r.p99), sold, r.oversold)
	}
	fmt.Fprintln(a.stdout)
	for _, c := range articleClaims {
		measured := "not measured"
		if slow := speedOf(rows, c.than); slow > 0 && speedOf(rows, c.design) > 0 {
			measured = fmt.Sprintf("measured %.2f", speedOf(rows, c.design)/slow)
		}
		fmt.Fprintf(a.stdout, "%s\n    %s / %s: claimed %.2f, %s\n", c.text, c.design, c.than, c.ratio, measured)
	}
}

func speedOf(rows []benchRow, design string) float64 {
	i := slices.IndexFunc(rows, func(r benchRow) bool { return r.design == design })
	if i < 0 {
		return 0
	}
	return rows[i].perSecond
}

// short prints a duration in three digits or so.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return strings.TrimSpace(d.Round(time.Microsecond).String())
}
