package checker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/histories/hostile"
)

// Hostile histories are measured at this size: a rule that looks through a list
// again for every operation takes some hundred times as long as an ordinary
// history does. Searches get a budget that is over soon.
const (
	hostileOps    = 10_000
	hostileTimes  = 20
	hostileBudget = 1 << 16
)

func TestHostileHistoriesTakeLittleLonger(t *testing.T) {
	usual := usualTime(t, hostileOps)
	for i := range hostile.Shapes {
		s := &hostile.Shapes[i]
		t.Run(s.Name, func(t *testing.T) { inTime(t, readTape(t, s.String(hostileOps)), usual) })
	}
}

// A budget that is too small leaves a question open, with a reason that names it.
// It never changes what is decided.
func TestTheBudgetIsNamedWhereItEnds(t *testing.T) {
	for _, name := range []string{"many-keys-hard", "one-key-hard", "powerset-conc"} {
		h := readTape(t, hostile.Named(name).String(600))
		v := Check(context.Background(), h, Options{Budget: 1000})
		if v.Outcome != Unknown || !strings.Contains(v.Reason, "budget of") {
			t.Errorf("%s: %s, %q does not name the budget", name, v.Outcome, v.Reason)
		}
	}
}

// The budget is for all keys together, whatever the first of them take.
func TestKeysShareTheBudget(t *testing.T) {
	for _, n := range []int{1, 10, 40} {
		h := readTape(t, hostile.Named("many-keys-hard").String(56*n))
		r := prepare(h, Options{Budget: 100_000, RecheckTime: -1}.withDefaults())
		var left []undecided
		for _, k := range r.keys {
			r.judgeLock(context.Background(), k)
			left = append(left, k.waiting...)
		}
		if len(left) != n {
			t.Fatalf("%d of %d keys wait for the budget", len(left), n)
		}
		taken := int64(0)
		for i, q := range left {
			taken += r.searchOne(context.Background(), r.keys[i], q, (r.opt.Budget-taken)/int64(n-i))
		}
		if taken > r.opt.Budget || taken < r.opt.Budget/2 {
			t.Errorf("%d keys take %d steps of %d", n, taken, r.opt.Budget)
		}
	}
}

func readTape(t *testing.T, text string) *histories.History {
	t.Helper()
	h, err := histories.ReadJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

var usualTimes sync.Map // by number of operations

// usualTime is what an ordinary lock of n operations takes in this process, and
// 10 ms, which is less than the clock tells apart well.
func usualTime(t *testing.T, n int) time.Duration {
	t.Helper()
	if took, ok := usualTimes.Load(n); ok {
		return took.(time.Duration)
	}
	h := readTape(t, hostile.Shapes[0].String(n))
	least := time.Duration(1<<63 - 1)
	for range 5 {
		took, _ := processorTime(h)
		least = min(least, took)
	}
	usualTimes.Store(n, least+10*time.Millisecond)
	return least + 10*time.Millisecond
}

// inTime holds a history to hostileTimes what is usual, unless its verdict says
// that the budget was over. What takes too long is measured again: others use
// the machine, and caches.
func inTime(t *testing.T, h *histories.History, usual time.Duration) {
	t.Helper()
	var took time.Duration
	var v *Verdict
	for range 4 {
		if took, v = processorTime(h); took <= hostileTimes*usual {
			return
		}
	}
	if strings.Contains(v.Reason, "budget") && took < 10*hostileTimes*usual {
		return
	}
	t.Errorf("%v of processor time, an ordinary history takes %v: more than %d times as long (%s)", took, usual, hostileTimes, v.Outcome)
}

// processorTime checks a history, and tells how long all of this process was
// computing: what others compute does not count.
func processorTime(h *histories.History) (time.Duration, *Verdict) {
	began := computed()
	v := Check(context.Background(), h, Options{RecheckTime: -1, Budget: hostileBudget})
	return computed() - began, v
}

// FuzzTimeIsBoundedBySize repeats a few steps that the fuzzer chooses until the
// history is long, and holds the time of its check to that of an ordinary history
// of the same length:
//
//	go test ./checker -fuzz FuzzTimeIsBoundedBySize
func FuzzTimeIsBoundedBySize(f *testing.F) {
	const n = 6000
	for _, seed := range []string{"", "\x00\x00\x00\x00\x01\x00\x00\x00", "\x00\x10\x40\x01\x01\x11\x40\x00\x02\x12\x40\x01", "\x03\x00\x00\x02\x04\x00\x00\x02", "\x05\x00\x00\x00\x06\x01\x00\x00\x00\x02\x80\x00"} {
		f.Add([]byte(seed), byte(0))
		f.Add([]byte(seed), byte(0xff))
	}
	f.Fuzz(func(t *testing.T, steps []byte, shape byte) {
		h, err := histories.ReadJSON(strings.NewReader(repeated(steps, shape, n)))
		if err != nil {
			t.Skip(err) // an operation that answers itself, or the like
		}
		inTime(t, h, usualTime(t, n))
	})
}

// repeated is a history of about n events. Each four bytes of steps are one: what
// happens, who does it, with which token, and how it ends.
func repeated(steps []byte, shape byte, n int) string {
	if len(steps) < 4 {
		steps = []byte{0, 0, 0, 0, 2, 0, 0, 0}
	}
	steps = steps[:min(len(steps)&^3, 64)]
	var b strings.Builder
	fmt.Fprintf(&b, `{"format":"lockcheck/1","lock":{"ttl":%d,"grace":1,"reentrant":%v,"fenced":%v},"initial":%d,"max-delay":0}`+"\n",
		int64(shape&3)*100, shape&4 != 0, shape&8 != 0, 1+int64(shape>>4)*int64(n)/8)
	w := fuzzTape{Builder: &b, shape: shape}
	for i := 0; w.op < n; i++ {
		s := steps[4*i%len(steps):][:4]
		w.step(i, 4*i/len(steps), s)
	}
	return b.String()
}

type fuzzTape struct {
	*strings.Builder
	shape byte
	op    int
	time  int64
}

func (w *fuzzTape) step(i, round int, s []byte) {
	w.op++
	if s[3]&4 == 0 {
		w.time += int64(s[3] >> 4)
	}
	who, token := int(s[1]&7), fmt.Sprintf("t%d", s[2]&7)
	if s[1]&8 != 0 {
		who += 8 * round // a new one each time
	}
	if s[2]&8 != 0 {
		token += fmt.Sprint("-", round)
	}
	key := fmt.Sprint("k", s[1]>>6)
	if s[1]&16 != 0 {
		key += fmt.Sprint("-", round)
	}
	marks := []string{"pause", "resume", "promoted", "kill", "start", "skew", "partition", "heal"}
	f := []string{"acquire", "extend", "release", "sell", "read", "write", "restock", "break"}[s[0]&7]
	switch {
	case s[0]&8 != 0:
		fmt.Fprintf(w, `{"time":%d,"process":"nemesis","type":"info","f":%q,"targets":["redis-%d"]}`+"\n", w.time, marks[s[0]>>4&7], who)
	case s[0]&0xf0 == 0xf0:
		fmt.Fprintf(w, `{"time":%d,"process":%d,"type":"info","f":"lost","key":%q}`+"\n", w.time, who, key)
	default:
		w.operation(i, who, f, key, token, s)
	}
}

func (w *fuzzTape) operation(i, who int, f, key, token string, s []byte) {
	asked, answer := "", ""
	switch f {
	case "release", "extend":
		asked = fmt.Sprintf(`,"token":%q`, token)
	case "acquire":
		answer = fmt.Sprintf(`,"token":%q`, token)
		if s[2]&16 != 0 {
			answer += fmt.Sprintf(`,"until":%d`, w.time+int64(s[2]>>5)*20)
		}
		if w.shape&8 != 0 {
			answer += fmt.Sprintf(`,"fence":%d`, i)
		}
	case "sell", "restock":
		asked = fmt.Sprintf(`,"qty":%d`, 1+s[2]>>5)
		if f == "sell" && s[2]&16 != 0 {
			asked += fmt.Sprintf(`,"order":%q`, token)
		}
	case "read", "write":
		answer = fmt.Sprintf(`,"value":%d`, s[2]>>4)
		if f == "write" {
			asked, answer = answer, ""
		}
	}
	fmt.Fprintf(w, `{"time":%d,"process":%d,"type":"invoke","f":%q,"op":%d,"key":%q%s}`+"\n", w.time, who, f, w.op, key, asked)
	outcome := []string{"ok", "ok", "fail", "info"}[s[3]&3]
	if outcome == "fail" {
		answer = map[string]string{"release": `,"error":"not the owner"`, "extend": `,"error":"not the owner"`, "acquire": `,"error":"busy"`, "sell": `,"error":"sold-out"`}[f]
	}
	if outcome == "info" {
		if s[3]&8 != 0 {
			return // nobody ever knows
		}
		answer = ""
	}
	w.time++
	fmt.Fprintf(w, `{"time":%d,"process":%d,"type":%q,"f":%q,"op":%d%s}`+"\n", w.time, who, outcome, f, w.op, answer)
}
