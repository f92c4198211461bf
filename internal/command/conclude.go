package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/report"
)

// conclude prints the results and answers the exit code.
func (a *app) conclude(ctx context.Context, f *runFlags, all []tableResult, started time.Time) (int, error) {
	var errs []error
	m := f.matrix(all, started)
	m.Interrupted = ctx.Err() != nil
	for _, r := range all {
		errs = append(errs, r.err)
	}
	errs = append(errs, a.print(f, all, m))
	if err := errors.Join(errs...); err != nil {
		return exitBroken, err
	}
	if m.Interrupted {
		return exitInterrupted, nil
	}
	return exitOfMatrix(m), nil
}

// exitOfMatrix is the exit code of a table: with claims, 0 means that every
// verdict is what the design claims.
func exitOfMatrix(m report.Matrix) int {
	if !m.ByClaims {
		return exitOf(m.Outcome())
	}
	for _, c := range m.Cells {
		if len(c.Surprises()) > 0 {
			return exitInvalid
		}
	}
	return exitValid
}

// matrix is the table of all results.
func (f *runFlags) matrix(all []tableResult, started time.Time) report.Matrix {
	m := report.Matrix{
		Version: version(), Seed: f.seed, Started: started, Took: time.Since(started),
		Settings: f.settings(), ByClaims: f.expect == "claims",
	}
	for _, r := range all {
		m.Cells = append(m.Cells, r.cell)
		if r.shown == nil {
			continue
		}
		switch source := r.shown.Header.Source; {
		case m.Source == "":
			m.Source = source
		case m.Source != source && f.driver.Virtual:
			m.Source = "simulated servers"
		}
	}
	return m
}

// oneRun reports whether a single cell is shown as one run in full. That
// depends on the flags alone, never on how the runs came out: people see a run
// with the count, JSON is always the table, JUnit and Markdown are one run where
// --runs=1 asked for one.
func (f *runFlags) oneRun() bool {
	return f.format == "text" || f.format != "json" && f.runs == 1
}

// inWords says which of several runs is shown, and how many were invalid. Runs
// that ended at the first invalid one are no rate.
func (f *runFlags) inWords(r tableResult) string {
	shown := fmt.Sprintf("run %d, seed %d", r.shown.Header.Seed-f.seed+1, r.shown.Header.Seed)
	if r.cell.Stopped {
		return fmt.Sprintf("broke at run %d, which ended the runs (--all-runs makes them all): this is %s", r.cell.Runs, shown)
	}
	return fmt.Sprintf("%d of %d runs invalid: this is %s", r.cell.Invalid, r.cell.Runs, shown)
}

// print shows one run in full, or a table of cells.
func (a *app) print(f *runFlags, all []tableResult, m report.Matrix) error {
	if len(all) == 1 && !m.ByClaims && f.oneRun() {
		r := all[0]
		if r.shown == nil {
			if m.Interrupted {
				return errors.New("interrupted before anything was recorded")
			}
			return nil
		}
		if f.format == "text" && f.runs != 1 && (r.cell.Runs > 1 || r.cell.Stopped) {
			fmt.Fprintf(a.stdout, "%s\n\n", f.inWords(r))
		}
		return a.show(r.shown.Run, f.format)
	}
	folder, err := f.saveMatrix(m)
	if err != nil {
		return err
	}
	if err := showMatrix(a.stdout, f.format, m, a.style(a.stdout)); err != nil || f.format != "text" {
		return err
	}
	which := "--design=NAME"
	if f.exec.command != "" && !f.set.Changed("design") {
		which = "--exec=" + quote(f.exec.command)
		for _, flag := range []string{"name", "topology", "time"} {
			if f.set.Changed(flag) {
				which += " --" + flag + "=" + f.set.Lookup(flag).Value.String()
			}
		}
	}
	_, err = fmt.Fprintf(a.stdout, "\nReports:  %s links to them\nOne cell: %s %s --nemesis=NAME --seed=N --runs=1\n", folder.Path(indexFile), a.called("lockcheck run"), which)
	return err
}

// The files of a table in the store.
const (
	matrixFile = "matrix.json"
	indexFile  = "index.html"
)

// saveMatrix keeps the table beside the runs that it points to.
func (f *runFlags) saveMatrix(m report.Matrix) (histories.Folder, error) {
	folder, err := histories.NewFolder(f.store, "table", m.Started)
	if err != nil {
		return folder, err
	}
	return folder, writeMatrix(folder.Dir, m)
}

// writeMatrix writes matrix.json and index.html into a folder.
func writeMatrix(dir string, m report.Matrix) error {
	for name, write := range map[string]func(io.Writer) error{
		matrixFile: m.JSON,
		indexFile:  func(w io.Writer) error { return m.HTML(w, dir) },
	} {
		if err := histories.WriteFile(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	return nil
}

// showMatrix prints a table in one of its forms.
func showMatrix(w io.Writer, format string, m report.Matrix, style report.Style) error {
	switch format {
	case "json":
		return m.JSON(w)
	case "junit":
		return m.JUnit(w)
	case "markdown":
		return m.Markdown(w)
	}
	return m.Text(w, style)
}
