package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// The formats that JSON output names, one per document. docs/verdict-schema.json
// describes both; a change that could break a reader raises the number.
const (
	VerdictFormat = "lockcheck-verdict/1"
	MatrixFormat  = "lockcheck-matrix/1"
)

// ErrFormat says that a document is of another format or version.
var ErrFormat = errors.New("not a result of lockcheck, or of another version")

// Document is verdict.json: a verdict and what it is about, for machines.
type Document struct {
	Format      string            `json:"format"` // VerdictFormat
	Lockcheck   string            `json:"lockcheck,omitempty"`
	File        string            `json:"file,omitempty"` // where several histories were judged
	Design      string            `json:"design,omitempty"`
	Nemesis     string            `json:"nemesis,omitempty"`
	Workload    string            `json:"workload,omitempty"`
	Cluster     string            `json:"cluster,omitempty"`
	Source      string            `json:"source,omitempty"`
	Seed        uint64            `json:"seed,omitempty"`
	Settings    map[string]string `json:"settings,omitempty"`
	Started     time.Time         `json:"started,omitzero"`
	Seconds     float64           `json:"seconds,omitempty"`  // of the run, in real time
	Duration    int64             `json:"duration,omitempty"` // ns: of the history, on its own clock
	Interrupted bool              `json:"interrupted,omitempty"`
	Replay      string            `json:"replay,omitempty"`
	Verdict     *checker.Verdict  `json:"verdict"`
	Faults      []histories.Event `json:"faults,omitempty"` // what Violation.Faults counts in: the history's marks up to the last one named
}

// JSON writes verdict.json. It is valid by docs/verdict-schema.json.
func JSON(w io.Writer, r Run) error { return encode(w, document(r)) }

// document gathers what verdict.json says of a run.
func document(r Run) Document {
	h := r.Header
	d := Document{
		Format: VerdictFormat, Lockcheck: h.Version, File: r.File, Design: h.Design, Nemesis: h.Nemesis, Workload: h.Workload,
		Cluster: h.Cluster, Source: r.source(), Seed: h.Seed, Settings: h.Settings, Started: r.Started.UTC(),
		Seconds: r.Took.Seconds(), Interrupted: r.Interrupted, Replay: r.Replay, Verdict: tidy(r.Verdict),
	}
	if r.History != nil {
		d.Duration = r.History.End
		d.Faults = namedMarks(r)
	}
	return d
}

// namedMarks are the marks of a history up to the last that a violation
// names, so that its indices mean something without the history.
func namedMarks(r Run) []histories.Event {
	n := 0
	for _, v := range r.Verdict.Violations {
		for _, i := range v.Faults {
			n = max(n, i+1)
		}
	}
	return r.History.Marks[:min(n, len(r.History.Marks))]
}

// tidy makes lists and maps that a reader may rely on empty rather than null.
func tidy(v *checker.Verdict) *checker.Verdict {
	t := *v
	if t.Levels == nil {
		t.Levels = map[checker.Level]checker.Outcome{}
	}
	if t.Results == nil {
		t.Results = []checker.Result{}
	}
	if t.Violations == nil {
		t.Violations = []checker.Violation{}
	}
	if t.Counts.Outcomes == nil {
		t.Counts.Outcomes = map[string]int{}
	}
	return &t
}

// encode writes indented JSON that a terminal shows as it is: encoding/json
// leaves the control characters behind ASCII raw, and U+009B begins a command
// to a terminal like ESC [.
func encode(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(escapeControls(data), '\n'))
	return err
}

// escapeControls writes U+007F to U+009F as escapes. In JSON they can only
// stand inside of strings.
func escapeControls(data []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(data); i++ {
		n, c := 1, data[i]
		if c == 0xc2 && i+1 < len(data) && data[i+1] < 0xa0 {
			n, c = 2, data[i+1]
		}
		if c != 0x7f && n == 1 {
			continue
		}
		out = fmt.Appendf(append(out, data[from:i]...), "\\u%04x", c)
		i += n - 1
		from = i + 1
	}
	if out == nil {
		return data
	}
	return append(out, data[from:]...)
}

// ReadDocument reads a verdict.json. A document of another format is
// ErrFormat.
func ReadDocument(r io.Reader) (Document, error) {
	var d Document
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return Document{}, fmt.Errorf("verdict: %w", err)
	}
	if d.Format != VerdictFormat || d.Verdict == nil {
		return Document{}, fmt.Errorf("verdict: format %.40q: %w", d.Format, ErrFormat)
	}
	return d, nil
}
