package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories/record"
	"github.com/lockcheck/lockcheck/report"
)

// records are records of production that check judges in the place of histories.
type records struct {
	rules      *record.Map
	read       func(io.Reader, *record.Map) (*record.Record, error)
	clockError time.Duration
}

// recordsOf is what --from, --map and --clock-error ask for; nil without --from.
func recordsOf(from, mapFile string, clockError time.Duration) (*records, error) {
	r := &records{clockError: clockError}
	switch from {
	case "":
		if mapFile != "" || clockError >= 0 {
			return nil, usagef("--map and --clock-error are for records of production: name the kind with --from=log or --from=otlp")
		}
		return nil, nil
	case "log":
		r.read = record.Log
	case "otlp":
		r.read = record.OTLP
	default:
		return nil, usagef("--from=%s: want log or otlp", from)
	}
	switch {
	case mapFile == "":
		return nil, hint(usagef("--from=%s needs --map: a file that says what the lines or spans mean", from), "docs/from-production.md has one to start from")
	case clockError < 0:
		return nil, hint(usagef("--from=%s needs --clock-error: how far the clock of a host may be from the true time", from), "2ms where NTP is kept and watched, 100ms where nobody looks")
	}
	data, err := os.ReadFile(mapFile)
	if err != nil {
		return nil, usageError{trimPath(err)}
	}
	if r.rules, err = record.ReadMap(data); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", mapFile, err)}
	}
	return r, nil
}

// judge reads a record and judges it. Where it is valid only because the clocks may
// be wrong, that is unknown.
func (r *records) judge(ctx context.Context, in io.Reader, name string, o checker.Options) (report.Run, error) {
	rec, err := r.read(bufio.NewReaderSize(in, 1<<20), r.rules)
	if err != nil {
		return report.Run{}, usageError{fmt.Errorf("%s: %w", name, err)}
	}
	h, err := rec.History(r.clockError)
	if err != nil {
		return report.Run{}, usageError{fmt.Errorf("%s: %w", name, err)}
	}
	begin := time.Now()
	v := checker.Check(ctx, h, o)
	if v.Outcome != checker.Invalid && r.clockError > 0 {
		exact, err := rec.History(0)
		if err != nil {
			return report.Run{}, errors.Join(errors.New("the record without a clock error"), err)
		}
		if first := checker.Check(ctx, exact, o).First(); first != nil {
			v.Doubt(first.Property, fmt.Sprintf("if all clocks were right: %s. They may be wrong by %v each", first.Summary, r.clockError))
		}
	}
	v.Notes = append(v.Notes, rec.Notes()...)
	return report.Run{Header: h.Header, History: h, Verdict: v, Checked: time.Since(begin)}, nil
}
