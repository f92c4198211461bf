package nemesis

import (
	"testing"
	"time"
)

func TestOnlyARestartNeedsSlowerFailureDetection(t *testing.T) {
	for name, want := range map[string]time.Duration{
		"restart": 3 * time.Second, "clock+restart": 3 * time.Second, "failover": 0, "none": 0, "mixed": 0, "": 0,
	} {
		if got := DownAfter(name); got != want {
			t.Errorf("DownAfter(%q) = %v, want %v", name, got, want)
		}
	}
}
