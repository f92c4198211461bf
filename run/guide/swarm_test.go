package guide

import "testing"

func TestRarePartsComeOftener(t *testing.T) {
	for _, c := range []struct{ now, percent, want string }{
		{"1ms-20ms,0.1%:65%ttl-85%ttl", "15", "1ms-20ms,15%:65%ttl-85%ttl"},
		{"1ms-20ms,15%:65%ttl-85%ttl", "15", "1ms-20ms,15%:65%ttl-85%ttl"},
		{"1ms,3%:1s,20%:2s", "5", "1ms,5%:1s,20%:2s"},
		{"70%ttl", "30", "70%ttl"},
		{"1ms,1%:1s,1%:2s,1%:3s", "30", "1ms,1%:1s,1%:2s,1%:3s"},
	} {
		if got := oftener(c.now, c.percent); got != c.want {
			t.Errorf("%s: %s, want %s", c.now, got, c.want)
		}
	}
}
