package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// schema validates JSON by the part of JSON Schema that our schema uses. A
// library would be a dependency of several thousand lines for one test; a
// keyword that is not known here is an error, so nothing is skipped in
// silence. closed makes members that the schema does not name an error, which
// the published schema leaves to later versions: so the test sees a member
// that was added to the code and not to the schema.
type schema struct {
	root   map[string]any
	closed bool
}

func loadSchema(t *testing.T) schema {
	t.Helper()
	data, err := os.ReadFile("../docs/verdict-schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	return schema{root, true}
}

// validate is nil if the document is valid.
func (s schema) validate(document []byte) error {
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		return err
	}
	return s.check(s.root, v, "")
}

func (s schema) check(rule map[string]any, v any, at string) error {
	for keyword, arg := range rule {
		if err := s.keyword(rule, keyword, arg, v, at); err != nil {
			return err
		}
	}
	return nil
}

func (s schema) keyword(rule map[string]any, keyword string, arg, v any, at string) error {
	switch keyword {
	case "$schema", "$id", "title", "description", "$defs":
		return nil
	case "$ref":
		name := strings.TrimPrefix(arg.(string), "#/$defs/")
		def, known := s.root["$defs"].(map[string]any)[name]
		if !known {
			return fmt.Errorf("%s: no definition %q", at, name)
		}
		return s.check(def.(map[string]any), v, at)
	case "oneOf":
		return s.oneOf(arg.([]any), v, at)
	case "type":
		if !isType(arg.(string), v) {
			return fmt.Errorf("%s: %v is no %s", at, v, arg)
		}
	case "const", "enum":
		if keyword == "const" {
			arg = []any{arg}
		}
		if !slices.Contains(arg.([]any), v) {
			return fmt.Errorf("%s: %v is none of %v", at, v, arg)
		}
	case "minimum":
		if n, ok := v.(float64); ok && n < arg.(float64) {
			return fmt.Errorf("%s: %v < %v", at, n, arg)
		}
	case "maximum":
		if n, ok := v.(float64); ok && n > arg.(float64) {
			return fmt.Errorf("%s: %v > %v", at, n, arg)
		}
	case "format":
		if _, err := time.Parse(time.RFC3339, fmt.Sprint(v)); arg != "date-time" || err != nil {
			return fmt.Errorf("%s: %v is no %v", at, v, arg)
		}
	case "items":
		for i, x := range v.([]any) {
			if err := s.check(arg.(map[string]any), x, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case "required":
		for _, name := range arg.([]any) {
			if _, there := v.(map[string]any)[name.(string)]; !there {
				return fmt.Errorf("%s: lacks %q", at, name)
			}
		}
	case "properties":
		return s.members(rule, v.(map[string]any), at)
	case "additionalProperties":
		if _, named := rule["properties"]; !named {
			return s.members(rule, v.(map[string]any), at)
		}
	default:
		return fmt.Errorf("the validator does not know %q", keyword)
	}
	return nil
}

func (s schema) members(rule map[string]any, v map[string]any, at string) error {
	named, _ := rule["properties"].(map[string]any)
	for name, x := range v {
		next := at + "/" + name
		switch extra := rule["additionalProperties"].(type) {
		case map[string]any:
			if err := s.check(extra, x, next); err != nil {
				return err
			}
			continue
		}
		def, known := named[name]
		if !known && (s.closed || rule["additionalProperties"] == false) && !strings.Contains(at, "/faults[") {
			return fmt.Errorf("%s is not in the schema", next)
		}
		if known {
			if err := s.check(def.(map[string]any), x, next); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s schema) oneOf(rules []any, v any, at string) error {
	var errs []string
	for _, r := range rules {
		if err := s.check(r.(map[string]any), v, at); err != nil {
			errs = append(errs, err.Error())
		}
	}
	if len(rules)-len(errs) != 1 {
		return fmt.Errorf("%s: %d of %d fit: %s", at, len(rules)-len(errs), len(rules), strings.Join(errs, "; "))
	}
	return nil
}

func isType(name string, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return name == "object"
	case []any:
		return name == "array"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	}
	return false
}

// fullMatrix has every field of a matrix set.
func fullMatrix() Matrix {
	broken := failoverRun().Cell()
	broken.Runs, broken.Invalid, broken.Claims = 10, 9, map[checker.Level]Promise{checker.LockLevel: Breaks, checker.UseLevel: Holds}
	fine := Cell{Design: "lua-stock", Nemesis: "failover", Outcome: checker.Valid, Runs: 10, Source: "simulated Redis", Seconds: 1.5,
		Levels: map[checker.Level]checker.Outcome{checker.BusinessLevel: checker.Valid}, Claims: map[checker.Level]Promise{checker.BusinessLevel: Breaks}}
	open := Cell{Design: "lua-stock", Nemesis: "none", Outcome: checker.Unknown, Runs: 1, Unknown: 1, Reason: "no lock was ever granted",
		Claims: map[checker.Level]Promise{checker.BusinessLevel: Holds}}
	m := Matrix{
		Version: "0.1.0", Source: "simulated Redis", Seed: 8123, Started: failoverRun().Started, Took: 95 * time.Second,
		Settings: map[string]string{"time-limit": "20s"}, ByClaims: true,
		Cells: []Cell{broken, fine, open, {Design: "row-lock", Nemesis: "failover", Skipped: "no Redis to fail over"}, {Design: "row-lock", Nemesis: "pause", Error: "no Docker engine answers"}},
	}
	before := Matrix{Cells: []Cell{{Design: "lua-stock", Nemesis: "failover", Runs: 10, Invalid: 8}, {Design: "del-any", Nemesis: "pause", Runs: 10, Invalid: 10}}}
	m.Changes = Compare(before, m)
	return m
}

func TestJSONIsValidByItsPublishedSchema(t *testing.T) {
	s := loadSchema(t)
	interrupted := failoverRun()
	interrupted.Interrupted, interrupted.Verdict.Reason, interrupted.Verdict.Notes = true, "too short", []string{"a torn last line"}
	interrupted.Verdict.Violations[0].Orders, interrupted.Verdict.Violations[0].Workers = []string{"w1"}, []histories.Process{histories.Auditor}
	for name, r := range map[string]Run{
		"an invalid run": failoverRun(), "a valid run": validRun(), "an interrupted run": interrupted,
		"a run of which nothing is known": {Verdict: &checker.Verdict{Outcome: checker.Unknown}},
		"a run with hostile strings":      hostileRun(),
	} {
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := s.validate(b.Bytes()); err != nil {
			t.Errorf("%s: %v\n%s", name, err, b.Bytes())
		}
	}
	for name, m := range map[string]Matrix{"a full matrix": fullMatrix(), "an empty matrix": {}} {
		var b bytes.Buffer
		if err := m.JSON(&b); err != nil {
			t.Fatal(err)
		}
		if err := s.validate(b.Bytes()); err != nil {
			t.Errorf("%s: %v\n%s", name, err, b.Bytes())
		}
	}
}

func TestTheSchemaRefusesWhatIsNotAResult(t *testing.T) {
	s := loadSchema(t)
	var b bytes.Buffer
	if err := JSON(&b, failoverRun()); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	for name, change := range map[string][2]string{
		"another version":         {`"lockcheck-verdict/1"`, `"lockcheck-verdict/2"`},
		"an outcome of its own":   {`"outcome": "invalid"`, `"outcome": "fine"`},
		"a count below zero":      {`"oversold": 1`, `"oversold": -1`},
		"a member not in schema":  {`"seed": 8123`, `"sead": 8123`},
		"a word for a number":     {`"seed": 8123`, `"seed": "8123"`},
		"no verdict":              {`"verdict": {`, `"opinion": {`},
		"a date that is none":     {`"2026-12-04T10:15:00Z"`, `"yesterday"`},
		"a violation without key": {`"key": "stock:sku-2",`, ``},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s: the document does not have %q", name, change[0])
		}
		if s.validate([]byte(bad)) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestResultsAreReadBack(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, failoverRun()); err != nil {
		t.Fatal(err)
	}
	d, err := ReadDocument(bytes.NewReader(b.Bytes()))
	if err != nil || d.Design != "redis-lock" || len(d.Verdict.Violations) != 2 || d.Seed != 8123 {
		t.Errorf("read back %+v, %v", d, err)
	}
	if _, err := ReadMatrix(bytes.NewReader(b.Bytes())); err == nil {
		t.Error("a run is read as a matrix")
	}
	b.Reset()
	if err := fullMatrix().JSON(&b); err != nil {
		t.Fatal(err)
	}
	if m, err := ReadMatrix(bytes.NewReader(b.Bytes())); err != nil || len(m.Cells) != 5 || m.Cells[0].Claims[checker.LockLevel] != Breaks {
		t.Errorf("read back %+v, %v", m, err)
	}
	if _, err := ReadDocument(bytes.NewReader(b.Bytes())); err == nil {
		t.Error("a matrix is read as a run")
	}
}
