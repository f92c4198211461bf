// Package record makes histories of what a production system recorded: its log, or
// its traces in OpenTelemetry's format (OTLP). A Map says which lines or spans mean
// what.
//
// A record is not a history. Each host has a clock of its own, lines are missing, and
// that a lock was released is often written down only when it is over. So whatever
// is in doubt is read such that it cannot be called a violation: a hold is as short
// as the record allows, and by the clock error shorter at both ends.
// docs/from-production.md has the format of a map, and what each word means.
package record

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/internal/spelling"
	"github.com/lockcheck/lockcheck/internal/strictjson"
)

// Format is the version of maps that this package reads.
const Format = "lockcheck-map/1"

// Map says what the lines of a log, or the spans of a trace, mean.
type Map struct {
	Format string            `json:"format"`
	Line   string            `json:"line"`   // of a text log: a regular expression with the groups that every line has
	Time   string            `json:"time"`   // how times are written: a layout of Go's package time, or "unix", "unix-ms", "unix-us", "unix-ns"; default RFC 3339
	Fields map[string]string `json:"fields"` // field → the attribute, or JSON field, that has it
	Events []Rule            `json:"events"` // the first that fits a line or span says what it is

	Reentrant bool             `json:"reentrant"` // the same worker may take a lock that it holds
	Initial   int64            `json:"initial"`   // units that each stock key began with …
	Stock     map[string]int64 `json:"stock"`     // … but for these

	line *regexp.Regexp
}

// Rule says what some lines or spans mean.
type Rule struct {
	Is     string            `json:"is"`
	Match  string            `json:"match"`  // a regular expression; its groups are fields
	Where  map[string]string `json:"where"`  // attributes, or JSON fields, that have these values
	Fields map[string]string `json:"fields"` // as those of the map, before them

	match *regexp.Regexp
}

// The words of a Rule.
const (
	acquired  = "acquired"  // its worker has the lock in hand
	refused   = "refused"   // another had it
	holding   = "holding"   // its worker still holds it: it works under it, it renewed it
	releasing = "releasing" // its worker is about to give it back
	released  = "released"  // it has given it back, some time since the last sign of holding
	lost      = "lost"      // its worker was told that it is gone
	hold      = "hold"      // of a span: its worker held it from the span's start to its end
	wrote     = "wrote"     // its worker wrote to the stock
	sold      = "sold"      // a purchase took effect
)

var words = []string{acquired, refused, holding, releasing, released, lost, hold, wrote, sold}

// The fields of a line or span.
var fields = []string{"time", "worker", "host", "key", "token", "fence", "until", "order", "qty", "left", "stock"}

// ReadMap reads a map. What is wrong with it is an error that names the place.
func ReadMap(data []byte) (*Map, error) {
	m := &Map{}
	if _, err := strictjson.Unmarshal(data, m); err != nil {
		return nil, err
	}
	if m.Format != Format {
		return nil, fmt.Errorf("format is %q: want %q", m.Format, Format)
	}
	if len(m.Events) == 0 {
		return nil, fmt.Errorf("events: there are none, so nothing would be read")
	}
	if err := m.compile(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Map) compile() (err error) {
	if m.line, err = pattern(m.Line, slices.Concat(fields, []string{"rest"})); err != nil {
		return fmt.Errorf("line: %w", err)
	}
	if err := known(m.Fields); err != nil {
		return fmt.Errorf("fields: %w", err)
	}
	for i := range m.Events {
		r := &m.Events[i]
		if err := r.compile(); err != nil {
			return fmt.Errorf("events[%d]: %w", i, err)
		}
	}
	return nil
}

func (r *Rule) compile() (err error) {
	if !slices.Contains(words, r.Is) {
		return fmt.Errorf("is: %w", unknown(r.Is, words))
	}
	if r.Match == "" && len(r.Where) == 0 {
		return fmt.Errorf("neither match nor where: it would fit everything")
	}
	if r.match, err = pattern(r.Match, fields); err != nil {
		return fmt.Errorf("match: %w", err)
	}
	if err := known(r.Fields); err != nil {
		return fmt.Errorf("fields: %w", err)
	}
	return nil
}

// pattern compiles an expression whose groups have names among allowed; nil of none.
func pattern(expression string, allowed []string) (*regexp.Regexp, error) {
	if expression == "" {
		return nil, nil
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	for _, name := range re.SubexpNames() {
		if name != "" && !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("group %w", unknown(name, allowed))
		}
	}
	return re, nil
}

func known(names map[string]string) error {
	for name := range names {
		if !slices.Contains(fields, name) {
			return unknown(name, fields)
		}
	}
	return nil
}

func unknown(name string, list []string) error {
	if near := spelling.Nearest(name, list); near != "" {
		return fmt.Errorf("%q is unknown; did you mean %q?", name, near)
	}
	return fmt.Errorf("%q is unknown: want one of %s", name, strings.Join(list, ", "))
}

// moment reads a time as the map says that times are written, in nanoseconds since 1970.
func (m *Map) moment(text string) (int64, error) {
	units := map[string]time.Duration{"unix": time.Second, "unix-ms": time.Millisecond, "unix-us": time.Microsecond, "unix-ns": 1}
	if unit, is := units[m.Time]; is {
		return decimal(text, int64(unit))
	}
	layout := m.Time
	if layout == "" {
		layout = time.RFC3339Nano
	}
	t, err := time.Parse(layout, text)
	if err != nil {
		return 0, err
	}
	return t.UnixNano(), nil
}
