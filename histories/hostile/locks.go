package hostile

import (
	"fmt"
	"strings"
)

// locks are shapes of the operations on a lock.
var locks = []Shape{
	{"reused-nested", "one token: a lease taken again and again when it has run out, then as many releases", func(t *Tape, n int) {
		t.head(`{"ttl":5000000000,"grace":1}`, 5)
		t.nested(n/2, lease+3, "t")
	}},
	{"reused-half", "a token for each worker, every second lease left to run out", func(t *Tape, n int) {
		t.head(common, 5)
		for i := range n * 2 / 3 {
			at, who := int64(i)*(lease+10), i%10
			token := numbered("host-", who)
			op := t.call(at+1, who, "acquire", "l", "")
			t.ret(at+2, who, "ok", "acquire", op, fmt.Sprintf(`,"token":%q,"until":%d`, token, at+1002))
			if i/10%2 == 0 {
				t.gave(at+500, who, token)
			}
		}
	}},
	{"reused-fail", "one token, each release too late and refused", func(t *Tape, n int) {
		t.head(common, 5)
		for i := range n / 2 {
			at := int64(i) * (lease + 10)
			op := t.call(at+1, 0, "acquire", "l", "")
			t.ret(at+2, 0, "ok", "acquire", op, fmt.Sprintf(`,"token":"host-0","until":%d`, at+lease))
			t.refused(at+lease+5, 0, "host-0")
		}
	}},
	{"not-held", "one token, each release sent twice and refused once", func(t *Tape, n int) {
		t.head(`{"ttl":0,"grace":0}`, 5)
		for i := range n / 3 {
			at := int64(10 * i)
			t.took(at+1, 0, "t")
			t.gave(at+3, 0, "t")
			t.refused(at+5, 0, "t")
		}
	}},
	{"reent-depth", "a reentrant lock taken as deep as it goes, the inmost release refused each time", func(t *Tape, n int) {
		t.head(`{"ttl":0,"grace":0,"reentrant":true}`, 5)
		for i := range n / 2 {
			t.took(int64(2*i+1), 0, numbered("t", i))
		}
		for i := range n / 2 {
			t.refused(int64(n+2*i+1), 0, numbered("t", n/2-1))
		}
	}},
	{"stuck-alone", "renewals and busy acquires, all at one instant", func(t *Tape, n int) {
		t.head(common, 5)
		for i := range n / 2 {
			t.ret(6, i%7, "fail", "extend", t.call(5, i%7, "extend", "l", named(numbered("t", i))), "")
		}
		for i := range n / 2 {
			t.ret(6, 10+i%7, "fail", "acquire", t.call(5, 10+i%7, "acquire", "l", ""), "")
		}
	}},
	{"overlap-all", "every worker takes the lock at one instant", func(t *Tape, n int) {
		t.head(common, 5)
		for i := range n / 2 {
			t.ret(5, i, "ok", "acquire", t.call(5, i, "acquire", "l", ""), named(numbered("t", i)))
		}
		for i := range n / 2 {
			t.ret(5, i, "ok", "release", t.call(5, i, "release", "l", named(numbered("t", i))), "")
		}
	}},
	{"powerset", "a reentrant lock and one token, n/2 deep", func(t *Tape, n int) {
		t.head(`{"ttl":0,"grace":0,"reentrant":true}`, 5)
		t.nested(n/2, 2, "t")
	}},
	{"powerset-viol", "the same, and another worker is granted the lock before the last release", func(t *Tape, n int) {
		t.head(`{"ttl":0,"grace":0,"reentrant":true}`, 5)
		for i := range n / 2 {
			t.took(int64(2*i+1), 0, "t")
		}
		for i := range n / 2 {
			if i == n/2-1 {
				t.took(int64(n+2*i+1), 1, "u")
			}
			t.gave(int64(n+2*i+3), 0, "t")
		}
	}},
	{"powerset-wide", "the same, inside another worker's hold", func(t *Tape, n int) {
		t.head(`{"ttl":0,"grace":0,"reentrant":true}`, 5)
		t.took(0, 1, "u")
		t.nested(n/2, 2, "t")
		t.gave(int64(2*n+5), 1, "u")
	}},
	{"powerset-conc", "one worker's acquires and releases with one token, all open at one time", func(t *Tape, n int) {
		t.head(`{"ttl":0,"grace":0,"reentrant":true}`, 5)
		var took, gave []int64
		for range n/2 + 1 {
			took = append(took, t.call(1, 0, "acquire", "l", named("t")))
		}
		for range n / 2 {
			gave = append(gave, t.call(2, 0, "release", "l", named("t")))
		}
		other := t.call(3, 1, "acquire", "l", named("u"))
		for _, op := range took {
			t.ret(1000, 0, "ok", "acquire", op, named("t"))
		}
		for _, op := range gave {
			t.ret(1000, 0, "ok", "release", op, "")
		}
		t.ret(1000, 1, "ok", "acquire", other, named("u"))
	}},
	{"reent-evidence", "nested grants of one worker, inside an acquire of another", func(t *Tape, n int) {
		t.head(`{"ttl":0,"grace":0,"reentrant":true}`, 5)
		long := t.call(1, 1, "acquire", "l", "")
		at := int64(10)
		for i := range n / 2 {
			t.took(at+1, 0, numbered("t", i))
			at += 2
		}
		t.ret(at+1, 1, "ok", "acquire", long, named("z"))
		t.gave(at+2, 1, "z")
		for i := range n / 2 {
			t.gave(at+6, 0, numbered("t", i))
			at += 2
		}
	}},
	{"reent-unknown", "a reentrant lock and one token, no release is answered", func(t *Tape, n int) {
		t.head(`{"ttl":0,"grace":0,"reentrant":true}`, 5)
		for i := range n / 2 {
			t.took(int64(4*i+1), 0, "t")
			t.call(int64(4*i+3), 0, "release", "l", named("t"))
		}
	}},
	{"fences", "fencing numbers that fall", func(t *Tape, n int) { t.fenced(n, func(i int) int { return n - i }) }},
	{"fences-same", "one fencing number for all", func(t *Tape, n int) { t.fenced(n, func(int) int { return 7 }) }},
	{"many-keys", "a key for each hold", func(t *Tape, n int) {
		t.head(common, 5)
		for i := range n / 2 {
			at, who, key, token := int64(4*i), i%100, numbered("k", i), numbered("t", i)
			t.ret(at+2, who, "ok", "acquire", t.call(at+1, who, "acquire", key, ""), named(token))
			t.ret(at+4, who, "ok", "release", t.call(at+3, who, "release", key, named(token)), "")
		}
	}},
	{"many-keys-hard", "keys that no exact check covers and no search decides soon", func(t *Tape, n int) {
		t.head(`{"ttl":0,"grace":0}`, 5)
		for i := range n / 56 {
			t.hardKey(numbered("k", i), 24)
		}
	}},
	{"one-key-hard", "the same, one key", func(t *Tape, n int) {
		t.head(`{"ttl":0,"grace":0}`, 5)
		t.hardKey("k", n/2)
	}},
	{"long-key", "a key of as many bytes as other histories have operations", func(t *Tape, n int) {
		t.head(common, 5)
		key := strings.Repeat("k", n)
		t.ret(2, 0, "ok", "acquire", t.call(1, 0, "acquire", key, ""), named("a"))
		t.ret(4, 1, "ok", "acquire", t.call(3, 1, "acquire", key, ""), named("b"))
	}},
	{"many-workers", "a worker for each hold", func(t *Tape, n int) {
		t.head(common, 5)
		for i := range n / 2 {
			t.took(int64(4*i+1), i, numbered("t", i))
			t.gave(int64(4*i+3), i, numbered("t", i))
		}
	}},
	{"release-flight", "releases that never returned, and two holders before them", func(t *Tape, n int) {
		t.head(`{"ttl":0,"grace":0}`, 5)
		t.took(1, 0, "A")
		t.took(3, 5, "B")
		t.gave(5, 5, "B")
		for i := range n / 3 {
			at := int64(10 + 6*i)
			t.call(at, 5, "release", "l", named(numbered("x", i)))
			t.took(at+1, 7, numbered("c", i))
			t.gave(at+3, 7, numbered("c", i))
		}
	}},
	{"double-holds", "two workers that believe all the time", func(t *Tape, n int) {
		t.head(common, 5)
		t.took(1, 0, "A")
		for i := range n / 2 {
			t.took(int64(4*i+3), 1, numbered("t", i))
			t.gave(int64(4*i+5), 1, numbered("t", i))
		}
	}},
}

// nested are n grants of one token, step apart, and as many releases.
func (t *Tape) nested(n int, step int64, token string) {
	at := int64(1)
	for range n {
		t.took(at, 0, token)
		at += step
	}
	for range n {
		t.gave(at, 0, token)
		at += 2
	}
}

// refused is a release of lock "l" that found another owner.
func (t *Tape) refused(at int64, who int, token string) {
	t.ret(at+1, who, "fail", "release", t.call(at, who, "release", "l", named(token)), `,"error":"not the owner"`)
}

func (t *Tape) fenced(n int, number func(i int) int) {
	t.head(`{"ttl":0,"grace":0,"fenced":true}`, 5)
	for i := range n / 2 {
		at, who, token := int64(4*i), i%50, numbered("t", i)
		op := t.call(at+1, who, "acquire", "l", "")
		t.ret(at+2, who, "ok", "acquire", op, fmt.Sprintf(`,"token":%q,"fence":%d`, token, number(i)))
		t.gave(at+3, who, token)
	}
}

// hardKey is a key on which one worker uses a token again after operations of
// unknown outcome, beside unknown acquires and releases of many others; the
// last grant has no place.
func (t *Tape) hardKey(key string, others int) {
	t.call(1, 0, "acquire", key, named("t"))
	for who := 1; who < others; who++ {
		t.call(1, who, "acquire", key, named(numbered("a", who)))
		t.call(2, who, "release", key, named(numbered("a", who)))
	}
	at := int64(3)
	for i := range 3 {
		t.ret(at+2, 0, "ok", "acquire", t.call(at+1, 0, "acquire", key, ""), named("t"))
		op := t.call(at+3, 0, "release", key, named("t"))
		if i != 1 {
			t.ret(at+4, 0, "ok", "release", op, "")
		}
		at += 5
	}
	t.ret(at+2, 0, "ok", "acquire", t.call(at+1, 0, "acquire", key, ""), named("t"))
	t.ret(at+4, others+1, "ok", "acquire", t.call(at+3, others+1, "acquire", key, ""), named("z"))
}
