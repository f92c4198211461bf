package histories

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const head = `{"format":"lockcheck/1","initial":5,"lock":{"ttl":0,"grace":0},"max-delay":0}` + "\n"

// phase is the smallest event.
const phase = `{"time":0,"process":"nemesis","type":"info","f":"phase"}` + "\n"

func TestReadJSONRefusesWhatIsOutOfShape(t *testing.T) {
	const inv = `{"time":5,"process":0,"type":"invoke","f":"sell","op":1,"key":"sku-1"}` + "\n"
	long := `{"note":"` + strings.Repeat("x", MaxLine) + `"}` + "\n"
	tests := map[string]struct {
		in   string
		want string
		kind error
	}{
		"nothing at all":              {"", ErrEmpty.Error(), ErrEmpty},
		"blank lines only":            {"\n \n\n", ErrEmpty.Error(), ErrEmpty},
		"a header that is no JSON":    {"what\n", "line 1: not JSON: invalid character 'w' looking for beginning of value", ErrNotJSON},
		"a header without a format":   {"{}\n", `line 1: not a history of format lockcheck/1: the header says format ""`, ErrFormat},
		"a header of another version": {`{"format":"lockcheck/9"}`, `line 1: not a history of format lockcheck/1: the header says format "lockcheck/9"`, ErrFormat},
		"no header after blank lines": {"\n\n[]\n", "line 3: not a line of a history: want an object, not a list", ErrShape},
		"a line that is no JSON":      {head + inv + "{oops}\n", "line 3: not JSON: invalid character 'o' looking for beginning of object key string", ErrNotJSON},
		"a line that is an array":     {head + "[1]\n", "line 2: not a line of a history: want an object, not a list", ErrShape},
		"an unknown type":             {head + `{"time":0,"process":0,"type":"done","f":"sell","op":1}` + "\n", `line 2: invalid event: type "done" is none of invoke, ok, fail, info`, ErrEvent},
		"an unknown f":                {head + `{"time":0,"process":0,"type":"invoke","f":"aquire","op":1}` + "\n", `line 2: invalid event: unknown f "aquire": did you mean "acquire"?`, ErrEvent},
		"a negative time":             {head + `{"time":-1,"process":0,"type":"invoke","f":"sell","op":1}` + "\n", "line 2: invalid event: time -1 is before the start of the run", ErrEvent},
		"a negative quantity":         {head + `{"time":0,"process":0,"type":"invoke","f":"sell","op":1,"qty":-2}` + "\n", "line 2: invalid event: qty -2 is negative", ErrEvent},
		"an invocation without op":    {head + `{"time":0,"process":0,"type":"invoke","f":"sell"}` + "\n", "line 2: invalid event: invoke of sell without op", ErrEvent},
		"an op id used twice":         {head + inv + inv, "line 3: used twice: op 1 was invoked at line 2 already", ErrDuplicate},
		"an op completed twice": {head + inv + `{"time":6,"process":0,"type":"ok","f":"sell","op":1}` + "\n" + `{"time":7,"process":0,"type":"ok","f":"sell","op":1}` + "\n",
			"line 4: used twice: op 1 was completed at line 3 already", ErrDuplicate},
		"an op completed twice before it begins": {head + strings.Repeat(`{"time":6,"process":0,"type":"ok","f":"sell","op":1}`+"\n", 2),
			"line 3: used twice: op 1 was completed at line 2 already", ErrDuplicate},
		"a completion without invocation": {head + inv + `{"time":6,"process":0,"type":"ok","f":"sell","op":2}` + "\n", "line 3: completion without an invocation: op 2", ErrUnpaired},
		"a completion of another f":       {head + inv + `{"time":6,"process":0,"type":"ok","f":"write","op":1}` + "\n", "line 3: invalid event: op 1 is completed as write, but was invoked as sell at line 2", ErrEvent},
		"a completion by another worker":  {head + inv + `{"time":6,"process":1,"type":"ok","f":"sell","op":1}` + "\n", "line 3: invalid event: op 1 is completed by worker 1, but was invoked by 0 at line 2", ErrEvent},
		"a completion before its call":    {head + inv + `{"time":4,"process":0,"type":"ok","f":"sell","op":1}` + "\n", "line 3: invalid event: op 1 is completed at 4 ns, before its invocation at 5 ns (line 2)", ErrEvent},
		"a line over the limit":           {head + inv + long + inv, "line 3: line longer than 16 MiB", ErrLineTooLong},
		"an endless line":                 {head + strings.Repeat("x", MaxLine+3<<20), "line 2: line longer than 16 MiB", ErrLineTooLong},
		"an endless first line":           {strings.Repeat("x", MaxLine+3<<20), "line 1: line longer than 16 MiB", ErrLineTooLong},
		"many completions and no invocation": {head + strings.Repeat("\n", 3) + completions(maxDisorder+1),
			"line 65541: completion without an invocation: op 65537, and 65536 before it", ErrUnpaired},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ReadJSON(strings.NewReader(tt.in))
			if err == nil || err.Error() != tt.want {
				t.Fatalf("error\n got %v\nwant %v", err, tt.want)
			}
			if !errors.Is(err, tt.kind) {
				t.Errorf("%v is not a %v", err, tt.kind)
			}
		})
	}
}

func completions(n int) string {
	var b strings.Builder
	for i := range n {
		line, _ := Event{Time: 1, Type: OK, F: Sell, Op: int64(i + 1)}.Line()
		b.Write(append(line, '\n'))
	}
	return b.String()
}

func TestReadJSONPairsEvents(t *testing.T) {
	in := head +
		`{"time":9,"process":1,"type":"ok","f":"acquire","op":2,"token":"b","fence":0,"until":20}` + "\n" + // before its invocation
		`{"time":7,"process":1,"type":"invoke","f":"sell","op":1,"key":"sku-1","qty":3,"order":"o1","customer":"c","work":8}` + "\r\n" +
		"\n" +
		`{"time":7,"process":1,"type":"invoke","f":"acquire","op":2,"parent":1,"key":"stock:sku-1"}` + "\n" +
		`{"time":3,"process":2,"type":"invoke","f":"read","op":70000000000,"key":"sku-1"}` + "\n" + // earlier in time, later in the file
		`{"time":4,"process":"nemesis","type":"info","f":"kill","targets":["redis-1"],"fault":{"f":"kill","mode":"host"}}` + "\n" +
		`{"time":30,"process":1,"type":"info","f":"lost","key":"stock:sku-1","token":"b"}` + "\n" +
		`{"time":31,"process":1,"type":"fail","f":"sell","op":1,"error":"sold-out","seen":-1}` + "\n" +
		`{"time":99,"process":"audit","type":"ok","f":"audit","key":"sku-1","value":5,"orders":[{"order":"o1","qty":3}]}` + "\n" +
		`{"time":99,"process":0,"type":"o` // the run was killed here
	h, err := ReadJSON(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := &History{
		Header: Header{Format: Format, Initial: 5},
		Ops: []Op{
			{ID: 70000000000, Process: 2, F: Read, Key: "sku-1", Call: 3, Return: Never, CallLine: 6, Outcome: Info, Qty: 1},
			{ID: 1, Process: 1, F: Sell, Key: "sku-1", Call: 7, Return: 31, CallLine: 3, ReturnLine: 9, Outcome: Fail, Qty: 3,
				Work: 8, Order: "o1", Customer: "c", Error: SoldOut, Seen: N(-1)},
			{ID: 2, Parent: 1, Process: 1, F: Acquire, Key: "stock:sku-1", Call: 7, Return: 9, CallLine: 5, ReturnLine: 2,
				Outcome: OK, Qty: 1, Token: "b", Fence: N(0), Until: N(20)},
		},
		Marks: []Event{
			{Time: 4, Process: Nemesis, Type: Info, F: Kill, Targets: []string{"redis-1"}, Fault: &Fault{F: Kill, Mode: "host"}},
			{Time: 30, Process: 1, Type: Info, F: Lost, Key: "stock:sku-1", Token: "b"},
		},
		Audits: []Event{{Time: 99, Process: Auditor, Type: OK, F: Audit, Key: "sku-1", Value: N(5), Orders: []Order{{ID: "o1", Qty: 3}}}},
		End:    99,
		Notes:  []string{"the last line is cut off and was dropped"},
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Error(diff)
	}
}
