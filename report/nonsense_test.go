package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
)

func TestAMatrixWithCountsThatNoRunsHaveIsRefused(t *testing.T) {
	tests := map[string]struct{ cell, want string }{
		"fewer than none":        {`"runs":-1`, "-1 runs"},
		"more than can be added": {`"runs":9223372036854775807`, "9223372036854775807 runs"},
		"more invalid than runs": {`"runs":2,"invalid":3,"outcome":"invalid"`, "3 invalid and 0 unknown of 2 runs"},
		"more unknown than left": {`"runs":2,"invalid":1,"unknown":2,"outcome":"invalid"`, "1 invalid and 2 unknown of 2 runs"},
		"less than nothing":      {`"runs":2,"invalid":-1,"outcome":"valid"`, "-1 invalid and 0 unknown of 2 runs"},
		"another outcome":        {`"runs":2,"invalid":1,"outcome":"valid"`, `outcome "valid" of 1 invalid and 0 unknown of 2 runs: want "invalid"`},
		"an outcome of no runs":  {`"runs":0,"outcome":"valid"`, `outcome "valid" of 0 invalid and 0 unknown of 0 runs: want ""`},
		"a level of no name":     {`"runs":1,"outcome":"valid","levels":{"lok":"valid"}`, `level "lok" is "valid"`},
		"a level of no outcome":  {`"runs":1,"outcome":"valid","levels":{"lock":"fine"}`, `level "lock" is "fine"`},
		"time backwards":         {`"runs":1,"outcome":"valid","seconds":-3`, "-3 seconds"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ReadMatrix(strings.NewReader(`{"format":"lockcheck-matrix/1","cells":[{"design":"a","nemesis":"b",` + tt.cell + `}]}`))
			if want := `matrix: cell 1 ("a" × "b"): ` + tt.want; err == nil || err.Error() != want {
				t.Errorf("error\n got %v\nwant %v", err, want)
			}
		})
	}
	const right = `{"format":"lockcheck-matrix/1","cells":[{"design":"a","nemesis":"b","runs":3,"invalid":1,"unknown":2,"outcome":"invalid","levels":{"use":"not looked at"}},{"design":"c","nemesis":"b","runs":0}]}`
	if _, err := ReadMatrix(strings.NewReader(right)); err != nil {
		t.Errorf("refused what is right: %v", err)
	}
}

func TestJSONHasNoControlCharacters(t *testing.T) {
	const key = "a\x1b\u007f\u0080\u0085\u009b2J\u00a0\u00c2\u20ac"
	r := validRun()
	r.Verdict.Violations = []checker.Violation{{Property: checker.Oversell, Key: key}}
	var out bytes.Buffer
	if err := JSON(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, c := range out.String() {
		if c != '\n' && (c < ' ' || c >= 0x7f && c < 0xa0) {
			t.Errorf("%U is there raw", c)
		}
	}
	var d Document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || d.Verdict.Violations[0].Key != key {
		t.Errorf("the key came back as %q, %v", d.Verdict.Violations[0].Key, err)
	}
	if err := encode(failing{}, 1); !errors.Is(err, errFull) {
		t.Errorf("a full disk is %v", err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestAListHoldsOfAVerdictOnlyWhatItShows(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	r := failoverRun()
	v := *r.Verdict
	v.Violations = append([]checker.Violation{}, v.Violations...)
	for i := range v.Violations {
		v.Violations[i].Summary, v.Violations[i].Because = long, long
	}
	s := stored{Name: "run", Judged: true, Document: Document{Design: long, Replay: long, Verdict: &v}}
	data, err := json.Marshal(s.listed())
	if err != nil || len(data) > 5<<10 {
		t.Errorf("%d bytes are kept, %v", len(data), err)
	}
	if got := s.listed(); got.Broken() != s.Broken() || got.Outcome() != s.Outcome() || !strings.HasPrefix(long, got.Verdict.First().Summary) {
		t.Errorf("it shows %s, %s", got.Outcome(), got.Broken())
	}
}
