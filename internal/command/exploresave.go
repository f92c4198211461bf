package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/explore"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/report"
)

// row is what a search found, as a row of the table. The schedules that break a
// level are kept.
func (f *exploreFlags) row(r *explore.Result) (report.Distance, error) {
	d := report.Distance{
		Design: r.Scene.Spec.Design, Source: r.Scene.Source(), Servers: r.Scene.LockServers(),
		Bears: r.Bears(), Undecided: r.Unknown,
	}
	for _, depth := range r.Depths {
		d.Schedules = append(d.Schedules, report.Schedules(depth))
	}
	kept := map[string]*report.BreaksWith{}
	for i, level := range explore.Levels {
		l := report.LevelReach{Level: level, Looked: r.Looked[i], ByKind: map[string]int{}}
		for k := range r.ByKind {
			if b := r.ByKind[k][i]; b != nil && r.Scene.Kinds.Has(sim.Kind(k)) {
				l.ByKind[sim.Kind(k).String()] = b.Deviations()
			}
		}
		if b := r.Broken[i]; b != nil {
			with, err := f.keep(r.Scene, b, kept)
			if err != nil {
				return d, err
			}
			l.Breaks = with
		}
		d.Levels = append(d.Levels, l)
	}
	return d, nil
}

// exploredFile is a schedule of explore, in the folder of its run.
const exploredFile = "explore.json"

// exploredFormat is the version of its format.
const exploredFormat = "lockcheck-explore/1"

// explored is a schedule of explore, as a file.
type explored struct {
	Format     string            `json:"format"`
	Design     string            `json:"design"`
	Workers    int               `json:"workers"`
	Units      int64             `json:"units"`
	Sales      int               `json:"sales"`
	Deviations []exploredDeviate `json:"deviations"`
}

type exploredDeviate struct {
	Point   int    `json:"point"`
	Kind    string `json:"kind"`
	Variant uint8  `json:"variant"`
	Does    string `json:"does,omitempty"` // for people
}

// keep plays a schedule once more and saves it, once for all levels that it breaks.
func (f *exploreFlags) keep(s *explore.Scene, b *explore.Break, kept map[string]*report.BreaksWith) (*report.BreaksWith, error) {
	name := fmt.Sprint(b.Plan)
	with := kept[name]
	if with == nil {
		p, err := s.Play(b.Plan, false)
		if err != nil {
			return nil, err
		}
		j, err := f.save(s, b.Plan, p)
		if err != nil {
			return nil, err
		}
		with = &report.BreaksWith{Deviations: b.Deviations(), Folder: j.Folder, Replay: j.Replay}
		for _, d := range p.Done {
			with.Does = append(with.Does, d.Text)
		}
		kept[name] = with
	}
	one := *with
	one.Property, one.Summary, one.Cause = b.Violation.Property, b.Violation.Summary, b.Violation.Cause
	return &one, nil
}

// save makes the folder of a schedule that was played.
func (f *exploreFlags) save(s *explore.Scene, plan []sim.Placed, p *explore.Played) (report.Run, error) {
	began := time.Now()
	folder, err := histories.NewFolder(f.store, s.Spec.Design+"-"+explore.Name, began)
	if err != nil {
		return report.Run{}, err
	}
	file := explored{Format: exploredFormat, Design: s.Spec.Design, Workers: s.Workers, Units: s.Units, Sales: s.Sales, Deviations: []exploredDeviate{}}
	for i, d := range plan {
		file.Deviations = append(file.Deviations, exploredDeviate{d.Point, d.Kind.String(), d.Variant, p.Done[i].Text})
	}
	var history bytes.Buffer
	rec, err := histories.NewRecorder(&history, p.History.Header)
	if err != nil {
		return report.Run{}, err
	}
	for _, e := range p.Events {
		rec.Record(e)
	}
	r := report.Run{
		Header: p.History.Header, History: p.History, Started: began, Folder: folder.Dir,
		Verdict: checker.Check(context.Background(), p.History, checker.Options{Trust: true}),
		Replay:  f.app.called("lockcheck explore") + " --schedule=" + quote(folder.Path(exploredFile)),
	}
	plain, has := ordinary(p)
	if has {
		err = errors.Join(folder.WriteJSON(histories.ScheduleFile, plain), folder.Write("run.txt", []byte(f.replayOrdinary(s, folder.Path(histories.ScheduleFile))+"\n")))
	}
	about := about{Version: version(), Source: p.History.Header.Source, Started: began.UTC(), Replay: r.Replay}
	return r, errors.Join(err, rec.Err(), folder.Write(histories.HistoryFile, history.Bytes()), folder.WriteJSON(exploredFile, file),
		folder.WriteJSON(histories.RunFile, about), writeReports(folder, &r))
}

// keepTable saves the table beside the runs that it points to.
func (f *exploreFlags) keepTable(t report.Distances) (histories.Folder, error) {
	folder, err := histories.NewFolder(f.store, "distances", t.Started)
	if err != nil {
		return folder, err
	}
	return folder, errors.Join(
		histories.WriteFile(filepath.Join(folder.Dir, "distances.json"), t.JSON),
		histories.WriteFile(filepath.Join(folder.Dir, indexFile), func(w io.Writer) error { return t.HTML(w, folder.Dir) }),
	)
}

// replay plays a saved schedule again.
func (f *exploreFlags) replay(context.Context) (int, error) {
	scene, plan, err := f.read()
	if err != nil {
		return 0, usageError{fmt.Errorf("--schedule=%s: %w", f.schedule, err)}
	}
	p, err := scene.Play(plan, false)
	if errors.Is(err, sim.ErrNoSuchDeviation) {
		return 0, hint(usageError{fmt.Errorf("--schedule=%s: %w", f.schedule, err)}, "it was saved by another version, or changed since")
	}
	if err != nil {
		return exitBroken, err
	}
	for _, d := range p.Done {
		fmt.Fprintf(f.app.stderr, "%.3f s: %s\n", d.At.Seconds(), d.Text)
	}
	r, err := f.save(scene, plan, p)
	if err != nil {
		return exitBroken, err
	}
	return exitOf(r.Verdict.Outcome), f.app.show(r, f.format)
}

// maxExplored is the longest file of a schedule that is read, in bytes.
const maxExplored = 1 << 20

func (f *exploreFlags) read() (*explore.Scene, []sim.Placed, error) {
	data, err := histories.ReadFileUpTo(f.schedule, maxExplored)
	if err != nil {
		return nil, nil, trimPath(err)
	}
	var file explored
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, nil, err
	}
	if file.Format != exploredFormat {
		return nil, nil, fmt.Errorf("format %.40q: want %q", file.Format, exploredFormat)
	}
	d, ok := f.app.designs().Find(file.Design)
	if !ok {
		return nil, nil, fmt.Errorf("there is no design %.40q", file.Design)
	}
	if file.Workers < 2 || file.Workers > mostWorkers || file.Units < 1 || file.Sales < 1 {
		return nil, nil, fmt.Errorf("%d workers, %d units, %d sales: there is no such scene", file.Workers, file.Units, file.Sales)
	}
	var plan []sim.Placed
	for _, d := range file.Deviations {
		k := slices.Index(kindNames(), d.Kind)
		if k < 0 {
			return nil, nil, unknownName("kind of deviation", d.Kind, kindNames())
		}
		plan = append(plan, sim.Placed{Point: d.Point, Deviation: sim.Deviation{Kind: sim.Kind(k), Variant: d.Variant}})
	}
	scene, err := explore.NewScene(d, explore.Size{Workers: file.Workers, Units: file.Units, Sales: file.Sales})
	return scene, plan, err
}

// exploreProgress tells on standard error how far a search is.
type exploreProgress struct {
	mu    sync.Mutex
	w     io.Writer
	live  bool // a terminal
	what  string
	depth int
	begun time.Time // of the depth
	drawn time.Time
}

// unattended is how often a line is written where it does not change in place.
const unattended = 30 * time.Second

func newExploreProgress(w io.Writer, what string) *exploreProgress {
	return &exploreProgress{w: w, live: isTerminal(w), what: what, drawn: time.Now()}
}

// say tells how many of how many schedules were played, and how long the rest of
// them will take.
func (p *exploreProgress) say(now explore.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.depth != now.Deviations {
		p.depth, p.begun = now.Deviations, time.Now()
	}
	every := unattended
	if p.live {
		every = redraw
	}
	if time.Since(p.drawn) < every {
		return
	}
	p.drawn = time.Now()
	line := fmt.Sprintf("%s: %d deviations, %d schedules, %.0f %%", p.what, now.Deviations, now.Played, 100*now.Share)
	if spent := time.Since(p.begun); now.Share > 0 && spent > time.Second {
		left := time.Duration(float64(spent) * (1 - now.Share) / now.Share)
		line += fmt.Sprintf(", about %v to go", left.Round(time.Second))
	}
	if p.live {
		fmt.Fprintf(p.w, "\r%s\x1b[K", line)
		return
	}
	fmt.Fprintln(p.w, line)
}

// done ends the line.
func (p *exploreProgress) done() {
	if p.live {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
