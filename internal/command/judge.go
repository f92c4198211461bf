package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/report"
	"github.com/lockcheck/lockcheck/run"
)

// judged is one run with its verdict, and where it is kept.
type judged struct {
	report.Run
	result run.Result
	folder *histories.Folder // nil: not kept
	raw    []byte            // the history, as long as it is kept nowhere else
}

// quick is how the many runs on the simulated cluster are judged: by the exact
// checks alone where they decide. The run that is shown is judged in full.
var quick = checker.Options{RecheckTime: -1}

// runInMemory runs a cell on the simulated cluster. Nothing is kept unless
// the caller says so: of many runs only few are worth it.
func runInMemory(ctx context.Context, p cluster.Provider, plan run.Plan) (*judged, error) {
	var out bytes.Buffer
	started := time.Now()
	result, err := run.Run(ctx, p, plan, &out)
	if err != nil {
		return &judged{result: result, raw: out.Bytes()}, err
	}
	j, err := judge(ctx, bytes.NewReader(out.Bytes()), quick, result, started)
	if j != nil {
		j.raw = out.Bytes()
	}
	return j, err
}

// runInFolder runs a cell and writes its history to its folder as it happens.
func runInFolder(ctx context.Context, p cluster.Provider, plan run.Plan, store string, watch func(histories.Event)) (*judged, error) {
	folder, err := histories.NewFolder(store, plan.Spec.Design+"-"+plan.Nemesis, time.Now())
	if err != nil {
		return nil, err
	}
	file, err := folder.Create(histories.HistoryFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	started := time.Now()
	plan.Log = folder.KeepLog
	result, runErr := run.Run(ctx, p, plan, file, watch)
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(runErr, err)
	}
	if info, err := file.Stat(); err == nil && info.Size() == 0 {
		// It broke before anything happened: an empty folder explains nothing.
		os.RemoveAll(folder.Dir)
		return nil, runErr
	}
	j, err := judge(ctx, file, checker.Options{}, result, started)
	if j != nil {
		j.folder = &folder
	}
	return j, errors.Join(runErr, err)
}

// judge reads a history back and checks it: the history is all that counts.
func judge(ctx context.Context, history io.Reader, o checker.Options, result run.Result, started time.Time) (*judged, error) {
	took := time.Since(started)
	h, err := histories.ReadJSON(history)
	if err != nil {
		return nil, fmt.Errorf("reading back the history: %w", err)
	}
	begin := time.Now()
	// An interrupted run is judged all the same.
	v := checker.Check(context.WithoutCancel(ctx), h, o)
	return &judged{
		Run: report.Run{
			Header: h.Header, History: h, Verdict: v, Started: started, Took: took,
			Checked: time.Since(begin), Interrupted: result.Interrupted,
		},
		result: result,
	}, nil
}

// save writes the files of a run folder beside the history. It makes the
// folder where there is none yet.
func (j *judged) save(store string) error {
	if j.folder == nil {
		folder, err := histories.NewFolder(store, j.Header.Design+"-"+j.Header.Nemesis, time.Now())
		if err != nil {
			return err
		}
		j.folder = &folder
		if err := folder.Write(histories.HistoryFile, j.raw); err != nil {
			return err
		}
	}
	j.Folder = j.folder.Dir
	if err := j.folder.WriteJSON(histories.ScheduleFile, j.result.Schedule); err != nil {
		return err
	}
	if err := j.folder.WriteJSON(histories.RunFile, j.about()); err != nil {
		return err
	}
	return writeReports(*j.folder, &j.Run)
}

// about is run.json: what the history does not say because it would differ
// between two runs of one seed.
type about struct {
	Version     string        `json:"version"`
	Source      string        `json:"source"`
	Started     time.Time     `json:"started"`
	Took        time.Duration `json:"took"`    // ns
	Checked     time.Duration `json:"checked"` // ns
	Replay      string        `json:"replay"`
	Interrupted bool          `json:"interrupted,omitempty"`
	Refused     string        `json:"faults-refused,omitempty"` // faults that could not be injected
	Unhealed    string        `json:"unhealed,omitempty"`       // what could not be put right
	Killed      []string      `json:"killed-workers,omitempty"` // that did not end by themselves
	Unlogged    string        `json:"unlogged,omitempty"`       // why logs of servers are missing
}

func (j *judged) about() about {
	return about{
		Version: version(), Source: j.result.Source, Started: j.Started.UTC(), Took: j.Took, Checked: j.Checked,
		Replay: j.Replay, Interrupted: j.Interrupted, Refused: textOf(j.result.Faults), Unhealed: textOf(j.result.Unhealed),
		Killed: j.result.Killed, Unlogged: textOf(j.result.Unlogged),
	}
}

// textOf is an error's text on one line; "" of nil.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return oneLine(err)
}

// writeReports writes verdict.json, porcupine.html and report.html. A picture
// that cannot be drawn is left out; the report never is.
func writeReports(folder histories.Folder, r *report.Run) error {
	if v := r.Verdict.First(); v != nil {
		if page, err := checker.Picture(r.History, v.Key, v.From, v.To); err == nil {
			if err := folder.Write(histories.PictureFile, page); err != nil {
				return err
			}
			r.Picture = histories.PictureFile
		}
	}
	var verdict, page bytes.Buffer
	if err := report.JSON(&verdict, *r); err != nil {
		return err
	}
	if err := folder.Write(histories.VerdictFile, verdict.Bytes()); err != nil {
		return err
	}
	if err := report.HTML(&page, *r); err != nil {
		return err
	}
	return folder.Write(histories.ReportFile, page.Bytes())
}
