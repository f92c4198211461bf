package report

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
)

// besidePage shows two runs side by side.
type besidePage struct {
	frame
	A, B  stored
	Parts []besidePart
}

// besidePart is a table with a line per thing and a column per run.
type besidePart struct {
	Title string
	Lines []besideLine
}

type besideLine struct {
	Name, A, B string
	Differs    bool
}

// compare shows runs a and b side by side.
func (s *server) compare(w http.ResponseWriter, r *http.Request) {
	p := besidePage{}
	for name, run := range map[string]*stored{"a": &p.A, "b": &p.B} {
		found, err := s.run(r.URL.Query().Get(name))
		if err != nil {
			http.Error(w, "choose two runs that were judged", http.StatusNotFound)
			return
		}
		*run = found
	}
	p.Parts = beside(p.A, p.B)
	var err error
	if p.frame, err = ownFrame(); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	s.page(w, "compare.html", p, p.frame)
}

// run reads one judged run of the store.
func (s *server) run(name string) (stored, error) {
	if !s.isFolder(name) {
		return stored{}, errNoRun
	}
	run, err := readRun(s.store, name)
	if err == nil && !run.Judged {
		err = errNoRun
	}
	return run, err
}

// isFolder reports whether a name is that of a folder right in the store.
func (s *server) isFolder(name string) bool {
	info, err := s.store.Stat(name)
	return err == nil && info.IsDir() && name != "." && !strings.Contains(name, "/")
}

// beside compares two runs part by part.
func beside(a, b stored) []besidePart {
	about := func(s stored) map[string]string {
		return map[string]string{"source": s.Source, "seed": fmt.Sprint(s.Seed), "lockcheck": s.Lockcheck, "workload": s.Workload, "run time": span(s.Duration), "again": s.Replay}
	}
	parts := []besidePart{
		{"Verdict", lines(verdictWords(a), verdictWords(b))},
		{"Properties", lines(propertyWords(a), propertyWords(b))},
		{"First violation", lines(firstWords(a), firstWords(b))},
		{"How operations ended", lines(outcomeWords(a), outcomeWords(b))},
		{"About the run", lines(about(a), about(b))},
		{"Settings", lines(a.Settings, b.Settings)},
	}
	return slices.DeleteFunc(parts, func(p besidePart) bool { return len(p.Lines) == 0 })
}

// lines joins two sets of named facts.
func lines(a, b map[string]string) []besideLine {
	names := maps.Clone(a)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, b)
	var list []besideLine
	for _, n := range slices.Sorted(maps.Keys(names)) {
		list = append(list, besideLine{n, a[n], b[n], a[n] != b[n]})
	}
	return list
}

func verdictWords(s stored) map[string]string {
	words := map[string]string{"all": string(s.Outcome())}
	for _, level := range levels {
		if o, judged := levelOutcome(level, s.Verdict); judged {
			words[string(level)] = string(o) + ": " + levelText(level, s.Verdict)
		}
	}
	if text := balance(s.Verdict.Counts); text != "" {
		words["units"] = text
	}
	return words
}

func propertyWords(s stored) map[string]string {
	words := map[string]string{}
	for _, r := range s.Verdict.Results {
		words[string(r.Property)] = string(r.Outcome)
		if r.Outcome == checker.Invalid {
			words[string(r.Property)] += times(max(r.Count, 2))
			if r.Count < 2 {
				words[string(r.Property)] = string(r.Outcome) + " (once)"
			}
		}
	}
	return words
}

func firstWords(s stored) map[string]string {
	v := s.Verdict.First()
	if v == nil {
		return nil
	}
	return map[string]string{"property": string(v.Property), "what": sentence(v.Summary), "cause": causeText(*v), "key": v.Key}
}

func outcomeWords(s stored) map[string]string {
	words := map[string]string{}
	for name, n := range s.Verdict.Counts.Outcomes {
		words[name] = count(n)
	}
	return words
}

// download sends a whole run folder as one zip file.
func (s *server) download(w http.ResponseWriter, r *http.Request) {
	name, isZip := strings.CutSuffix(r.PathValue("name"), ".zip")
	if !isZip || !s.isFolder(name) {
		http.Error(w, "no such run", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name + ".zip"}))
	if r.Method == http.MethodHead {
		return
	}
	z := zip.NewWriter(w)
	if err := s.archive(z, name); err != nil {
		// The headers are out: break the connection off, so that half an
		// archive is not taken for a whole one.
		panic(http.ErrAbortHandler)
	}
	if err := z.Close(); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// archive writes the files of a run folder into an archive.
func (s *server) archive(z *zip.Writer, name string) error {
	return fs.WalkDir(s.store, name, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		head, err := zip.FileInfoHeader(info)
		if err != nil {
			return err
		}
		head.Name, head.Method = path, zip.Deflate
		part, err := z.CreateHeader(head)
		if err != nil {
			return err
		}
		f, err := s.store.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(part, f)
		return err
	})
}
