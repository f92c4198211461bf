package cluster_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
)

func TestTurnsAreReadAsTheyAreWritten(t *testing.T) {
	for _, want := range []cluster.Turns{nil, {{0, 0}}, {{2500*time.Millisecond + 1, 77}, {3 * time.Second, 1<<64 - 1}}} {
		got, err := cluster.ReadTurns(want.String())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", want, got, err)
		}
	}
}

func TestTurnsThatAreNone(t *testing.T) {
	for _, text := range []string{"1s", "1s:", ":7", "7:1s", "-1s:7", "1s:-7", "1s:7,", "2s:7,1s:7", "1s:99999999999999999999"} {
		if got, err := cluster.ReadTurns(text); err == nil {
			t.Errorf("%q: read as %v", text, got)
		}
	}
}
