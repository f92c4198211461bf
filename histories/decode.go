package histories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lockcheck/lockcheck/internal/strictjson"
)

// decoder turns lines into events. It reads the plain shape that Recorder
// writes by hand, ten times faster than encoding/json: one flat object, known
// fields, whole numbers, strings of printable ASCII without escapes. It leaves
// every other line to strictjson, so that there is one meaning only; a fuzz
// test compares the two.
type decoder struct {
	b    []byte // the line
	i    int    // next byte
	seen fields // of the line

	words map[string]string // strings that come again and again: keys, errors
	text  strings.Builder   // one allocation holds the other strings of a block
}

func newDecoder() *decoder { return &decoder{words: map[string]string{}} }

// maxWords bounds the words kept: a key for each of a flash sale's batches is
// fine, a key for each operation is not a word.
const maxWords = 1 << 14

// block decodes the lines of b up to the first that is out of shape.
func (d *decoder) block(b *block) {
	d.text = strings.Builder{}
	d.text.Grow(len(b.data) / 8)
	if room := len(b.data)/90 + 1; cap(b.events) < room {
		b.events, b.lines = make([]Event, 0, room), make([]int32, 0, room)
	}
	for data := b.data; len(data) > 0; {
		line, rest, whole := bytes.Cut(data, newline)
		data = rest
		b.count++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		b.events = append(b.events, Event{})
		if err := d.line(line, &b.events[len(b.events)-1]); err != nil {
			b.events = b.events[:len(b.events)-1]
			if b.last && !whole && len(line) <= MaxLine && !json.Valid(line) {
				b.torn = true
				return
			}
			b.err, b.errLine = err, b.count
			return
		}
		b.lines = append(b.lines, int32(b.count))
	}
}

// line decodes one line into e, which must be zero.
func (d *decoder) line(line []byte, e *Event) error {
	if len(line) > MaxLine {
		return ErrLineTooLong
	}
	d.b, d.i, d.seen = line, 0, 0
	if !d.object(e) {
		*e = Event{}
		var err error
		if d.seen, err = strictEvent(line, e); err != nil {
			return err
		}
	}
	return e.shape(d.seen)
}

// strictEvent decodes a line of any shape.
func strictEvent(line []byte, e *Event) (fields, error) {
	present, err := strictjson.Unmarshal(line, e)
	if err != nil {
		return 0, notStrict(err)
	}
	var seen fields
	for name, there := range present {
		if bit := fieldNamed(name); there && bit != 0 {
			seen |= bit
		}
	}
	return seen, nil
}

// notStrict tells text that is no JSON from JSON of another shape.
func notStrict(err error) error {
	if errors.Is(err, strictjson.ErrSyntax) {
		return fmt.Errorf("%w: %s", ErrNotJSON, strings.TrimPrefix(err.Error(), strictjson.ErrSyntax.Error()+": "))
	}
	return fmt.Errorf("%w: %w", ErrShape, err)
}

// object reads the plain shape; false means that the line has another.
func (d *decoder) object(e *Event) bool {
	d.space()
	if !d.byte('{') {
		return false
	}
	for {
		d.space()
		key, ok := d.string()
		if !ok {
			return false
		}
		d.space()
		if !d.byte(':') {
			return false
		}
		d.space()
		if !d.field(e, key) {
			return false
		}
		d.space()
		if d.byte(',') {
			continue
		}
		if !d.byte('}') {
			return false
		}
		d.space()
		return d.i == len(d.b)
	}
}

// field reads the value of one field. A field that stands twice or that is
// unknown is left to strictjson, which says so.
func (d *decoder) field(e *Event, name []byte) bool {
	bit := fieldNamed(string(name))
	if bit == 0 || d.seen&bit != 0 {
		return false
	}
	d.seen |= bit
	switch bit {
	case timeField:
		return d.int(&e.Time)
	case processField:
		return d.process(&e.Process)
	case typeField:
		return d.word((*string)(&e.Type))
	case fField:
		return d.word(&e.F)
	case opField:
		return d.int(&e.Op)
	case parentField:
		return d.int(&e.Parent)
	case keyField:
		return d.word(&e.Key)
	case qtyField:
		return d.int(&e.Qty)
	case orderField:
		return d.own(&e.Order)
	case customerField:
		return d.own(&e.Customer)
	case workField:
		return d.int(&e.Work)
	case tokenField:
		return d.own(&e.Token)
	}
	return d.rareField(e, bit)
}

func (d *decoder) rareField(e *Event, bit fields) bool {
	switch bit {
	case fenceField:
		return d.num(&e.Fence)
	case untilField:
		return d.num(&e.Until)
	case leftField:
		return d.num(&e.Left)
	case seenField:
		return d.num(&e.Seen)
	case valueField:
		return d.num(&e.Value)
	case replayField:
		return d.bool(&e.Replay)
	case finalField:
		return d.bool(&e.Final)
	case modeField:
		return d.word(&e.Mode)
	case ttlField:
		return d.int(&e.TTL)
	case errorField:
		return d.word(&e.Error)
	case noteField:
		return d.own(&e.Note)
	case proofField:
		return d.own(&e.Proof)
	}
	return false // lists and objects
}

func (d *decoder) space() {
	for d.i < len(d.b) {
		switch d.b[d.i] {
		case ' ', '\t', '\r':
			d.i++
		default:
			return
		}
	}
}

func (d *decoder) byte(c byte) bool {
	if d.i < len(d.b) && d.b[d.i] == c {
		d.i++
		return true
	}
	return false
}

// string reads a string without escapes and outside of ASCII.
func (d *decoder) string() ([]byte, bool) {
	if !d.byte('"') {
		return nil, false
	}
	for i := d.i; i < len(d.b); i++ {
		switch c := d.b[i]; {
		case c == '"':
			s := d.b[d.i:i]
			d.i = i + 1
			return s, true
		case c < ' ' || c >= 0x7f || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// word reads a string that is likely to come again.
func (d *decoder) word(to *string) bool {
	b, ok := d.string()
	if !ok {
		return false
	}
	if w, ok := d.words[string(b)]; ok {
		*to = w
		return true
	}
	*to = string(b)
	if len(d.words) < maxWords {
		d.words[*to] = *to
	}
	return true
}

// own reads a string that is likely to be the only one of its kind.
func (d *decoder) own(to *string) bool {
	b, ok := d.string()
	if !ok {
		return false
	}
	start := d.text.Len()
	d.text.Write(b)
	*to = d.text.String()[start:]
	return true
}

// int reads a whole number of at most 18 digits, so that it fits.
func (d *decoder) int(to *int64) bool {
	negative := d.byte('-')
	start, n := d.i, int64(0)
	for d.i < len(d.b) && d.b[d.i]-'0' <= 9 {
		n = n*10 + int64(d.b[d.i]-'0')
		d.i++
		if d.i-start > 18 {
			return false
		}
	}
	if d.i == start || d.b[start] == '0' && d.i > start+1 {
		return false
	}
	if negative {
		n = -n
	}
	*to = n
	return true
}

func (d *decoder) num(to *Num) bool {
	to.Known = d.int(&to.N)
	return to.Known
}

func (d *decoder) process(to *Process) bool {
	if d.i < len(d.b) && d.b[d.i] == '"' {
		name, ok := d.string()
		switch {
		case ok && string(name) == "nemesis":
			*to = Nemesis
		case ok && string(name) == "audit":
			*to = Auditor
		default:
			return false
		}
		return true
	}
	var n int64
	if !d.int(&n) || n < 0 || n > 1<<31-1 {
		return false
	}
	*to = Process(n)
	return true
}

func (d *decoder) bool(to *bool) bool {
	rest := d.b[d.i:]
	switch {
	case bytes.HasPrefix(rest, []byte("true")):
		*to = true
		d.i += 4
	case bytes.HasPrefix(rest, []byte("false")):
		*to = false
		d.i += 5
	default:
		return false
	}
	return true
}
