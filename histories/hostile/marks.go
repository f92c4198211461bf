package hostile

import "fmt"

// marks are shapes of faults and notices.
var marks = []Shape{
	{"notices", "a worker is told again and again that it lost another key", func(t *Tape, n int) {
		t.head(common, 5)
		third := n / 3
		for i := range third {
			t.took(int64(4*i+1), 0, numbered("t", i))
			t.gave(int64(4*i+3), 0, numbered("t", i))
		}
		for i := range third {
			fmt.Fprintf(t.w, `{"time":%d,"process":0,"type":"info","f":"lost","key":"other"}`+"\n", 4*third+i+10)
		}
	}},
	{"fault-spans", "pauses that nothing undoes", func(t *Tape, n int) {
		t.head(common, 5)
		for i := range n / 2 {
			t.mark(int64(i+1), "pause", targets("redis-", i))
		}
		for i := range n / 2 {
			t.mark(int64(n+i), "resume", targets("x-", i))
		}
		t.took(int64(3*n), 0, "t")
	}},
	{"one-store", "a clock that jumps again and again, then renewals", func(t *Tape, n int) {
		t.head(common, 5)
		for i := range n / 2 {
			t.mark(int64(i+1), "skew", `,"targets":["redis-1"],"fault":{"f":"skew","offset":1}`)
		}
		at := int64(10 * n)
		op := t.call(at, 0, "acquire", "l", "")
		t.ret(at+1, 0, "ok", "acquire", op, fmt.Sprintf(`,"token":"t","until":%d`, at+2))
		for range n / 2 {
			at += 10
			op := t.call(at, 0, "extend", "l", named("t"))
			t.ret(at+1, 0, "ok", "extend", op, fmt.Sprintf(`,"until":%d`, at+2))
		}
	}},
	{"promoted", "a promotion after the other", func(t *Tape, n int) { t.marked(n, "promoted") }},
	{"pauses", "a pause after the other, of as many servers", func(t *Tape, n int) { t.marked(n, "pause") }},
	{"pauses-and-work", "as many pauses as holds", func(t *Tape, n int) {
		t.head(common, 5)
		for i := range n / 4 {
			at := int64(10 * i)
			t.mark(at, "pause", targets("redis-", i%3))
			t.took(at+1, i%50, numbered("t", i))
			t.mark(at+3, "resume", targets("redis-", i%3))
			t.gave(at+4, i%50, numbered("t", i))
		}
	}},
	{"deaths", "workers that are killed and started again, beside holds", func(t *Tape, n int) {
		t.head(common, 5)
		for i := range n / 3 {
			at := int64(i) * lease
			t.took(at+1, i%50, numbered("t", i))
			t.mark(at+3, "kill", targets("worker-", i%50))
			t.mark(at+4, "start", targets("worker-", i%50))
		}
	}},
}

// marked are n marks, each of a target of its own, and one grant.
func (t *Tape) marked(n int, f string) {
	t.head(common, 5)
	for i := range n {
		t.mark(int64(i+1), f, targets("redis-", i))
	}
	t.took(int64(3*n), 0, "t")
}

func targets(prefix string, i int) string { return fmt.Sprintf(`,"targets":["%s%d"]`, prefix, i) }
