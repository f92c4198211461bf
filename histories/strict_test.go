package histories

import (
	"errors"
	"strings"
	"testing"
)

// lines joins a history's lines after a header.
func lines(l ...string) string { return head + strings.Join(l, "\n") + "\n" }

const (
	asks  = `{"time":5,"process":0,"type":"invoke","f":"acquire","op":1,"key":"k"}`
	grant = `{"time":6,"process":0,"type":"ok","f":"acquire","op":1,"token":"a"}`
	frees = `{"time":7,"process":0,"type":"invoke","f":"release","op":2,"key":"k","token":"a"}`
	sells = `{"time":5,"process":0,"type":"invoke","f":"sell","op":1,"key":"k","qty":2,"order":"o1"}`
)

// TestTheReaderPassesOverNothing holds what would change a verdict if it were
// not seen, beside the nearest history that is right.
func TestTheReaderPassesOverNothing(t *testing.T) {
	released := func(ending string) string {
		return lines(asks, grant, frees, `{"time":8,"process":0,"type":"fail","f":"release","op":2`+ending+`}`)
	}
	sold := func(ending string) string {
		return lines(sells, `{"time":8,"process":0,"type":"ok","f":"sell","op":1`+ending+`}`)
	}
	audit := func(rest string) string {
		return lines(`{"time":9,"process":"audit","type":"ok","f":"audit","key":"k","value":3` + rest + `}`)
	}
	acquired := func(ending string) string {
		return lines(asks, `{"time":6,"process":0,"type":"ok","f":"acquire","op":1,"token":"a"`+ending+`}`)
	}
	header := func(fields string) string { return `{"format":"lockcheck/1"` + fields + "}\n" + phase }
	tests := map[string]struct {
		right, bad, want string
	}{
		"a field of another name":         {acquired(`,"until":9`), acquired(`,"deadline":9`), `line 3: not a line of a history: unknown field "deadline": did you mean "until"?`},
		"a field that is like none":       {acquired(`,"x-permits":2`), acquired(`,"permits":2`), `line 3: not a line of a history: unknown field "permits": names of notes begin with "x-"`},
		"a field in capitals":             {acquired(`,"until":9`), acquired(`,"Until":9`), `line 3: not a line of a history: unknown field "Until": did you mean "until"?`},
		"a field of another f":            {acquired(`,"fence":2`), acquired(`,"left":2`), `line 3: invalid event: ok of acquire has no field "left"`},
		"a field twice":                   {acquired(`,"until":9`), acquired(`,"until":9,"until":8`), `line 3: not a line of a history: field "until" stands twice`},
		"a field of a header":             {header(`,"lock":{"reentrant":true}`), header(`,"lock":{"reentrent":true}`), `line 1: not a line of a history: lock: unknown field "reentrent": did you mean "reentrant"?`},
		"a unit in a field's name":        {header(`,"lock":{"ttl":1}`), header(`,"lock":{"ttl_ms":1}`), `line 1: not a line of a history: lock: unknown field "ttl_ms": did you mean "ttl"?`},
		"a note in a header":              {header(`,"x-by":{"me":[1]}`), header(`,"by":"me"`), `line 1: not a line of a history: unknown field "by": names of notes begin with "x-"`},
		"an order row that says id":       {audit(`,"orders":[{"order":"o1","qty":1,"x-n":1}]`), audit(`,"orders":[{"id":"o1","qty":1}]`), `line 2: not a line of a history: orders[0]: unknown field "id": did you mean "order"?`},
		"an order row that is a text":     {audit(`,"orders":[]`), audit(`,"orders":["o1"]`), `line 2: not a line of a history: orders[0]: want an object, not the text "o1"`},
		"a quantity that is a text":       {audit(`,"orders":[{"order":"o1","qty":2}]`), audit(`,"orders":[{"order":"o1","qty":"2"}]`), `line 2: not a line of a history: orders[0].qty: want a whole number, not the text "2"`},
		"a quantity below zero":           {audit(`,"orders":[{"qty":0}]`), audit(`,"orders":[{"qty":-1}]`), `line 2: invalid event: orders[0]: qty -1 is out of bounds`},
		"a number with a point":           {sold(`,"left":7`), sold(`,"left":7.0`), `line 3: not a line of a history: left: 7.0 is not a whole number`},
		"no time":                         {lines(asks), lines(strings.Replace(asks, `"time":5,`, "", 1)), "line 2: invalid event: no time"},
		"a time of null":                  {lines(asks), lines(strings.Replace(asks, `"time":5`, `"time":null`, 1)), "line 2: invalid event: no time"},
		"a time that is a date":           {lines(strings.Replace(asks, `"time":5`, `"time":9007199254740992`, 1)), lines(strings.Replace(asks, `"time":5`, `"time":1700000000000000000`, 1)), "line 2: invalid event: time 1700000000000000000 is more than 104 days after the start of the run: want nanoseconds since its start"},
		"no process":                      {lines(asks), lines(strings.Replace(asks, `"process":0,`, "", 1)), "line 2: invalid event: no process"},
		"no key":                          {lines(asks), lines(strings.Replace(asks, `,"key":"k"`, "", 1)), "line 2: invalid event: acquire without key"},
		"no op":                           {lines(strings.Replace(asks, `"op":1`, `"op":0`, 1)), lines(strings.Replace(asks, `"op":1,`, "", 1)), "line 2: invalid event: invoke of acquire without op"},
		"an op below zero":                {lines(asks), lines(strings.Replace(asks, `"op":1`, `"op":-1`, 1)), "line 2: invalid event: op -1 is out of bounds: want 0 to 9223372036854775807"},
		"an op of 0 twice":                {lines(strings.Replace(asks, `"op":1`, `"op":0`, 1), asks), lines(strings.Replace(asks, `"op":1`, `"op":0`, 1), strings.Replace(asks, `"op":1`, `"op":0`, 1)), "line 3: used twice: op 0 was invoked at line 2 already"},
		"an acquire by the nemesis":       {lines(`{"time":1,"process":"nemesis","type":"info","f":"kill"}`), lines(`{"time":1,"process":"nemesis","type":"info","f":"acquire"}`), `line 2: invalid event: acquire by process "nemesis": it only injects and sees faults`},
		"an acquire by the auditor":       {audit(""), lines(strings.Replace(asks, "0", `"audit"`, 1)), `line 2: invalid event: acquire by process "audit": it only audits`},
		"an audit by a worker":            {audit(""), strings.Replace(audit(""), `"audit"`, "3", 1), `line 2: invalid event: audit by worker 3: want process "audit"`},
		"a fault that nobody knows":       {lines(`{"time":1,"process":"nemesis","type":"info","f":"pause"}`), lines(`{"time":1,"process":"nemesis","type":"info","f":"paus"}`), `line 2: invalid event: unknown f "paus": did you mean "pause"?`},
		"a release that says not-owner":   {released(`,"error":"not the owner"`), released(`,"error":"not-owner"`), `line 5: invalid event: error "not-owner": did you mean "not the owner"?`},
		"a release for a reason unknown":  {released(`,"error":"refused: server is starting"`), released(`,"error":"oops"`), `line 5: invalid event: unknown error "oops" of a failed release: want "not the owner", or "refused:" and why`},
		"a release with why":              {released(`,"error":"not the owner: token b"`), released(`,"error":"not the ownership"`), `line 5: invalid event: error "not the ownership": did you mean "not the owner"?`},
		"a reply of a server":             {released(`,"error":"dial redis-1: timeout: connection refused"`), released(`,"error":"timeout"`), `line 5: invalid event: unknown error "timeout" of a failed release: want "not the owner", or "refused:" and why`},
		"an acquire that says locked":     {lines(asks, `{"time":6,"process":0,"type":"fail","f":"acquire","op":1,"error":"busy, 2 of 5"}`), lines(asks, `{"time":6,"process":0,"type":"fail","f":"acquire","op":1,"error":"locked"}`), `line 3: invalid event: error "locked": did you mean "busy"?`},
		"a sale that says sold out":       {lines(sells, `{"time":6,"process":0,"type":"fail","f":"sell","op":1,"error":"sold-out"}`), lines(sells, `{"time":6,"process":0,"type":"fail","f":"sell","op":1,"error":"sold out"}`), `line 3: invalid event: error "sold out": did you mean "sold-out"?`},
		"a sale that fails otherwise":     {lines(sells, `{"time":6,"process":0,"type":"fail","f":"sell","op":1,"error":"card declined"}`), sold(`,"error":"card declined"`), `line 3: invalid event: ok of sell with an error: "card declined"`},
		"a mode":                          {lines(strings.Replace(asks, `"op":1`, `"op":1,"mode":"read"`, 1)), lines(strings.Replace(asks, `"op":1`, `"op":1,"mode":"shared"`, 1)), `line 2: invalid event: mode is "shared": want read or write`},
		"another key in the completion":   {acquired(`,"key":"k"`), acquired(`,"key":"K"`), `line 3: invalid event: op 1 is completed with key "K", but was invoked with "k" at line 2`},
		"another order in the completion": {sold(`,"order":"o1"`), sold(`,"order":"o2"`), `line 3: invalid event: op 1 is completed with order "o2", but was invoked with "o1" at line 2`},
		"another quantity":                {sold(`,"qty":2`), sold(`,"qty":3`), `line 3: invalid event: op 1 is completed with qty 3, but was invoked for 2 at line 2`},
		"a quantity in the completion only": {lines(`{"time":5,"process":0,"type":"invoke","f":"sell","op":1,"key":"k"}`, `{"time":6,"process":0,"type":"ok","f":"sell","op":1,"qty":1}`),
			lines(`{"time":5,"process":0,"type":"invoke","f":"sell","op":1,"key":"k"}`, `{"time":6,"process":0,"type":"ok","f":"sell","op":1,"qty":3}`),
			"line 3: invalid event: op 1 is completed with qty 3, but was invoked for 1 at line 2"},
		"another token": {released(`,"token":"a"`), released(`,"token":"b"`), `line 5: invalid event: op 2 is completed with token "b", but was invoked with "a" at line 4`},
		"a parent that is not there": {lines(sells, `{"time":5,"process":0,"type":"invoke","f":"acquire","op":2,"key":"l","parent":1}`), lines(sells, `{"time":5,"process":0,"type":"invoke","f":"acquire","op":2,"key":"l","parent":3}`),
			"line 3: invalid event: parent 3 is no operation of this history"},
		"a parent of another worker": {lines(sells, `{"time":5,"process":0,"type":"invoke","f":"read","op":2,"key":"k","parent":1}`), lines(sells, `{"time":5,"process":1,"type":"invoke","f":"read","op":2,"key":"k","parent":1}`),
			"line 3: invalid event: parent 1 is of worker 0, not of 1 (line 2)"},
		"a parent that is no sale": {lines(sells, asks2), lines(asks, `{"time":5,"process":0,"type":"invoke","f":"read","op":2,"key":"k","parent":1}`),
			"line 3: invalid event: parent 1 is no sell, but acquire: want the sell that this step belongs to (line 2)"},
		"a read without value": {lines(`{"time":5,"process":0,"type":"invoke","f":"read","op":1,"key":"k"}`, `{"time":6,"process":0,"type":"ok","f":"read","op":1,"value":4}`),
			lines(`{"time":5,"process":0,"type":"invoke","f":"read","op":1,"key":"k"}`, `{"time":6,"process":0,"type":"ok","f":"read","op":1}`), "line 3: invalid event: a read that is ok without value"},
		"a header alone":                {header(""), head, ErrNoEvent.Error()},
		"a ttl below zero":              {header(`,"lock":{"ttl":0}`), header(`,"lock":{"ttl":-1}`), "line 1: not a line of a history: lock.ttl -1 is out of bounds: want 0 to 9007199254740992 ns"},
		"a stock below zero":            {header(`,"initial":0`), header(`,"initial":-1152921504606846976`), "line 1: not a line of a history: initial -1152921504606846976 is out of bounds: want 0 to 9007199254740992 units"},
		"a stock of one key below zero": {header(`,"stock":{"a":9007199254740992}`), header(`,"stock":{"a":9007199254740993}`), `line 1: not a line of a history: stock of "a": 9007199254740993 is out of bounds: want 0 to 9007199254740992 units`},
		"keys that are no text":         {lines(strings.Replace(asks, `"k"`, `"é"`, 1)), lines(strings.Replace(asks, `"k"`, "\"\xff\"", 1)), "line 2: not a line of a history: text that is not UTF-8"},
		"halves of characters":          {lines(strings.Replace(asks, `"k"`, `"\ud83d\ude00\\ud800"`, 1)), lines(strings.Replace(asks, `"k"`, `"\ud83d"`, 1)), `line 2: not a line of a history: half of a surrogate pair, which is no character: \ud83d`},
		"a last line without its end":   {lines(asks) + grant, lines(asks) + strings.Replace(grant, "token", "tokn", 1), `line 3: not a line of a history: unknown field "tokn": did you mean "token"?`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadJSON(strings.NewReader(tt.right)); err != nil {
				t.Errorf("refused what is right: %v\n%s", err, tt.right)
			}
			_, err := ReadJSON(strings.NewReader(tt.bad))
			if err == nil || err.Error() != tt.want {
				t.Errorf("error\n got %v\nwant %v", err, tt.want)
			}
			if err != nil && !errors.Is(err, ErrEvent) && !errors.Is(err, ErrShape) && !errors.Is(err, ErrNoEvent) && !errors.Is(err, ErrDuplicate) {
				t.Errorf("%v is of no kind", err)
			}
		})
	}
}

const asks2 = `{"time":5,"process":0,"type":"invoke","f":"acquire","op":2,"key":"l","parent":1}`

func TestAnOpOfZeroIsAnOperation(t *testing.T) {
	in := lines(`{"time":1,"process":0,"type":"invoke","f":"sell","op":0,"key":"k"}`,
		`{"time":2,"process":0,"type":"invoke","f":"acquire","op":1,"key":"l","parent":0}`,
		`{"time":3,"process":0,"type":"ok","f":"acquire","op":1}`, `{"time":4,"process":0,"type":"ok","f":"sell","op":0}`)
	h, err := ReadJSON(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	if h.Ops[0].ID != 2 || h.Ops[0].Outcome != OK || h.Ops[1].Parent != 2 || len(h.Notes) != 1 || h.Notes[0] != "op 0 (line 2) is called op 2 here" {
		t.Errorf("%+v, notes %q", h.Ops, h.Notes)
	}
	h, err = ReadJSON(strings.NewReader(lines(strings.Replace(asks, `"op":1`, `"op":1,"parent":0`, 1))))
	if err != nil || h.Ops[0].Parent != 0 || len(h.Notes) != 0 {
		t.Errorf("a parent of 0 where no op is 0: %+v, %v", h, err)
	}
}
