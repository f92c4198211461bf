package report

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// hostile is a string that breaks out of whatever does not escape it: script
// and style elements, attributes in either quote, comments, templates,
// JavaScript strings, Markdown, terminals, XML. %d tells one from another.
const hostile = `</script><script>window.hacked=%d</script><img src=x onerror="window.hacked=1">` +
	`"'` + "`" + `${window.hacked=1}{{.}}<!--]]>|**x**[x](javascript:window.hacked=1)` + "\x1b[2J\x07\u202e\n\u2028\x00\xff"

// hostileRun is a run in which every string of history and verdict is hostile.
func hostileRun() Run {
	r := failoverRun()
	w := &poisoner{}
	v := *r.Verdict
	h := *r.History
	w.poison(reflect.ValueOf(&h).Elem())
	w.poison(reflect.ValueOf(&v).Elem())
	h.Header.Format = histories.Format
	r.Header, r.History, r.Verdict = h.Header, &h, &v
	r.Folder, r.Replay, r.Picture = w.next(), w.next(), ""
	return r
}

// poisoner makes every string hostile, but for words that are not free text.
type poisoner struct{ n int }

func (p *poisoner) next() string { p.n++; return fmt.Sprintf(hostile, p.n) }

func (p *poisoner) poison(v reflect.Value) {
	switch v.Interface().(type) {
	case checker.Property, checker.Level, checker.Outcome, checker.Cause, histories.Type:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(p.next())
	case reflect.Struct:
		for i := range v.NumField() {
			// f decides what is drawn; operations and faults keep theirs.
			if name := v.Type().Field(i).Name; name != "F" {
				p.poison(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			p.poison(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			p.poison(v.Elem())
		}
	case reflect.Map:
		p.poisonMap(v)
	}
}

func (p *poisoner) poisonMap(v reflect.Value) {
	if v.Type().Key().Name() != "string" || v.IsNil() {
		return
	}
	next := reflect.MakeMap(v.Type())
	for _, k := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(k))
		p.poison(value)
		next.SetMapIndex(reflect.ValueOf(p.next()), value)
	}
	v.Set(next)
}

func TestHostileStringsStayTextOnATerminal(t *testing.T) {
	for name, write := range map[string]func(io.Writer) error{
		"text":           func(w io.Writer) error { return Text(w, hostileRun(), Style{}) },
		"text of cells":  func(w io.Writer) error { return hostileMatrix().Text(w, Style{}) },
		"markdown":       func(w io.Writer) error { return Markdown(w, hostileRun()) },
		"table of cells": func(w io.Writer) error { return hostileMatrix().Markdown(w) },
		"junit":          func(w io.Writer) error { return JUnit(w, hostileRun()) },
		"junit of cells": func(w io.Writer) error { return hostileMatrix().JUnit(w) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.String() {
			if r != '\n' && unprintable(r) {
				t.Errorf("%s: %U reaches the terminal", name, r)
				break
			}
		}
		if !strings.Contains(b.String(), "hacked") {
			t.Errorf("%s: the strings are gone", name)
		}
	}
}

func hostileMatrix() Matrix {
	m := fullMatrix()
	p := &poisoner{}
	p.poison(reflect.ValueOf(&m.Cells).Elem())
	p.poison(reflect.ValueOf(&m.Changes).Elem())
	for i := range m.Cells {
		m.Cells[i].Claims = nil
	}
	return m
}

func TestHostileStringsStayTextInMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, hostileRun()); err != nil {
		t.Fatal(err)
	}
	if err := hostileMatrix().Markdown(&b); err != nil {
		t.Fatal(err)
	}
	inFence := ""
	for line := range strings.Lines(b.String()) {
		trimmed := strings.TrimRight(line, "\n")
		if strings.Trim(trimmed, "`") == "" && len(trimmed) >= 3 {
			if inFence == "" {
				inFence = trimmed
			} else if inFence == trimmed {
				inFence = ""
			}
			continue
		}
		if inFence == "" && strings.Contains(withoutCode(line), "<script") {
			t.Errorf("markup reaches Markdown: %.200s", line)
		}
	}
	if inFence != "" {
		t.Error("a code block is not closed")
	}
}

// withoutCode leaves inline code out of a line of Markdown: runs of n ticks
// open and close it.
func withoutCode(line string) string {
	var out strings.Builder
	for {
		i := strings.IndexByte(line, '`')
		if i < 0 || (i > 0 && line[i-1] == '\\') {
			if i < 0 {
				return out.String() + line
			}
			out.WriteString(line[:i+1])
			line = line[i+1:]
			continue
		}
		rest := strings.TrimLeft(line[i:], "`")
		ticks := line[i : len(line)-len(rest)]
		end := strings.Index(rest, ticks)
		if end < 0 {
			return out.String() + line
		}
		out.WriteString(line[:i])
		line = rest[end+len(ticks):]
	}
}

func TestNoStringCanEndAScriptElement(t *testing.T) {
	got, err := scriptJSON([]string{hostile, "<!--", "</SCRIPT >", "]]>"})
	if err != nil || strings.ContainsAny(string(got), "<>&\u2028") {
		t.Errorf("%v: %s", err, got)
	}
}

func TestPlainKeepsWhatCanBePrinted(t *testing.T) {
	for in, want := range map[string]string{
		"sku-2#7": "sku-2#7", "数量": "数量", "\x1b[2J": `\x1b[2J`, "a\nb": `a\nb`, "\u202eevil": `\u202eevil`, "": "", "é": "é",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
		if strings.ContainsFunc(plain(in), func(r rune) bool { return unicode.IsControl(r) }) {
			t.Errorf("plain(%q) keeps a control character", in)
		}
	}
}
