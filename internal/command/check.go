package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/report"
)

// runCheck judges histories that are there already.
func runCheck(ctx context.Context, a *app, args []string) (int, error) {
	f := a.flags("check")
	format := f.String("format", "text", "text, json, junit or markdown")
	budget := budgetFlag(f)
	hold := f.Duration("max-hold", 0, "a longer hold of a lock is a violation (default: what the header says)")
	zombie := f.Duration("max-zombie", 0, "so is a lock that is refused for longer though nobody holds it (default: what the header says)")
	from := f.String("from", "", "the files are no histories but records of production: log, or otlp (traces); needs --map")
	mapFile := f.String("map", "", "file that says what the lines of a log or the spans of a trace mean (docs/from-production.md)")
	clockError := f.Duration("clock-error", -1, "how far the clock of a host may be from the true time; each hold in a record is that much shorter at both ends")
	if err := a.parse(f, args, 1, 1<<20); err != nil {
		return 0, err
	}
	if err := checkFormat(*format); err != nil {
		return 0, err
	}
	produced, err := recordsOf(*from, *mapFile, *clockError)
	if err != nil {
		return 0, err
	}
	if *hold < 0 || *zombie < 0 {
		return 0, usagef("--max-hold=%v, --max-zombie=%v: must not be negative", *hold, *zombie)
	}
	if *budget < 1 {
		return 0, usagef("--budget=%d: must be at least 1", *budget)
	}
	o := checker.Options{Budget: *budget, MaxHold: *hold, MaxZombie: *zombie}
	worst := checker.Outcome("")
	var runs []report.Run
	for _, name := range f.Args() {
		r, err := a.checkFile(ctx, name, produced, o)
		if err != nil {
			return 0, errors.Join(err, a.junit(runs))
		}
		if f.NArg() > 1 {
			r.File = name
		}
		if *format == "junit" { // one document of them all
			runs = append(runs, r)
		} else if err := a.show(r, *format); err != nil {
			return 0, err
		}
		worst = checker.Worse(worst, r.Verdict.Outcome)
	}
	return exitOf(worst), a.junit(runs)
}

// junit prints the runs that were judged as one document; none of no run.
func (a *app) junit(runs []report.Run) error {
	if runs == nil {
		return nil
	}
	return report.JUnit(a.stdout, runs...)
}

// budgetFlag is --budget of the verbs that judge histories.
func budgetFlag(f *pflag.FlagSet) *int64 {
	return f.Int64("budget", checker.DefaultBudget, "steps that searches for a legal order may take, of all keys together; each may keep 16 bytes")
}

// checkFile is judgeFile that can be interrupted at any moment. Neither a read nor
// a check looks at ctx all the time: they are left behind.
func (a *app) checkFile(ctx context.Context, name string, produced *records, o checker.Options) (report.Run, error) {
	type judged struct {
		run report.Run
		err error
	}
	done := make(chan judged, 1)
	go func() {
		r, err := a.judgeFile(ctx, name, produced, o)
		done <- judged{r, err}
	}()
	var j judged
	select {
	case j = <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // a check that noticed is no whole check
		return report.Run{}, fmt.Errorf("%s: interrupted before it was judged", name)
	}
	return j.run, j.err
}

// judgeFile reads and judges one history; "-" is standard input.
func (a *app) judgeFile(ctx context.Context, name string, produced *records, o checker.Options) (report.Run, error) {
	in := a.stdin
	if name != "-" {
		file, err := openHistory(name)
		if err != nil {
			return report.Run{}, err
		}
		defer file.Close()
		collectInTime(file)
		in = file
	}
	if produced != nil {
		return produced.judge(ctx, in, name, o)
	}
	h, err := histories.ReadAny(bufio.NewReaderSize(in, 1<<20))
	if err != nil {
		return report.Run{}, usageError{fmt.Errorf("%s: %w", name, err)}
	}
	begin := time.Now()
	v := checker.Check(ctx, h, o)
	return report.Run{Header: h.Header, History: h, Verdict: v, Checked: time.Since(begin)}, nil
}

// collectInTime keeps garbage from filling the memory while a large history is
// judged: the operations alone take about three times the room of their file.
// The user's own GOMEMLIMIT counts.
func collectInTime(file *os.File) {
	const least = 900 << 20
	info, err := file.Stat()
	if err == nil && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(max(least, 5*info.Size()))
	}
}

// openHistory opens the history of what the user named.
func openHistory(name string) (*os.File, error) {
	file, err := os.Open(historyOf(name))
	if err == nil {
		return file, nil
	}
	if _, no := os.Stat(filepath.Join(name, matrixFile)); no == nil {
		return nil, hint(usagef("%s is the table of a run over many cells", name), "name the folder of one run; %s links to them", filepath.Join(name, indexFile))
	}
	if runs, _ := filepath.Glob(filepath.Join(name, "*", histories.HistoryFile)); len(runs) > 0 {
		return nil, hint(usagef("%s is a store of runs", name), "name the folder of one run, for example %s", filepath.Dir(runs[len(runs)-1]))
	}
	return nil, usageError{trimPath(err)}
}

// historyOf is the history file of what the user named: a file, or a run folder.
func historyOf(name string) string {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return histories.Folder{Dir: name}.Path(histories.HistoryFile)
	}
	return name
}

// trimPath turns "open x: no such file or directory" into "x: no such file …".
func trimPath(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}

// show prints one judged run.
func (a *app) show(r report.Run, format string) error {
	switch format {
	case "json":
		return report.JSON(a.stdout, r)
	case "junit":
		return report.JUnit(a.stdout, r)
	case "markdown":
		return report.Markdown(a.stdout, r)
	}
	return report.Text(a.stdout, r, a.style(a.stdout))
}

func (a *app) style(w io.Writer) report.Style { return report.Style{Colour: wantsColour(w)} }
