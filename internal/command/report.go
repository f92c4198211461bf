package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/report"
	"github.com/lockcheck/lockcheck/triage"
)

// runReport rebuilds the reports of a run from its history, or merges tables.
func runReport(ctx context.Context, a *app, args []string) (int, error) {
	f := a.flags("report")
	format := f.String("format", "text", "text, json, junit or markdown")
	merge := f.Bool("merge", false, "merge the matrix.json files named into one table, or the findings.json files into one list")
	confirm := f.Bool("confirm", true, "with --merge of findings: make the best runs again, which must show their findings again")
	out := f.String("out", "", "with --merge: folder for the merged file and, of tables, index.html")
	before := f.String("before", "", "with --merge: an earlier matrix.json or findings.json to compare with")
	budget := budgetFlag(f)
	if err := a.parse(f, args, 1, 1<<20); err != nil {
		return 0, err
	}
	if *budget < 1 {
		return 0, usagef("--budget=%d: must be at least 1", *budget)
	}
	if err := checkFormat(*format); err != nil {
		return 0, err
	}
	if *merge && filepath.Base(f.Arg(0)) == triage.FindingsFile {
		return a.mergeFindings(ctx, f.Args(), *out, *before, *confirm)
	}
	if *merge {
		return a.mergeTables(f.Args(), *format, *out, *before)
	}
	if *out != "" || *before != "" {
		return 0, usagef("report: --out and --before need --merge")
	}
	if f.NArg() > 1 {
		return 0, usagef("report: %q is one argument too many", f.Arg(1))
	}
	return a.rebuild(ctx, f.Arg(0), *format, *budget)
}

// rebuild judges a run's history again and writes its reports anew.
func (a *app) rebuild(ctx context.Context, name, format string, budget int64) (int, error) {
	r, err := a.checkFile(ctx, name, nil, checker.Options{Budget: budget})
	if err != nil {
		return 0, err
	}
	folder := histories.Folder{Dir: name}
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		folder.Dir = filepath.Dir(name)
	}
	r.Folder = folder.Dir
	remember(folder, &r)
	if err := writeReports(folder, &r); err != nil {
		return 0, err
	}
	fmt.Fprintln(a.stderr, "wrote", folder.Path(histories.ReportFile))
	return exitOf(r.Verdict.Outcome), a.show(r, format)
}

// remember takes from run.json what the history does not know. A run without
// one is reported without it.
func remember(folder histories.Folder, r *report.Run) {
	data, err := histories.ReadFileUpTo(folder.Path(histories.RunFile), maxAbout)
	if err != nil {
		return
	}
	var about about
	if json.Unmarshal(data, &about) == nil {
		r.Started, r.Took, r.Replay, r.Interrupted = about.Started, about.Took, about.Replay, about.Interrupted
	}
}

// maxAbout and maxMatrix are the longest run.json and matrix.json that are
// read, in bytes.
const (
	maxAbout  = 4 << 20
	maxMatrix = 256 << 20
)

// mergeTables makes one table of several, compared with an earlier one.
func (a *app) mergeTables(names []string, format, out, before string) (int, error) {
	var parts []report.Matrix
	for _, name := range names {
		m, err := readMatrix(name)
		if err != nil {
			return 0, err
		}
		parts = append(parts, m)
	}
	m := report.Merge(parts...)
	if before != "" {
		earlier, err := readMatrix(before)
		if err != nil {
			return 0, err
		}
		m.Changes = report.Compare(earlier, m)
	}
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return 0, err
		}
		if err := writeMatrix(out, m); err != nil {
			return 0, err
		}
	}
	return exitOfMatrix(m), showMatrix(a.stdout, format, m, a.style(a.stdout))
}

func readMatrix(name string) (report.Matrix, error) {
	file, err := os.Open(name)
	if err != nil {
		return report.Matrix{}, usageError{trimPath(err)}
	}
	defer file.Close()
	m, err := report.ReadMatrix(io.LimitReader(file, maxMatrix))
	if err != nil {
		return report.Matrix{}, usageError{fmt.Errorf("%s: %w", name, err)}
	}
	return m, nil
}
