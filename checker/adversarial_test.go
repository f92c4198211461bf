package checker

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// tape writes a history line by line.
type tape struct {
	strings.Builder
	op int
}

func newTape(ttl, grace int64) *tape {
	t := &tape{}
	fmt.Fprintf(t, `{"format":"lockcheck/1","lock":{"ttl":%d,"grace":%d},"initial":5,"max-delay":0}`+"\n", ttl, grace)
	return t
}

// call is an operation of worker 0 on the lock, from at to at+1.
func (t *tape) call(at int64, f, asked, outcome, answer string) {
	t.op++
	fmt.Fprintf(t, `{"time":%d,"process":0,"type":"invoke","f":%q,"op":%d,"key":"l"%s}`+"\n", at, f, t.op, asked)
	fmt.Fprintf(t, `{"time":%d,"process":0,"type":%q,"f":%q,"op":%d%s}`+"\n", at+1, outcome, f, t.op, answer)
}

func (t *tape) mark(at int64, process, f, more string) {
	fmt.Fprintf(t, `{"time":%d,"process":%s,"type":"info","f":%q%s}`+"\n", at, process, f, more)
}

// hostile are histories of about n operations and marks, each of the shape that
// makes one rule look through long lists.
var hostile = map[string]func(n int) *tape{
	"releases of one token are refused": func(n int) *tape {
		t := newTape(0, 0)
		for i := range int64(n / 3) {
			t.call(10*i+1, "acquire", "", "ok", `,"token":"t"`)
			t.call(10*i+3, "release", `,"token":"t"`, "ok", "")
			t.call(10*i+5, "release", `,"token":"t"`, "fail", `,"error":"not the owner"`)
		}
		return t
	},
	"a worker is told of another key": func(n int) *tape {
		t, third := newTape(5e9, 1e9), int64(n/3)
		for i := range third {
			t.call(4*i+1, "acquire", "", "ok", fmt.Sprintf(`,"token":"t%d"`, i))
			t.call(4*i+3, "release", fmt.Sprintf(`,"token":"t%d"`, i), "ok", "")
		}
		for i := range third {
			t.mark(4*third+i+10, "0", "lost", `,"key":"other"`)
		}
		return t
	},
	"faults that nothing undoes": func(n int) *tape {
		t, half := newTape(5e9, 1e9), int64(n/2)
		for i := range half {
			t.mark(i+1, `"nemesis"`, "pause", fmt.Sprintf(`,"targets":["redis-%d"]`, i))
		}
		for i := range half {
			t.mark(2*half+i, `"nemesis"`, "resume", fmt.Sprintf(`,"targets":["x-%d"]`, i))
		}
		t.call(6*half, "acquire", "", "ok", `,"token":"t"`)
		return t
	},
	"renewals after many jumps of a clock": func(n int) *tape {
		t, half := newTape(5e9, 1e9), int64(n/2)
		for i := range half {
			t.mark(i+1, `"nemesis"`, "skew", `,"targets":["redis-1"],"fault":{"f":"skew","offset":1}`)
		}
		for i := range half {
			at, f, token := 10*(2*half+i), "extend", `,"token":"t"`
			if i == 0 {
				f, token = "acquire", ""
			}
			answer := fmt.Sprintf(`,"until":%d`, at+2)
			if i == 0 {
				answer += `,"token":"t"`
			}
			t.call(at, f, token, "ok", answer)
		}
		return t
	},
}

func ordinary(n int) *tape {
	t := newTape(5e9, 1e9)
	for i := range int64(n / 2) {
		t.call(4*i+1, "acquire", "", "ok", fmt.Sprintf(`,"token":"t%d"`, i))
		t.call(4*i+3, "release", fmt.Sprintf(`,"token":"t%d"`, i), "ok", "")
	}
	return t
}

// A rule that looks through a list again for every operation takes a hundred times
// as long as an ordinary history does, at this size.
func TestHostileHistoriesTakeLittleLonger(t *testing.T) {
	const n, most = 20_000, 20
	usual := timeOf(t, ordinary(n))
	for name, write := range hostile {
		t.Run(name, func(t *testing.T) {
			if took := timeOf(t, write(n)); took > most*usual {
				t.Errorf("%v, an ordinary history of %d operations takes %v: more than %d times as long", took, n, usual, most)
			}
		})
	}
}

// timeOf is the shortest of three checks: others use the machine as well.
func timeOf(t *testing.T, w *tape) time.Duration {
	t.Helper()
	h, err := histories.ReadJSON(strings.NewReader(w.String()))
	if err != nil {
		t.Fatal(err)
	}
	least := time.Duration(1<<63 - 1)
	for range 3 {
		begin := time.Now()
		Check(context.Background(), h, Options{RecheckTime: -1})
		least = min(least, time.Since(begin))
	}
	t.Logf("%v", least)
	return least
}
