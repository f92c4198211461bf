package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// traces is what an exporter writes of OTLP in JSON: an ExportTraceServiceRequest,
// one or more of them in a file (opentelemetry.io, OTLP 1.x, JSON encoding).
type traces struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes attributeList }
		ScopeSpans []struct{ Spans []span }
	}
}

type span struct {
	Name                               string
	StartTimeUnixNano, EndTimeUnixNano json.RawMessage // a string or a number
	Attributes                         attributeList
}

type attributeList []struct {
	Key   string
	Value map[string]any
}

func (l attributeList) find(name string) (string, bool) {
	for _, a := range l {
		if a.Key == name {
			for _, v := range a.Value { // one: stringValue, intValue, boolValue, doubleValue
				return fmt.Sprint(v), true
			}
		}
	}
	return "", false
}

// OTLP reads traces. An attribute of a span comes before one of its resource; "name"
// is the span's name. Spans that no rule fits are passed over, and counted.
func OTLP(in io.Reader, m *Map) (*Record, error) {
	rec := newRecord(m, "OTLP trace")
	d := json.NewDecoder(in)
	d.UseNumber()
	for {
		var t traces
		if err := d.Decode(&t); errors.Is(err, io.EOF) {
			return rec, nil
		} else if err != nil {
			return nil, fmt.Errorf("after %d spans: %w", rec.seen, err)
		}
		for _, resource := range t.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for i := range scope.Spans {
					rec.span(&scope.Spans[i], resource.Resource.Attributes)
				}
			}
		}
	}
}

func (rec *Record) span(sp *span, resource attributeList) {
	rec.seen++
	has := func(name string) (string, bool) {
		if name == "name" {
			return sp.Name, true
		}
		if v, there := sp.Attributes.find(name); there {
			return v, true
		}
		return resource.find(name)
	}
	for i := range rec.rules.Events {
		r := &rec.rules.Events[i]
		groups := map[string]string{}
		if !r.fits(sp.Name, groups, has) {
			continue
		}
		s, err := rec.rules.see(r, groups, has)
		var from, to int64
		if err == nil {
			from, err = nanoseconds(sp.StartTimeUnixNano)
		}
		if err == nil {
			to, err = nanoseconds(sp.EndTimeUnixNano)
		}
		if err == nil && to < from {
			err = errors.New("it ends before it starts")
		}
		if err != nil {
			rec.skip(rec.seen, err)
			return
		}
		s.from, s.at, s.where = from, to, rec.seen
		rec.add(s)
		return
	}
	rec.passed++
}

func nanoseconds(raw json.RawMessage) (int64, error) {
	text := string(raw)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("its time is %.40q: want nanoseconds since 1970", text)
	}
	return n, nil
}
