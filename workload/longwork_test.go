package workload

import (
	"testing"
	"time"
)

func TestLongWorkIsTheLongestPartFromItsLowerEnd(t *testing.T) {
	for work, want := range map[string]time.Duration{
		"1ms-20ms,10%:40%ttl-70%ttl": 2 * time.Second,
		"5%:4s-6s,1ms":               4 * time.Second,
		"7ms":                        7 * time.Millisecond,
	} {
		if got := (Spec{Work: work, TTL: 5 * time.Second}).LongWork(); got != want {
			t.Errorf("%s: %v, want %v", work, got, want)
		}
	}
}
