package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// longestLine bounds a line of a log, in bytes.
const longestLine = 1 << 20

// Log reads a log: lines of text, or of JSON objects. Lines that no rule fits are
// passed over, and counted.
func Log(in io.Reader, m *Map) (*Record, error) {
	rec := newRecord(m, "log")
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), longestLine)
	for lines.Scan() {
		rec.seen++
		s, found, err := m.line1(lines.Text())
		switch {
		case err == nil && found && s.at == 0:
			err = errors.New("it has no time")
			fallthrough
		case err != nil:
			rec.skip(rec.seen, err)
		case found:
			s.where = rec.seen
			rec.add(s)
		default:
			rec.passed++
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", rec.seen+1, err)
	}
	return rec, nil
}

// line1 reads one line.
func (m *Map) line1(text string) (s sighting, found bool, err error) {
	groups := map[string]string{}
	if m.line != nil {
		if !capture(m.line.FindStringSubmatch(text), m.line.SubexpNames(), groups) {
			return s, false, nil
		}
		if rest := groups["rest"]; rest != "" {
			text = rest
		}
	}
	var object attributes
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		object = jsonObject(text)
	}
	for i := range m.Events {
		r := &m.Events[i]
		if !r.fits(text, groups, object) {
			continue
		}
		s, err = m.see(r, groups, object)
		return s, err == nil, err
	}
	return s, false, nil
}

// fits reports whether a rule fits a text with attributes, and adds its groups.
func (r *Rule) fits(text string, groups map[string]string, has attributes) bool {
	for name, want := range r.Where {
		if has == nil {
			return false
		}
		if v, there := has(name); !there || v != want {
			return false
		}
	}
	return r.match == nil || capture(r.match.FindStringSubmatch(text), r.match.SubexpNames(), groups)
}

func capture(found, names []string, into map[string]string) bool {
	if found == nil {
		return false
	}
	for i, name := range names {
		if name != "" && found[i] != "" {
			into[name] = found[i]
		}
	}
	return true
}

// jsonObject looks fields of an object up, "a.b" also inside a; nil if the text is none.
func jsonObject(text string) attributes {
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&object) != nil {
		return nil
	}
	return func(name string) (string, bool) { return lookUp(object, name) }
}

func lookUp(object map[string]any, name string) (string, bool) {
	if v, there := object[name]; there {
		switch v := v.(type) {
		case nil, map[string]any, []any:
			return "", false
		default:
			return fmt.Sprint(v), true
		}
	}
	for i := range len(name) {
		if name[i] != '.' {
			continue
		}
		if inner, is := object[name[:i]].(map[string]any); is {
			if v, there := lookUp(inner, name[i+1:]); there {
				return v, true
			}
		}
	}
	return "", false
}
