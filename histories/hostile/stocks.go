package hostile

import "fmt"

// stocks are shapes of sales.
var stocks = []Shape{
	{"blind", "sells that say nothing, the last one too many", func(t *Tape, n int) {
		t.head(`{"none":true}`, int64(n-1))
		for i := range n {
			t.sold(int64(3*i+1), i%10, "", "")
		}
	}},
	{"wild", "three sells of as many units as the history has operations", func(t *Tape, n int) {
		units := 100 * n
		t.head(`{"none":true}`, int64(3*units-units/2))
		for i := range 3 {
			t.sold(int64(3*i+1), i, fmt.Sprintf(`,"qty":%d`, units), "")
		}
	}},
	{"look", "a wide frontier, then refusals that fit every state", func(t *Tape, n int) { t.look(n, 7, 3) }},
	{"look-8x3", "the same, wider", func(t *Tape, n int) { t.look(n, 8, 3) }},
	{"one-sell", "one sell with all grants and all writes", func(t *Tape, n int) {
		t.head(common, 5)
		sell := t.call(0, 0, "sell", "s", `,"order":"o"`)
		parent, at := fmt.Sprintf(`,"parent":%d`, sell), int64(1)
		for i := range n / 3 {
			token := named(numbered("t", i))
			t.ret(at+2, 0, "ok", "acquire", t.call(at+1, 0, "acquire", "l", parent), token)
			t.ret(at+4, 0, "ok", "release", t.call(at+3, 0, "release", "l", token+parent), "")
			at += 4
		}
		for range n / 3 {
			t.ret(at+2, 0, "ok", "write", t.call(at+1, 0, "write", "s", parent+`,"value":1`), `,"left":1`)
			at += 3
		}
		t.ret(at+5, 0, "ok", "sell", sell, `,"left":4`)
	}},
	{"stale-writes", "grants that are given back before the write, each in a sell of its own", func(t *Tape, n int) {
		t.head(common, int64(n))
		for i := range n / 4 {
			at, who, token := int64(10*i), i%50, named(numbered("t", i))
			sell := t.call(at, who, "sell", "s", fmt.Sprintf(`,"order":"o%d"`, i))
			parent := fmt.Sprintf(`,"parent":%d`, sell)
			t.ret(at+2, who, "ok", "acquire", t.call(at+1, who, "acquire", "l", parent), token)
			t.ret(at+4, who, "ok", "release", t.call(at+3, who, "release", "l", token+parent), "")
			t.ret(at+6, who, "ok", "write", t.call(at+5, who, "write", "s", parent+fmt.Sprintf(`,"value":%d`, n-i-1)), fmt.Sprintf(`,"left":%d`, n-i-1))
			t.ret(at+7, who, "ok", "sell", sell, fmt.Sprintf(`,"left":%d`, n-i-1))
		}
	}},
	{"unknown-reads", "reads and sells that are never answered", func(t *Tape, n int) {
		t.head(`{"none":true}`, 10)
		for i := range n / 2 {
			t.call(int64(i+1), i%1000, "read", "s", "")
			t.call(int64(i+1), i%1000, "sell", "s", "")
		}
	}},
	{"retried", "one order, asked for again and again", func(t *Tape, n int) {
		t.head(`{"none":true}`, 10)
		for i := range n {
			t.call(int64(i+1), i%1000, "sell", "s", `,"order":"o"`)
		}
		t.sold(int64(n+1), 0, `,"order":"o"`, `,"left":9`)
		fmt.Fprintf(t.w, `{"time":%d,"process":"audit","type":"ok","f":"audit","key":"s","value":3,"orders":[{"order":"o","qty":1}]}`+"\n", n+100)
	}},
	{"dup-proofs", "an ok and an unknown sell for each order, no audit", func(t *Tape, n int) {
		left := 10 * n
		t.head(`{"none":true}`, int64(left))
		for i := range n / 2 {
			order := fmt.Sprintf(`,"order":"o%d"`, i)
			t.call(int64(4*i+1), 0, "sell", "s", order)
			left--
			t.sold(int64(4*i+2), 1, order, fmt.Sprintf(`,"left":%d`, left))
		}
	}},
	{"sizes", "sells of sixty sizes, sixty open at a time", func(t *Tape, n int) {
		t.head(`{"none":true}`, 1_000_000_000)
		for batch := range n / 60 {
			at := int64(100 * batch)
			first := t.op + 1
			for i := range 60 {
				t.call(at+1, i, "sell", "s", fmt.Sprintf(`,"qty":%d`, i+1))
			}
			for i := range 60 {
				t.ret(at+2+int64(i), i, "ok", "sell", first+int64(i), "")
			}
		}
	}},
	{"many-sizes-hard", "keys whose sells are of several sizes and in doubt", func(t *Tape, n int) {
		t.head(`{"none":true}`, 1000)
		for i := range n / 40 {
			t.hardStock(numbered("s", i))
		}
	}},
}

// sold is an ok sell of stock "s" from at to at+1.
func (t *Tape) sold(at int64, who int, asked, answer string) {
	t.ret(at+1, who, "ok", "sell", t.call(at, who, "sell", "s", asked), answer)
}

// look is kinds sizes of unknown sells, each of them sold so often, and then n
// refusals.
func (t *Tape) look(n, kinds, each int) {
	t.head(`{"none":true}`, 1_000_000)
	at := int64(1)
	for kind := range kinds {
		for range each {
			t.call(at, 1000+int(at), "sell", "s", fmt.Sprintf(`,"qty":%d`, 7<<kind))
			at++
		}
	}
	t.sold(at, 0, `,"qty":3`, "")
	for i := range n {
		at += 3
		t.ret(at+1, i%10, "fail", "sell", t.call(at, i%10, "sell", "s", `,"qty":5000000`), `,"error":"sold-out"`)
	}
}

// hardStock is a key with unknown sells of eight sizes, and reads that no sum
// of them explains.
func (t *Tape) hardStock(key string) {
	for i := range 24 {
		t.call(int64(i+1), 100+i, "sell", key, fmt.Sprintf(`,"qty":%d`, 3<<(i%8)))
	}
	for i := range 16 {
		at := int64(100 + 3*i)
		t.ret(at+1, i, "ok", "read", t.call(at, i, "read", key, ""), fmt.Sprintf(`,"value":%d`, 1000-3*i-i%2))
	}
}
