package histories

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyEvent draws events with all fields, strings that need escaping included.
func anyEvent(t *rapid.T) Event {
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z0-9:#-]{1,12}`), rapid.String())
	num := rapid.Custom(func(t *rapid.T) Num {
		if rapid.Bool().Draw(t, "known") {
			return N(rapid.Int64().Draw(t, "n"))
		}
		return Num{}
	})
	e := Event{
		Time: rapid.Int64().Draw(t, "time"), Process: Process(rapid.Int32Range(-2, 1<<31-1).Draw(t, "process")),
		Type: Type(text.Draw(t, "type")), F: text.Draw(t, "f"), Op: rapid.Int64().Draw(t, "op"), Parent: rapid.Int64Range(-1, 1).Draw(t, "parent"),
		Key: text.Draw(t, "key"), Qty: rapid.Int64Range(-1, 3).Draw(t, "qty"), Order: text.Draw(t, "order"), Customer: text.Draw(t, "customer"),
		Work: rapid.Int64Range(0, 9).Draw(t, "work"), Token: text.Draw(t, "token"),
		Fence: num.Draw(t, "fence"), Until: num.Draw(t, "until"), Left: num.Draw(t, "left"), Seen: num.Draw(t, "seen"), Value: num.Draw(t, "value"),
		Replay: rapid.Bool().Draw(t, "replay"), Final: rapid.Bool().Draw(t, "final"), Mode: text.Draw(t, "mode"), Error: text.Draw(t, "error"),
		Proof: text.Draw(t, "proof"), Note: text.Draw(t, "note"),
	}
	if rapid.Bool().Draw(t, "rare") {
		e.Orders = []Order{{ID: text.Draw(t, "id"), Qty: 2}}[:rapid.IntRange(0, 1).Draw(t, "rows")]
		e.Targets = []string{text.Draw(t, "target")}
		e.Fault = &Fault{F: Kill, Mode: text.Draw(t, "mode")}
	}
	return e
}

func TestLineIsWhatEncodingJSONWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent(t)
		got, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("\n got %s\nwant %s", got, want)
		}
	})
}

// sameAsStrict compares the decoder with the strict one on one line.
func sameAsStrict(t interface{ Fatalf(string, ...any) }, line []byte) {
	var got, want Event
	err := newDecoder().line(line, &got)
	seen, wantErr := strictEvent(line, &want)
	if wantErr == nil {
		wantErr = want.shape(seen)
	}
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%q: error %v, the strict one says %v", line, err, wantErr)
	}
	if diff := cmp.Diff(want, got); err == nil && diff != "" {
		t.Fatalf("%q: (-strict +ours)\n%s", line, diff)
	}
	var loose Event
	if wantLoose := json.Unmarshal(line, &loose); err == nil && wantLoose != nil {
		t.Fatalf("%q: accepted, but encoding/json says %v", line, wantLoose)
	}
}

func TestDecoderMeansWhatTheStrictOneMeans(t *testing.T) {
	lines := []string{
		`{}`, ` { } `, `{"time":1}`, `{"time":01}`, `{"time":-0}`, `{"time":1.0}`, `{"time":1e3}`, `{"time":null}`, `{"time":"1"}`,
		`{"time":9223372036854775807}`, `{"time":9223372036854775808}`, `{"time":-9223372036854775808}`, `{"time":-}`, `{"time":1,}`,
		`{"TIME":7}`, `{"time":1,"time":2}`, `{"unknown":[1,{"a":null}],"op":3}`, `{"process":-1}`, `{"process":"nemesis"}`, `{"process":"x"}`,
		`{"process":2147483647}`, `{"process":2147483648}`, `{"process":"3"}`, `{"key":"a\nb"}`, `{"key":"ä"}`, "{\"key\":\"\xff\"}", "{\"key\":\"\x7f\"}",
		`{"fence":null}`, `{"fence":7}`, `{"fence":"7"}`, `{"replay":true}`, `{"replay":false,"final":true}`, `{"replay":null}`, `{"replay":tru}`,
		`{"replay":truefinal":1}`, `{"op":1}x`, `{"op":1}{}`, `{"op":1`, `{"op" :1 , "f": "x"}`, `{"op":1,"f"}`, `{"a":1 "b":2}`, `{,}`, `[]`, `1`, `null`, ``,
	}
	for _, line := range lines {
		sameAsStrict(t, []byte(line))
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte(`{"time":1203456789,"process":3,"type":"invoke","f":"sell","op":41,"key":"sku-2","qty":1,"order":"w3-17"}`))
	f.Add([]byte(`{"time":-1,"process":"nemesis","type":"info","f":"kill","targets":["redis-1"],"fault":{"f":"kill"},"until":null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if !bytes.ContainsRune(line, '\n') {
			sameAsStrict(t, line)
		}
	})
}

// FuzzReadJSON looks for input that panics or hangs, and for histories that
// read differently when their lines come in other blocks.
func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(head + `{"time":5,"process":0,"type":"invoke","f":"sell","op":1,"key":"sku-1"}` + "\n" + `{"time":6,"process":0,"type":"ok","f":"sell","op":1}`))
	f.Add([]byte(head + `{"type":"ok","f":"audit"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadJSON(bytes.NewReader(data))
		again, errAgain := ReadJSON(io.MultiReader(bytes.NewReader(data[:len(data)/2]), bytes.NewReader(data[len(data)/2:])))
		if fmt.Sprint(err) != fmt.Sprint(errAgain) || err == nil && !cmp.Equal(h, again) {
			t.Fatalf("%v, then %v", err, errAgain)
		}
		if err == nil {
			for i := range h.Ops {
				if op := h.Ops[i]; op.Return < op.Call || i > 0 && op.Call < h.Ops[i-1].Call {
					t.Fatalf("op %d out of order", op.ID)
				}
			}
		}
	})
}

func FuzzReadEDN(f *testing.F) {
	f.Add([]byte(`[#jepsen.history.Op{:type :invoke, :f :acquire, :value nil, :process 0, :time 10} {:type :info :f :acquire :process 0 :time 11}]`))
	f.Add([]byte(`{:type :invoke :f :cas :process 0 :value ["a" [5 3]]} #_#_ "x\u0041" \a {:type :ok :f :cas :process 0 #{1/2} ##NaN}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadEDN(bytes.NewReader(data))
		if err == nil && len(h.Ops)+len(h.Marks) == 0 {
			t.Fatal("an empty history without an error")
		}
	})
}

// endless gives x without end, and counts.
type endless struct{ given int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.given += int64(len(p))
	return len(p), nil
}

func TestAnEndlessLineIsRefusedWithoutHoldingIt(t *testing.T) {
	for name, begin := range map[string]string{"of ours": head, "of EDN": "{:type \""} {
		t.Run(name, func(t *testing.T) {
			line := &endless{}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ReadAny(io.MultiReader(strings.NewReader(begin), line))
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Fatal("no error")
			}
			if line.given > 2*MaxLine {
				t.Errorf("it read %d MiB before it gave up", line.given>>20)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 8*MaxLine {
				t.Errorf("it took %d MiB", took>>20)
			}
		})
	}
}

func TestManyOpenOperationsAndIdsOutOfOrder(t *testing.T) {
	var in bytes.Buffer
	in.WriteString(head)
	const n = 100_000
	for i := range n {
		id := int64(i+1) * 1_000_003 % 999_999_937 * 9_000_000_000 % (1 << 60) // sparse and in no order
		line, err := Event{Time: int64(n - i), Type: Invoke, F: Sell, Op: id, Key: "sku-1"}.Line()
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	h, err := ReadJSON(&in)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Ops) != n || h.Ops[0].Call != 1 || h.Ops[n-1].Call != n || h.Ops[n-1].CallLine != 2 {
		t.Errorf("%d operations, from %+v to %+v", len(h.Ops), h.Ops[0], h.Ops[len(h.Ops)-1])
	}
}

// writeBig writes a history of n sells with their steps to a file.
func writeBig(tb testing.TB, n int) (path string, size int64) {
	tb.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	var out bytes.Buffer
	out.WriteString(head)
	for i := range n {
		at, op, w := int64(i)*1_000, int64(i+1), Process(r.IntN(50))
		e := Event{Time: at, Process: w, Type: Invoke, F: Sell, Op: op, Key: fmt.Sprintf("sku-%d", r.IntN(100)), Order: fmt.Sprintf("w%d-%d", w, i), Qty: 1}
		done := Event{Time: at + 5000, Process: w, Type: OK, F: Sell, Op: op, Left: N(int64(n - i))}
		for _, e := range []Event{e, done} {
			line, err := e.Line()
			if err != nil {
				tb.Fatal(err)
			}
			out.Write(append(line, '\n'))
		}
	}
	path = filepath.Join(tb.TempDir(), "big.jsonl")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path, int64(out.Len())
}

func BenchmarkReadFile(b *testing.B) {
	path, size := writeBig(b, 1_000_000)
	b.SetBytes(size)
	for b.Loop() {
		h, err := ReadFile(path)
		if err != nil || len(h.Ops) != 1_000_000 {
			b.Fatal(err)
		}
	}
}

func BenchmarkLine(b *testing.B) {
	e := Event{Time: 1203456789, Process: 3, Type: Invoke, F: Sell, Op: 41, Key: "sku-2", Qty: 1, Order: "w3-17"}
	for b.Loop() {
		if _, err := e.Line(); err != nil {
			b.Fatal(err)
		}
	}
}
