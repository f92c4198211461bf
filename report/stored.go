package report

import (
	"cmp"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// stored is one run of a store.
type stored struct {
	Name     string
	Document // zero but for Started if the run was not judged
	Judged   bool
	Report   bool // there is a report.html
	Problem  string
}

// Outcome is the verdict, or "" if the run was not judged.
func (s stored) Outcome() checker.Outcome {
	if !s.Judged {
		return ""
	}
	return s.Verdict.Outcome
}

// Title is the cell of the run.
func (s stored) Title() string {
	if !s.Judged {
		return s.Name
	}
	return title(s.Design, s.Nemesis)
}

// Broken are the properties that the run broke.
func (s stored) Broken() string {
	return properties(brokenOf(s.Verdict))
}

// brokenOf are the properties that a verdict found broken.
func brokenOf(v *checker.Verdict) []checker.Property {
	var list []checker.Property
	for _, r := range v.Results {
		if r.Outcome == checker.Invalid {
			list = append(list, r.Property)
		}
	}
	return list
}

// maxVerdict is the largest verdict.json that is read, in bytes.
const maxVerdict = 8 << 20

// readRun reads what a list needs of one run folder.
func readRun(store plainFS, name string) (stored, error) {
	s := stored{Name: name}
	f, err := store.Open(name + "/" + histories.VerdictFile)
	if err != nil {
		if _, err := store.Stat(name + "/" + histories.HistoryFile); err != nil {
			return stored{}, errNoRun
		}
		s.Problem = "not judged"
	} else {
		defer f.Close()
		s.Document, err = ReadDocument(io.LimitReader(f, maxVerdict))
		if s.Judged = err == nil; err != nil {
			s.Problem = err.Error()
		}
	}
	_, err = store.Stat(name + "/" + histories.ReportFile)
	s.Report = err == nil
	s.Started = when(name, s.Document)
	return s, nil
}

// runCache remembers the runs of a store as long as their verdicts do not
// change: a list of a thousand runs is asked for again with each filter.
type runCache struct {
	store plainFS
	mu    sync.Mutex
	known map[string]cached
}

type cached struct {
	changed time.Time
	run     stored
}

func newRunCache(store plainFS) *runCache { return &runCache{store: store, known: map[string]cached{}} }

// all are the runs of the store, newest first.
func (c *runCache) all() ([]stored, error) {
	entries, err := fs.ReadDir(c.store, ".")
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[string]cached{}
	var list []stored
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		run, changed, err := c.one(e.Name())
		if err != nil {
			continue
		}
		next[e.Name()] = cached{changed, run}
		list = append(list, run)
	}
	c.known = next
	slices.SortStableFunc(list, func(a, b stored) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.Name, a.Name))
	})
	return list, nil
}

// one is a run from memory if its verdict is the one that was read.
func (c *runCache) one(name string) (stored, time.Time, error) {
	changed := time.Time{}
	if info, err := c.store.Stat(name + "/" + histories.VerdictFile); err == nil {
		changed = info.ModTime()
	}
	if known, ok := c.known[name]; ok && !changed.IsZero() && known.changed.Equal(changed) {
		return known.run, changed, nil
	}
	run, err := readRun(c.store, name)
	return run.listed(), changed, err
}

// listed is what a list shows of a run. The verdicts of a store can be many
// megabytes each and are never held together.
func (s stored) listed() stored {
	brief := stored{
		Name: s.Name, Judged: s.Judged, Report: s.Report, Problem: s.Problem,
		Document: Document{Design: cut(s.Design), Nemesis: cut(s.Nemesis), Source: cut(s.Source), Seed: s.Seed, Started: s.Started},
	}
	if s.Verdict == nil {
		return brief
	}
	v := &checker.Verdict{Outcome: checker.Outcome(cut(string(s.Verdict.Outcome)))}
	for _, p := range brokenOf(s.Verdict) {
		if len(v.Results) < len(checker.Properties) {
			v.Results = append(v.Results, checker.Result{Property: checker.Property(cut(string(p))), Outcome: checker.Invalid})
		}
	}
	if first := s.Verdict.First(); first != nil {
		v.Violations = []checker.Violation{{Summary: cut(first.Summary)}}
	}
	brief.Verdict = v
	return brief
}

// cut is a copy of text that is no longer than a list shows of it.
func cut(s string) string {
	const most = 1 << 10
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return strings.Clone(s)
}

// listPage is what the template of the list shows.
type listPage struct {
	frame
	Runs                       []stored
	All                        int
	Design, Nemesis, Verdict   string // the filter in force
	Designs, Nemeses, Verdicts []string
	Page, Pages                int
	Earlier, Later             string // addresses of the pages beside this one
	Tables                     []table
}

// perPage is how many runs one page lists.
const perPage = 100

// list shows the runs that the filter lets through.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	runs, err := s.runs.all()
	if err != nil {
		http.Error(w, "the store cannot be read", http.StatusInternalServerError)
		return
	}
	q := r.URL.Query()
	p := listPage{All: len(runs), Design: q.Get("design"), Nemesis: q.Get("nemesis"), Verdict: q.Get("verdict")}
	p.choices(runs)
	p.Runs = slices.DeleteFunc(runs, func(run stored) bool {
		return !matches(p.Design, run.Design) || !matches(p.Nemesis, run.Nemesis) || !matches(p.Verdict, string(run.Outcome()))
	})
	p.turnTo(q.Get("page"), r)
	p.Tables = s.tables()
	if p.frame, err = ownFrame(); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	s.page(w, "list.html", p, p.frame)
}

// table is a folder of the store with a matrix.
type table struct {
	Name    string
	Started time.Time
}

// maxTables is how many tables a list links to.
const maxTables = 10

// tables are the newest matrices of the store.
func (s *server) tables() []table {
	entries, err := s.store.ReadDir(".")
	if err != nil {
		return nil
	}
	var list []table
	for _, e := range slices.Backward(entries) { // names begin with the time
		if _, err := s.store.Stat(e.Name() + "/" + MatrixFile); err == nil && len(list) < maxTables {
			list = append(list, table{e.Name(), when(e.Name(), Document{})})
		}
	}
	return list
}

func matches(filter, value string) bool { return filter == "" || filter == value }

// choices fills the lists of the filter with what occurs.
func (p *listPage) choices(runs []stored) {
	p.Verdicts = []string{string(checker.Invalid), string(checker.Unknown), string(checker.Valid)}
	for _, run := range runs {
		p.Designs = append(p.Designs, run.Design)
		p.Nemeses = append(p.Nemeses, run.Nemesis)
	}
	tidyUp := func(list []string) []string {
		slices.Sort(list)
		return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "" })
	}
	p.Designs, p.Nemeses = tidyUp(p.Designs), tidyUp(p.Nemeses)
}

// turnTo cuts the list to one page.
func (p *listPage) turnTo(page string, r *http.Request) {
	p.Pages = max(1, (len(p.Runs)+perPage-1)/perPage)
	n, _ := strconv.Atoi(page)
	p.Page = min(max(n, 1), p.Pages)
	address := func(n int) string {
		q := r.URL.Query()
		q.Set("page", strconv.Itoa(n))
		return "/?" + q.Encode()
	}
	if p.Page > 1 {
		p.Later = address(p.Page - 1)
	}
	if p.Page < p.Pages {
		p.Earlier = address(p.Page + 1)
	}
	p.Runs = p.Runs[min((p.Page-1)*perPage, len(p.Runs)):min(p.Page*perPage, len(p.Runs))]
}
