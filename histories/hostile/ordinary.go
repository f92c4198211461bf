package hostile

import (
	"fmt"
	"math/rand/v2"
)

// ordinary are histories as a working lock and a working shop make them: 50
// workers, of which one in twenty never hears an answer.
var ordinary = []Shape{
	{"lock", "an ordinary lock, 5 % unknown", func(t *Tape, n int) {
		t.head(common, 5)
		r := rand.New(rand.NewPCG(1, 1))
		for i := range n / 2 {
			at, who, token := int64(4*i), r.IntN(50), numbered("t", i)
			t.took(at+1, who, token)
			op := t.call(at+3, who, "release", "l", named(token))
			if r.IntN(20) > 0 {
				t.ret(at+4, who, "ok", "release", op, "")
			}
		}
	}},
	{"stock", "an ordinary shop, 5 % unknown", func(t *Tape, n int) {
		t.head(`{"none":true}`, int64(n))
		r, left := rand.New(rand.NewPCG(1, 1)), n
		for i := range n {
			at, who := int64(2*i), r.IntN(50)
			op := t.call(at+1, who, "sell", "s", fmt.Sprintf(`,"order":"o%d"`, i))
			if r.IntN(20) > 0 {
				left--
				t.ret(at+2, who, "ok", "sell", op, fmt.Sprintf(`,"left":%d`, left))
			}
		}
	}},
}
