package triage

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format names the format of a File.
const Format = "lockcheck-findings/1"

// FindingsFile is the name under which a store keeps a File.
const FindingsFile = "findings.json"

// File is what one or more shards found, and what earlier nights did.
type File struct {
	Format string `json:"format"`
	Parts  []Part `json:"parts"`
	// Night counts the files that were merged with an earlier one; Known are all findings
	// up to it.
	Night int     `json:"night,omitempty"`
	Known []Known `json:"known,omitempty"`
}

// Part is one shard of one search.
type Part struct {
	Version string   `json:"lockcheck,omitempty"`
	Source  string   `json:"source,omitempty"`
	Design  string   `json:"design"`
	Nemesis string   `json:"nemesis"`
	Args    []string `json:"args,omitempty"` // flags that its runs are made with, but for the seed
	Seed    uint64   `json:"seed"`           // the first of the search
	Runs    int      `json:"runs"`           // of all shards together
	Shard   string   `json:"shard,omitempty"`

	Tried    int       `json:"tried"`       // runs of this shard
	CPU      float64   `json:"cpu-seconds"` // of all cores
	States   int       `json:"states"`      // distinct ones that they went through
	Findings []Finding `json:"findings"`
}

// Finding is one signature in the runs of a part.
type Finding struct {
	Signature Signature `json:"signature"`
	Count     int       `json:"count"` // runs
	Best      []Best    `json:"best"`  // three at most
}

// Best is a run that shows a finding early.
type Best struct {
	Seed    uint64 `json:"seed"`
	At      int64  `json:"at"` // ns: the end of the violation
	Summary string `json:"summary"`
}

// mostBest of a finding are kept.
const mostBest = 3

// better are the best of some.
func better(all []Best) []Best {
	slices.SortFunc(all, func(a, b Best) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Seed, b.Seed), strings.Compare(a.Summary, b.Summary))
	})
	all = slices.CompactFunc(all, func(a, b Best) bool { return a.Seed == b.Seed })
	return all[:min(len(all), mostBest)]
}

// Add counts a run that shows a finding.
func (p *Part) Add(s Signature, b Best) {
	i := slices.IndexFunc(p.Findings, func(f Finding) bool { return f.Signature == s })
	if i < 0 {
		i = len(p.Findings)
		p.Findings = append(p.Findings, Finding{Signature: s})
	}
	f := &p.Findings[i]
	f.Count++
	f.Best = better(append(f.Best, b))
}

// id is what makes two parts the same work.
func (p Part) id() string {
	return fmt.Sprintf("%q %q %q %q %d %d %q", p.Design, p.Nemesis, p.Version, p.Args, p.Seed, p.Runs, p.Shard)
}

// sorted is the part with its findings in order, so that equal parts are equal texts.
func (p Part) sorted() Part {
	p.Findings = slices.SortedFunc(slices.Values(p.Findings), func(a, b Finding) int {
		return strings.Compare(a.Signature.id(), b.Signature.id())
	})
	if p.Findings == nil {
		p.Findings = []Finding{}
	}
	return p
}

// text is the part as JSON: it orders parts of the same work.
func (p Part) text() string {
	data, err := json.Marshal(p)
	if err != nil {
		return "" // CPU seconds that are no number: check has refused them
	}
	return string(data)
}

// over reports whether of two results of the same work p is the one to keep: the one with
// more runs, and else whichever, but always the same.
func (p Part) over(o Part) bool {
	if p.Tried != o.Tried {
		return p.Tried > o.Tried
	}
	return p.text() < o.text()
}

// Merge takes the parts of several files together, each piece of work once. It is
// associative and commutative, and merging a file twice changes nothing.
func Merge(files ...File) File {
	m := File{Format: Format}
	kept := map[string]Part{}
	for _, f := range files {
		for _, p := range f.Parts {
			p = p.sorted()
			if old, known := kept[p.id()]; !known || p.over(old) {
				kept[p.id()] = p
			}
		}
		m.Night = max(m.Night, f.Night)
		m.Known = joined(m.Known, f.Known)
	}
	for _, p := range kept {
		m.Parts = append(m.Parts, p)
	}
	slices.SortFunc(m.Parts, func(a, b Part) int { return strings.Compare(a.id(), b.id()) })
	return m
}

// Write writes the file.
func (f File) Write(w io.Writer) error {
	f.Format = Format
	f.Parts = slices.Clone(f.Parts)
	for i, p := range f.Parts {
		f.Parts[i] = p.sorted()
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(f)
}

// id orders signatures.
func (s Signature) id() string {
	return fmt.Sprintf("%q %q %q %q %q", s.Level, s.Property, s.Cause, s.Skeleton, s.Faults)
}

// ErrFormat says that a document is no File of this version.
var ErrFormat = errors.New("no findings of lockcheck, or of another version")

// Read reads what Write wrote.
func Read(r io.Reader) (File, error) {
	var f File
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return File{}, fmt.Errorf("findings: %w", err)
	}
	if f.Format != Format {
		return File{}, fmt.Errorf("findings: format %.40q: %w", f.Format, ErrFormat)
	}
	for _, p := range f.Parts {
		for _, finding := range p.Findings {
			if p.Tried < 0 || p.Tried > p.Runs || finding.Count < 1 || finding.Count > p.Tried || len(finding.Best) == 0 || len(finding.Best) > mostBest {
				return File{}, fmt.Errorf("findings: %.60q × %.60q: %d of %d runs with %d examples", p.Design, p.Nemesis, finding.Count, p.Tried, len(finding.Best))
			}
		}
	}
	return f, nil
}
