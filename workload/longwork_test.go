package workload

import (
	"testing"
	"time"
)

func TestLongWorkIsTheUpperFifthOfTheLongestPart(t *testing.T) {
	for work, want := range map[string]time.Duration{
		"1ms-20ms,10%:40%ttl-70%ttl": 3200 * time.Millisecond,
		"5%:4s-6s,1ms":               5600 * time.Millisecond,
		"7ms":                        7 * time.Millisecond,
	} {
		if got := (Spec{Work: work, TTL: 5 * time.Second}).LongWork(); got != want {
			t.Errorf("%s: %v, want %v", work, got, want)
		}
	}
}
