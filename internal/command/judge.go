package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/checker/linear"
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/report"
	"github.com/lockcheck/lockcheck/run"
)

// judged is one run with its verdict, and where it is kept.
type judged struct {
	report.Run
	result run.Result
	plan   run.Plan
	folder *histories.Folder // nil: not kept
	raw    []byte            // the history, as long as it is kept nowhere else
}

// reported is a run as it is printed and kept.
func reported(j *run.Judged) *judged {
	all := &judged{
		Run:    report.Run{History: j.History, Verdict: j.Verdict, Started: j.Started, Took: j.Took, Checked: j.Checked, Interrupted: j.Interrupted},
		result: j.Result, plan: j.Plan, raw: j.Recorded,
	}
	if j.History != nil {
		all.Header = j.History.Header
	}
	return all
}

// runInFolder runs a plan and writes its history to its folder as it happens.
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
	plan.Log = folder.KeepLog
	j := &run.Judged{Plan: plan, Started: time.Now()}
	var runErr error
	j.Result, runErr = run.Record(ctx, p, plan, file, watch)
	j.Took = time.Since(j.Started)
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(runErr, err)
	}
	if info, err := file.Stat(); err == nil && info.Size() == 0 {
		// It broke before anything happened: an empty folder explains nothing.
		os.RemoveAll(folder.Dir)
		return nil, runErr
	}
	if err := j.Judge(ctx, file, checker.Options{}); err != nil {
		return nil, errors.Join(runErr, err)
	}
	kept := reported(j)
	kept.folder = &folder
	return kept, runErr
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
		if page, err := linear.Picture(r.History, v.Key, v.From, v.To); err == nil {
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
