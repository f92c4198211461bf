package histories

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadEDNReadsJepsenHistories(t *testing.T) {
	lock := []Op{
		{ID: 1, Process: 0, F: Acquire, Key: "lock", Call: 10, Return: 20, CallLine: 1, ReturnLine: 3, Outcome: OK, Qty: 1},
		{ID: 2, Process: 1, F: Acquire, Key: "lock", Call: 15, Return: 40, CallLine: 2, ReturnLine: 5, Outcome: Info, Qty: 1, Error: "timeout"},
		{ID: 3, Process: 0, F: Release, Key: "lock", Call: 30, Return: Never, CallLine: 4, Outcome: Info, Qty: 1},
	}
	tests := map[string]struct {
		in   string
		ops  []Op
		mark string // note of the only mark
	}{
		"one map a line": {in: `{:type :invoke, :f :acquire, :value nil, :process 0, :time 10, :index 0}
{:type :invoke, :f :acquire, :value nil, :process 1, :time 15, :index 1}
{:type :ok, :f :acquire, :value nil, :process 0, :time 20, :index 2}
{:type :invoke, :f :release, :value nil, :process 0, :time 30, :index 3}
{:type :info, :f :acquire, :value nil, :process 1, :time 40, :error :timeout, :index 4}
`, ops: lock},
		"a vector of tagged maps": {in: `[#jepsen.history.Op{:index 0, :time 10, :type :invoke, :process 0, :f :acquire, :value nil}
#jepsen.history.Op{:index 1, :time 15, :type :invoke, :process 1, :f :acquire, :value nil}
#jepsen.history.Op{:index 2, :time 20, :type :ok, :process 0, :f :acquire, :value nil}
#jepsen.history.Op{:index 3, :time 30, :type :invoke, :process 0, :f :release, :value nil}
#jepsen.history.Op{:index 4, :time 40, :type :info, :process 1, :f :acquire, :value nil, :error [:timeout "5 s"]}
]`, ops: lock},
		"lists, commas, comments and discarded forms": {in: `; a history
({:type :invoke, :f :lock :process 0, :exception {:via [{:type "x"}], :ratio 1/2, :set #{1 2}, :char \a}} #_ {:type :no}
 #_ #_ 1 2 {:type :ok :f :lock :process 0 :value "tok\u0065n\n"})`,
			ops: []Op{{ID: 1, F: Acquire, Key: "lock", Call: 0, Return: 1, CallLine: 2, ReturnLine: 2, Outcome: OK, Qty: 1, Token: "token\n"}}},
		"fences, owners and keys": {in: `{:type :invoke :f :acquire :process 0 :value ["a" nil]}
{:type :ok :f :acquire :process 0 :value ["a" {:token "t" :fence 7}]}
{:type :invoke :f :release :process 0 :value ["a" {:token "t"}]}
{:type :fail :f :release :process 0 :value ["a" {:token "t"}] :error :not-lock-owner}`,
			ops: []Op{
				{ID: 1, F: Acquire, Key: "a", Call: 0, Return: 1, CallLine: 1, ReturnLine: 2, Outcome: OK, Qty: 1, Token: "t", Fence: N(7)},
				{ID: 2, F: Release, Key: "a", Call: 2, Return: 3, CallLine: 3, ReturnLine: 4, Outcome: Fail, Qty: 1, Token: "t", Error: NotOwner},
			}},
		"a counter": {in: `{:type :invoke :f :add :process 0 :value 5}
{:type :ok :f :add :process 0 :value 5}
{:type :invoke :f :add :process 0 :value -2}
{:type :fail :f :add :process 0 :value -2 :error :sold-out}
{:type :invoke :f :dec :process 1}
{:type :info :f :dec :process 1}
{:type :invoke :f :read :process 2 :value nil}
{:type :ok :f :read :process 2 :value 4}`,
			ops: []Op{
				{ID: 1, F: Restock, Key: "stock", Call: 0, Return: 1, CallLine: 1, ReturnLine: 2, Outcome: OK, Qty: 5},
				{ID: 2, F: Sell, Key: "stock", Call: 2, Return: 3, CallLine: 3, ReturnLine: 4, Outcome: Fail, Qty: 2, Error: SoldOut},
				{ID: 3, Process: 1, F: Sell, Key: "stock", Call: 4, Return: 5, CallLine: 5, ReturnLine: 6, Outcome: Info, Qty: 1},
				{ID: 4, Process: 2, F: Read, Key: "stock", Call: 6, Return: 7, CallLine: 7, ReturnLine: 8, Outcome: OK, Qty: 1, Value: N(4)},
			}},
		"a register that is compared and set": {in: `{:type :invoke :f :cas :process 0 :value [3 [5 3]]}
{:type :ok :f :cas :process 0 :value [3 [5 3]]}
{:type :invoke :f :cas :process 0 :value [3 4]}
{:type :ok :f :cas :process 0 :value [3 4]}`,
			ops: []Op{
				{ID: 1, F: Sell, Key: "3", Call: 0, Return: 1, CallLine: 1, ReturnLine: 2, Outcome: OK, Qty: 2, Left: N(3)},
				{ID: 2, F: Restock, Key: "stock", Call: 2, Return: 3, CallLine: 3, ReturnLine: 4, Outcome: OK, Qty: 1, Left: N(4)},
			}},
		"numbers that are whole": {in: `{:type :invoke :f :read :process 0 :value ["\ud83d\ude00" nil] :time 1E1}
{:type :ok :f :read :process 0 :value ["😀" 7.0] :time 20N}
{:type :invoke :f :dec :process 0 :value ["a" 2.0M] :time 30}
{:type :info :f :dec :process 0 :value nil :time 40.0}`,
			ops: []Op{
				{ID: 1, F: Read, Key: "😀", Call: 10, Return: 20, CallLine: 1, ReturnLine: 2, Outcome: OK, Qty: 1, Value: N(7)},
				{ID: 2, F: Sell, Key: "a", Call: 30, Return: 40, CallLine: 3, ReturnLine: 4, Outcome: Info, Qty: 2},
			}},
		"a nemesis": {in: `{:type :info :f :kill :process :nemesis :value ["n1" :n2] :time 5}`, mark: "n1 n2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, err := ReadAny(strings.NewReader(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.ops, h.Ops); diff != "" {
				t.Error(diff)
			}
			if tt.mark != "" && (len(h.Marks) != 1 || h.Marks[0].Note != tt.mark || h.Marks[0].F != Kill) {
				t.Errorf("marks %+v", h.Marks)
			}
		})
	}
}

func TestReadEDNRefusesWhatIsOutOfShape(t *testing.T) {
	const inv = "{:type :invoke :f :acquire :process 0}\n"
	tests := map[string]struct {
		in, want string
		kind     error
	}{
		"nothing":                      {"; only a comment\n", ErrEmpty.Error(), ErrEmpty},
		"an empty vector":              {"[]", ErrEmpty.Error(), ErrEmpty},
		"a vector without end":         {"[" + inv, "line 2: not EDN: it ends inside the vector of operations", errEDN},
		"a map without end":            {"{:type :invoke", "line 1: not EDN: it ends inside a form", errEDN},
		"a string without end":         {`{:type "inv`, "line 1: not EDN: it ends inside a string", errEDN},
		"brackets that do not fit":     {"{:type [1}}", "line 1: not EDN: a list or set ends with '}'", errEDN},
		"a key without value":          {"{:type :invoke :f}", "line 1: not EDN: '}' where the value of f was wanted", errEDN},
		"a closing bracket too many":   {inv + "]", "line 2: invalid event: \"93\" is no operation: want a map with :type, :f and :process", ErrEvent},
		"nesting without end":          {"{:type " + strings.Repeat("[", 1000), "line 1: not EDN: nested deeper than 32", errEDN},
		"tags without end":             {strings.Repeat("#a ", 1000), "line 1: not EDN: nested deeper than 32", errEDN},
		"a number":                     {"[1 2]", "line 1: invalid event: \"1\" is no operation: want a map with :type, :f and :process", ErrEvent},
		"no process":                   {"{:type :invoke :f :acquire}", "line 1: invalid event: process is \"\"", ErrEvent},
		"an unknown type":              {"{:type :done :f :acquire :process 0}", "line 1: completion without an invocation: done of :acquire by process 0", ErrUnpaired},
		"an unknown f":                 {"\n{:type :invoke :f :write :process 0 :value 3}", "line 2: invalid event: :f :write means nothing for a lock or a stock", ErrEvent},
		"two invocations by a process": {inv + inv, "line 2: invalid event: process 0 invokes :acquire before its :acquire completed", ErrEvent},
		"a completion of another f":    {inv + "{:type :ok :f :release :process 0}", "line 2: invalid event: process 0 completes :release, but invoked :acquire", ErrEvent},
		"a completion of nothing":      {"{:type :ok :f :release :process 0}", "line 1: completion without an invocation: ok of :release by process 0", ErrUnpaired},
		"an addition of a word":        {"{:type :invoke :f :add :process 0 :value :x}", "line 1: invalid event: :add of \"x\"", ErrEvent},
		"a cas of one number":          {"{:type :invoke :f :cas :process 0 :value 3}", "line 1: invalid event: :cas of \"3\"", ErrEvent},
		"a time that is missing":       {"{:type :invoke :f :acquire :process 0 :time 1}\n{:type :ok :f :acquire :process 0}", "line 2: invalid event: no :time, though events before have one", ErrEvent},
		"a time before that of the call": {"{:type :invoke :f :acquire :process 0 :time 9}\n{:type :ok :f :acquire :process 0 :time 8}",
			"line 2: invalid event: op 1 is completed at 8 ns, before its invocation at 9 ns (line 1)", ErrEvent},
		"a read of a text":         {"{:type :invoke :f :read :process 0}\n{:type :ok :f :read :process 0 :value \"7\"}", "line 2: invalid event: :read of \"7\": want a whole number", ErrEvent},
		"a read of a part":         {"{:type :invoke :f :read :process 0}\n{:type :ok :f :read :process 0 :value 7.5}", "line 2: invalid event: :read of \"7.5\": want a whole number", ErrEvent},
		"a time that is no number": {"{:type :invoke :f :read :process 0 :time \"1\"}", "line 1: invalid event: :time is \"1\": want whole nanoseconds", ErrEvent},
		"a time that is a date":    {"{:type :invoke :f :read :process 0 :time 1700000000000000000}", "line 1: invalid event: time 1700000000000000000 is more than 104 days after the start of the run: want nanoseconds since its start", ErrEvent},
		"a fence that is a text":   {"{:type :invoke :f :acquire :process 0 :value {:fence \"7\"}}", "line 1: invalid event: :fence is \"7\": want a whole number", ErrEvent},
		"another quantity":         {"{:type :invoke :f :dec :process 0 :value 2}\n{:type :ok :f :dec :process 0 :value 3}", "line 2: invalid event: :dec completes as sell of 3, but was invoked as sell of 2", ErrEvent},
		"another cas":              {"{:type :invoke :f :cas :process 0 :value [5 3]}\n{:type :ok :f :cas :process 0 :value [4 2]}", "line 2: invalid event: :cas completes with \"4 2\", but was invoked to leave 3", ErrEvent},
		"another key":              {"{:type :invoke :f :dec :process 0 :value [1 2]}\n{:type :ok :f :dec :process 0 :value [2 2]}", "line 2: invalid event: op 1 is completed with key \"2\", but was invoked with \"1\" at line 1", ErrEvent},
		"a quantity beyond all":    {"{:type :invoke :f :dec :process 0 :value 9007199254740993}", "line 1: invalid event: qty 9007199254740993 is out of bounds: want 0 to 9007199254740992", ErrEvent},
		"a key that is not UTF-8":  {"{:type :invoke :f :dec :process 0 :value [\"\xff\" 2]}", "line 1: invalid event: text that is not UTF-8", ErrEvent},
		"half a character":         {`{:type :invoke :f :dec :process 0 :value ["\ud83dx" 2]}`, `line 1: not EDN: half of a surrogate pair: \ud83d`, errEDN},
		"a form over the limit":    {inv + `{:type "` + strings.Repeat("x", MaxLine), "line 2: form longer than 16 MiB", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ReadEDN(strings.NewReader(tt.in))
			if err == nil || err.Error() != tt.want {
				t.Fatalf("error\n got %v\nwant %v", err, tt.want)
			}
			if tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("%v is not a %v", err, tt.kind)
			}
		})
	}
}

func TestReadAnyChoosesByContent(t *testing.T) {
	tests := map[string]struct {
		in  string
		edn bool
	}{
		"our header":           {head + phase, false},
		"our header, indented": {" \n { \"format\":\"lockcheck/1\"}\n" + phase, false},
		"a map":                {" {:type :invoke :f :acquire :process 0}", true},
		"a vector":             {"[{:type :invoke :f :acquire :process 0}]", true},
		"a tag":                {"#jepsen.history.Op{:type :invoke :f :acquire :process 0}", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, err := ReadAny(strings.NewReader(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if got := h.Header.Source != ""; got != tt.edn {
				t.Errorf("read as EDN: %v, want %v", got, tt.edn)
			}
		})
	}
	if _, err := ReadAny(strings.NewReader("")); !errors.Is(err, ErrEmpty) {
		t.Errorf("nothing at all: %v", err)
	}
}
