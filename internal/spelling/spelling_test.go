package spelling

import "testing"

func TestNearest(t *testing.T) {
	fields := []string{"time", "process", "until", "order", "qty", "ttl", "reentrant", "max-delay", "f", "op"}
	for word, want := range map[string]string{
		"tiem": "time", "Until": "until", "deadline": "until", "id": "order", "order_id": "order", "quantity": "qty", "ttl_ms": "ttl",
		"reentrent": "reentrant", "max_delay": "max-delay", "maxDelay": "max-delay", "permits": "", "x": "", "": "", "ops": "op", "worker": "process",
	} {
		if got := Nearest(word, fields); got != want {
			t.Errorf("%q is taken for %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"kill", "kil", 1}, {"kill", "klil", 1}, {"pause", "cause", 1}, {"sell", "lest", 3}, {"abc", "xyz", 3}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
